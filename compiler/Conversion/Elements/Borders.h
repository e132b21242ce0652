// SPDX-License-Identifier: Apache-2.0
//
// Elements that may lie outside of a tensor.
#pragma once

#include "compiler/Conversion/Elements/Target.h"
#include "compiler/Conversion/TensorType.h"

namespace penstock::conversion {

/// Where a pad or window reads.
template <ElementTarget T> struct BorderedRead {
  mlir::Value input;
  llvm::SmallVector<PlaceOf<T>> at;
  llvm::SmallVector<int64_t> axes; ///< along which it may lie outside
  pipe::Border border;
  mlir::Value fill; ///< where the border is constant
};

/// The element, or what the border has in its place. `read` is what reads an element of the input,
/// if that is not as usual.
template <ElementTarget T>
NumberOf<T> elementOrBorder(const T &t, BorderedRead<T> from,
                            llvm::function_ref<NumberOf<T>(PlacesOf<T>)> read = nullptr) {
  mlir::Value isInside;
  for (int64_t axis : from.axes)
    from.at[axis] = t.bordered(from.at[axis], t.extent(from.input, axis), from.border, isInside);
  auto element = [&] { return read ? read(from.at) : t.element(from.input, from.at); };
  return isInside ? t.orFill(isInside, element, from.fill) : element();
}

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::PadOp op, PlacesOf<T> at) {
  BorderedRead<T> from{
      op.getInput(), llvm::SmallVector<PlaceOf<T>>(at), {}, op.getBorder(), op.getFill()};
  for (auto [name, low] :
       llvm::zip(op.getOver().template getAsRange<mlir::StringAttr>(), op.getLow())) {
    const int64_t axis = typeOf(op.getInput()).axisIndex(name);
    from.at[axis] = t.sub(at[axis], t.scalarPlace(low));
    from.axes.push_back(axis);
  }
  return elementOrBorder<T>(t, std::move(from));
}

template <ElementTarget T>
llvm::SmallVector<PlaceOf<T>> placesOf(const T &t, llvm::ArrayRef<int64_t> numbers) {
  llvm::SmallVector<PlaceOf<T>> places;
  for (int64_t number : numbers)
    places.push_back(t.place(number));
  return places;
}

/// Where the neighbour at an offset from `at`, along the window's axes, is read.
template <ElementTarget T>
BorderedRead<T> neighbourOf(const T &t, pipe::WindowOp op, PlacesOf<T> at, PlacesOf<T> offset) {
  BorderedRead<T> from{
      op.getInput(), llvm::SmallVector<PlaceOf<T>>(at), {}, op.getBorder(), op.getFill()};
  for (auto [k, name] : llvm::enumerate(op.getOver().template getAsRange<mlir::StringAttr>())) {
    const int64_t axis = typeOf(op.getInput()).axisIndex(name);
    from.at[axis] = t.add(at[axis], offset[k]);
    from.axes.push_back(axis);
  }
  return from;
}

/// Calls `each` with the offsets of all neighbours of a window, row-major: the last axis moves
/// first.
inline void forEachNeighbour(pipe::WindowOp op,
                             llvm::function_ref<void(llvm::ArrayRef<int64_t>)> each) {
  llvm::SmallVector<int64_t> offset(op.getLow());
  for (bool more = true; more;) {
    each(offset);
    more = false;
    for (size_t k = offset.size(); k-- > 0 && !more;) {
      more = offset[k] < op.getHigh()[k];
      offset[k] = more ? offset[k] + 1 : op.getLow()[k];
    }
  }
}

template <ElementTarget T> NumberOf<T> elementOf(const T &t, pipe::WindowOp op, PlacesOf<T> at) {
  llvm::SmallVector<NumberOf<T>> neighbours;
  forEachNeighbour(op, [&](llvm::ArrayRef<int64_t> offset) {
    neighbours.push_back(elementOrBorder<T>(t, neighbourOf<T>(t, op, at, placesOf<T>(t, offset))));
  });
  return t.valuesOf(op.getBody().front(), neighbours, at).front();
}

} // namespace penstock::conversion
