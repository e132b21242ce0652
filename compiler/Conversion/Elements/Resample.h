// SPDX-License-Identifier: Apache-2.0
//
// Weighted sums of neighbours.
#pragma once

#include "compiler/Conversion/Elements/Target.h"
#include "compiler/Conversion/TensorType.h"

namespace penstock::conversion {

/// `count` elements that have the same taps, as they are at the same place along the axis: `read`
/// gives those of the input that one of the taps meets.
template <ElementTarget T>
llvm::SmallVector<NumberOf<T>>
elementsOf(const T &t, pipe::ResampleOp op, PlacesOf<T> at, size_t count,
           llvm::function_ref<llvm::SmallVector<NumberOf<T>>(PlacesOf<T>)> read) {
  using Number = NumberOf<T>;
  mlir::MLIRContext *context = op.getContext();
  const mlir::Type element = typeOf(op.getResult()).getElementType();
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  const bool isPillow = op.getNumerics() == pipe::Numerics::pillow;
  const mlir::Type sumType = isPillow ? mlir::Type(mlir::IntegerType::get(context, 32))
                                      : mlir::Type(mlir::Float64Type::get(context));
  const PlaceOf<T> first = t.placeOf(t.element(op.getStart(), at[axis]), false);
  const Number nothing = isPillow ? t.pillowSum() : t.real(0);
  llvm::SmallVector<Number> sums =
      t.accumulate(op.getWeights(), 1, llvm::SmallVector<Number>(count, nothing),
                   [&](PlaceOf<T> tap, llvm::ArrayRef<Number> sofar) {
                     llvm::SmallVector<PlaceOf<T>> inner(at);
                     inner[axis] = t.add(first, tap);
                     Number weight = t.element(op.getWeights(), {at[axis], tap});
                     llvm::SmallVector<Number> next;
                     // f64 products and sums round apart, in tap order.
                     for (auto [value, sum] : llvm::zip(read(inner), sofar)) {
                       Number product =
                           t.binary(pipe::BinaryKind::mul,
                                    t.cast(value, sumType, pipe::CastMode::value), weight);
                       next.push_back(t.binary(pipe::BinaryKind::add, sum, product));
                     }
                     return next;
                   });
  for (Number &sum : sums) {
    if (!isPillow && llvm::isa<mlir::IntegerType>(element))
      sum = t.unary(pipe::UnaryKind::round_away, sum);
    sum = isPillow ? t.ofPillowSum(sum, element) : t.cast(sum, element, pipe::CastMode::value);
  }
  return sums;
}

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::ResampleOp op, PlacesOf<T> at) {
  auto read = [&](PlacesOf<T> inner) {
    return llvm::SmallVector<NumberOf<T>>{t.element(op.getInput(), inner)};
  };
  return elementsOf<T>(t, op, at, 1, read).front();
}

} // namespace penstock::conversion
