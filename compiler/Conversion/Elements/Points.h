// SPDX-License-Identifier: Apache-2.0
//
// Elements made of those at the same place, or at one other.
#pragma once

#include "compiler/Conversion/Elements/Target.h"
#include "compiler/Conversion/TensorType.h"
#include "mlir/IR/AffineExpr.h"
#include <algorithm>

namespace penstock::conversion {

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::ViewOp op, PlacesOf<T> at) {
  llvm::SmallVector<PlaceOf<T>> symbols, inner;
  for (mlir::Value symbol : op.getSymbols())
    symbols.push_back(t.scalarPlace(symbol));
  for (mlir::AffineExpr expr : op.getMap().getResults())
    inner.push_back(t.affine(expr, at, symbols));
  return t.element(op.getInput(), inner);
}

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::CastOp op, PlacesOf<T> at) {
  return t.cast(t.element(op.getValue(), at), typeOf(op.getResult()).getElementType(),
                op.getMode());
}

/// From a table, unless the element is known.
template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::ConstantOp op, PlacesOf<T> at) {
  auto elements = llvm::cast<mlir::DenseElementsAttr>(op.getValue());
  const pipe::NamedTensorType type = typeOf(op.getResult());
  int64_t number = 0;
  if (!elements.isSplat())
    for (auto [axis, place] : llvm::enumerate(at)) { // row-major
      const std::optional<int64_t> known = t.known(place);
      if (!known)
        return t.tabled(op, at);
      // Places outside are those of code that a border or a part of a join leaves out.
      const int64_t extent = type.getAxes()[axis].extent;
      number = number * extent + std::clamp<int64_t>(*known, 0, extent - 1);
    }
  return t.constant(
      llvm::cast<mlir::TypedAttr>(elements.template getValues<mlir::Attribute>()[number]),
      type.getElementType());
}

/// Returns what a map's body takes: of each input the element at the place along its axes.
template <ElementTarget T>
llvm::SmallVector<NumberOf<T>> inputsOf(const T &t, pipe::MapOp op, PlacesOf<T> at) {
  const pipe::NamedTensorType domain = typeOf(op.getResult());
  llvm::SmallVector<NumberOf<T>> inputs;
  for (mlir::Value input : op.getInputs()) {
    llvm::SmallVector<PlaceOf<T>> inner;
    for (const pipe::Axis &axis : typeOf(input).getAxes())
      inner.push_back(at[domain.axisIndex(axis.name)]);
    inputs.push_back(t.element(input, inner));
  }
  return inputs;
}

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::MapOp op, PlacesOf<T> at) {
  return t.valuesOf(op.getBody().front(), inputsOf(t, op, at), at).front();
}

} // namespace penstock::conversion
