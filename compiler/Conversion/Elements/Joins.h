// SPDX-License-Identifier: Apache-2.0
//
// Elements of one of several tensors.
#pragma once

#include "compiler/Conversion/Elements/Target.h"
#include "compiler/Conversion/TensorType.h"
#include <functional>

namespace penstock::conversion {

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::ConcatOp op, PlacesOf<T> at) {
  const pipe::NamedTensorType type = typeOf(op.getResult());
  const int64_t axis = type.axisIndex(op.getAxis());
  std::function<NumberOf<T>(size_t, PlaceOf<T>)> from = [&](size_t number, PlaceOf<T> place) {
    mlir::Value input = op.getInputs()[number];
    auto here = [&](PlaceOf<T> own) {
      llvm::SmallVector<PlaceOf<T>> inner(at);
      inner[axis] = own;
      return t.element(input, inner);
    };
    if (number + 1 == op.getInputs().size())
      return here(place);
    return t.split(place, t.extent(input, axis), type.getElementType(), here,
                   [&](PlaceOf<T> rest) { return from(number + 1, rest); });
  };
  return from(0, at[axis]);
}

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::StackOp op, PlacesOf<T> at) {
  return t.oneOf(
      op, [&] { return at[0]; }, static_cast<int64_t>(op.getInputs().size()),
      typeOf(op.getResult()).getElementType(),
      [&](int64_t number) { return t.element(op.getInputs()[number], at.drop_front()); });
}

/// Of result `number` of a choice between tensors.
template <ElementTarget T>
NumberOf<T> elementOf(const T &t, pipe::ChooseOp op, unsigned number, PlacesOf<T> at) {
  return t.oneOf(
      op, [&] { return t.scalarPlace(op.getIndex()); }, static_cast<int64_t>(op.getArms().size()),
      typeOf(op.getResult(number)).getElementType(),
      [&](int64_t arm) {
        return t.element(op.getArms()[arm].front().getTerminator()->getOperand(number), at);
      });
}

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::PlaceOp op, PlacesOf<T> at) {
  const pipe::NamedTensorType type = typeOf(op.getResult()), patch = typeOf(op.getPatch());
  llvm::SmallVector<PlaceOf<T>> moved(at), near(at);
  mlir::Value isInside;
  auto narrow = [&](int64_t axis) {
    near[axis] =
        t.bordered(moved[axis], t.extent(op.getPatch(), axis), pipe::Border::constant, isInside);
  };
  llvm::SmallVector<bool> isNamed(at.size(), false);
  for (auto [name, offset] :
       llvm::zip(op.getOver().template getAsRange<mlir::StringAttr>(), op.getAt())) {
    const int64_t axis = type.axisIndex(name);
    isNamed[axis] = true;
    moved[axis] = t.sub(at[axis], t.scalarPlace(offset));
    narrow(axis);
  }
  // Along the other axes the patch starts at 0, and may end early.
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (const pipe::Axis &own = patch.getAxes()[axis];
        !isNamed[axis] && !(own.isStatic() && own.extent == type.getAxes()[axis].extent))
      narrow(axis);
  if (!isInside)
    return t.element(op.getPatch(), at);
  return t.elementOr(isInside, op.getPatch(), moved, near,
                     [&] { return t.element(op.getBase(), at); });
}

} // namespace penstock::conversion
