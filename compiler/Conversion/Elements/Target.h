// SPDX-License-Identifier: Apache-2.0
//
// The target of ops that are computed where they are read.
//
// The files of this folder define an element of such an op once: which elements of which inputs
// it reads, and what it makes of them. How a machine adds, reads and chooses is its target's
// business: lanes of a CPU (KernelToLoops/Elements/LaneTarget.h), or a thread of a GPU
// (KernelToGpu/ThreadTarget.h). What only one of them can do better stands there, and comes before.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/IR/AffineExpr.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <concepts>
#include <optional>

namespace penstock::conversion {

/// The element of a tensor, for all that the code at hand computes at once.
template <typename T> using NumberOf = typename T::Number;
/// An index along one axis of it.
template <typename T> using PlaceOf = typename T::Place;
template <typename T> using PlacesOf = llvm::ArrayRef<PlaceOf<T>>;

/// Extents and conditions are values; a condition that is null holds everywhere.
template <typename T>
concept ElementTarget = requires(
    const T &t, mlir::Value value, mlir::Type type, mlir::Operation *op, mlir::Block &body,
    mlir::AffineExpr expr, mlir::TypedAttr attribute, int64_t number, NumberOf<T> x,
    PlaceOf<T> place, PlacesOf<T> at, llvm::ArrayRef<NumberOf<T>> numbers,
    llvm::function_ref<NumberOf<T>()> make, llvm::function_ref<PlaceOf<T>()> index,
    llvm::function_ref<NumberOf<T>(int64_t)> arm, llvm::function_ref<NumberOf<T>(PlaceOf<T>)> read,
    llvm::function_ref<llvm::SmallVector<NumberOf<T>>(PlaceOf<T>, llvm::ArrayRef<NumberOf<T>>)>
        step,
    pipe::ConstantOp table, pipe::Border border, pipe::UnaryKind unary, pipe::BinaryKind binary,
    pipe::CastMode mode) {
  // Reads. That of a table is of one whose element is not known.
  { t.element(value, at) } -> std::same_as<NumberOf<T>>;
  { t.tabled(table, at) } -> std::same_as<NumberOf<T>>;
  { t.extent(value, number) } -> std::same_as<mlir::Value>;
  /// The values that a body yields, its arguments being numbers and then the coordinates.
  { t.valuesOf(body, numbers, at) } -> std::same_as<llvm::SmallVector<NumberOf<T>>>;

  // Numbers. A sum of `pillow` is an i32 of products, rounded at its beginning or its end.
  { t.constant(attribute, type) } -> std::same_as<NumberOf<T>>;
  { t.real(0.0) } -> std::same_as<NumberOf<T>>;
  { t.unary(unary, x) } -> std::same_as<NumberOf<T>>;
  { t.binary(binary, x, x) } -> std::same_as<NumberOf<T>>;
  { t.cast(x, type, mode) } -> std::same_as<NumberOf<T>>;
  { t.pillowSum() } -> std::same_as<NumberOf<T>>;
  { t.ofPillowSum(x, type) } -> std::same_as<NumberOf<T>>;

  // Places. What is subtracted is the same for all.
  { t.place(number) } -> std::same_as<PlaceOf<T>>;
  { t.scalarPlace(value) } -> std::same_as<PlaceOf<T>>;
  /// Of a whole number; if asked for, limited so that its neighbours do not wrap around.
  { t.placeOf(x, true) } -> std::same_as<PlaceOf<T>>;
  { t.known(place) } -> std::same_as<std::optional<int64_t>>;
  { t.add(place, place) } -> std::same_as<PlaceOf<T>>;
  { t.sub(place, place) } -> std::same_as<PlaceOf<T>>;
  { t.affine(expr, at, at) } -> std::same_as<PlaceOf<T>>;
  /// Where a border takes a place. A constant one narrows the condition; where that does not
  /// hold, what is read there is not wanted, and may be read.
  { t.bordered(place, value, border, value) } -> std::same_as<PlaceOf<T>>;

  // Conditions, and what is done by them.
  /// Narrows a condition to 0 <= x < value.
  { t.within(x, value, value) } -> std::same_as<mlir::Value>;
  /// The number made where the condition holds, else a scalar; both may be computed.
  { t.orFill(value, make, value) } -> std::same_as<NumberOf<T>>;
  /// The element of a tensor where the condition holds, else what is made. It is at the first
  /// place, and the second is what bordered() gave for that.
  { t.elementOr(value, value, at, at, make) } -> std::same_as<NumberOf<T>>;
  /// The first before `value` places, behind them the second, from there on.
  { t.split(place, value, type, read, read) } -> std::same_as<NumberOf<T>>;
  /// Arm `index` of a number of them, clamped; or the specialized arm of `op`.
  { t.oneOf(op, index, number, type, arm) } -> std::same_as<NumberOf<T>>;
  /// A loop over the places along an axis of a tensor.
  { t.accumulate(value, number, numbers, step) } -> std::same_as<llvm::SmallVector<NumberOf<T>>>;
};

} // namespace penstock::conversion
