// SPDX-License-Identifier: Apache-2.0
//
// Sampling at computed coordinates.
#pragma once

#include "compiler/Conversion/Elements/Target.h"
#include "compiler/Conversion/TensorType.h"
#include <functional>

namespace penstock::conversion {

/// Interpolates `d` behind the element that `tap` gives for 0, from that and its neighbours.
template <ElementTarget T>
NumberOf<T> between(const T &t, pipe::Interpolation interpolation, NumberOf<T> d,
                    llvm::function_ref<NumberOf<T>(int64_t)> tap) {
  using Number = NumberOf<T>;
  auto add = [&](Number x, Number y) { return t.binary(pipe::BinaryKind::add, x, y); };
  auto sub = [&](Number x, Number y) { return t.binary(pipe::BinaryKind::sub, x, y); };
  auto mul = [&](Number x, Number y) { return t.binary(pipe::BinaryKind::mul, x, y); };
  if (interpolation != pipe::Interpolation::cubic) {
    Number v0 = tap(0), v1 = tap(1);
    return add(v0, mul(sub(v1, v0), d));
  }
  Number v1 = tap(-1), v2 = tap(0), v3 = tap(1), v4 = tap(2);
  Number p2 = sub(v3, v1);
  Number p3 = sub(add(mul(t.real(2.0), sub(v1, v2)), v3), v4);
  Number p4 = add(sub(sub(v2, v1), v3), v4);
  return add(v2, mul(d, add(p2, mul(d, add(p3, mul(d, p4))))));
}

/// The element at coordinates, which lie inside where the border is constant.
template <ElementTarget T>
NumberOf<T> sampled(const T &t, pipe::GatherOp op, llvm::ArrayRef<int64_t> axes,
                    llvm::ArrayRef<NumberOf<T>> coordinates, PlacesOf<T> at) {
  using Number = NumberOf<T>;
  const mlir::Type real = mlir::Float64Type::get(op.getContext());
  const pipe::Border border =
      op.getBorder() == pipe::Border::constant ? pipe::Border::edge : op.getBorder();
  llvm::SmallVector<PlaceOf<T>> inner;
  for (int64_t own : op.readAt())
    inner.push_back(own < 0 ? PlaceOf<T>() : at[own]);
  auto put = [&](size_t k, PlaceOf<T> place) {
    mlir::Value ignored;
    inner[axes[k]] = t.bordered(place, t.extent(op.getInput(), axes[k]), border, ignored);
  };
  if (op.getInterpolation() == pipe::Interpolation::nearest) {
    for (auto [k, coordinate] : llvm::enumerate(coordinates))
      put(k, t.placeOf(t.unary(pipe::UnaryKind::floor, coordinate), false));
    return t.element(op.getInput(), inner);
  }
  // The last axis is interpolated first: it is the innermost recursion.
  std::function<Number(size_t)> along = [&](size_t k) -> Number {
    if (k == axes.size())
      return t.cast(t.element(op.getInput(), inner), real, pipe::CastMode::value);
    Number middle = t.binary(pipe::BinaryKind::sub, coordinates[k], t.real(0.5));
    Number whole = t.unary(pipe::UnaryKind::floor, middle);
    Number d = t.binary(pipe::BinaryKind::sub, middle, whole);
    const PlaceOf<T> first = t.placeOf(whole, /*hasNeighbours=*/true);
    return between<T>(t, op.getInterpolation(), d, [&](int64_t offset) {
      put(k, t.add(first, t.place(offset)));
      return along(k + 1);
    });
  };
  return t.cast(along(0), typeOf(op.getResult()).getElementType(), pipe::CastMode::value);
}

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::GatherOp op, PlacesOf<T> at) {
  const pipe::NamedTensorType type = typeOf(op.getInput());
  llvm::SmallVector<int64_t> axes;
  for (auto name : op.getOver().template getAsRange<mlir::StringAttr>())
    axes.push_back(type.axisIndex(name));
  const llvm::SmallVector<NumberOf<T>> coordinates = t.valuesOf(op.getBody().front(), {}, at);
  auto inside = [&] { return sampled<T>(t, op, axes, coordinates, at); };
  if (op.getBorder() != pipe::Border::constant)
    return inside();
  mlir::Value isInside;
  for (auto [axis, coordinate] : llvm::zip(axes, coordinates))
    isInside = t.within(coordinate, t.extent(op.getInput(), axis), isInside);
  return t.orFill(isInside, inside, op.getFill());
}

} // namespace penstock::conversion
