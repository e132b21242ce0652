// SPDX-License-Identifier: Apache-2.0
//
// Facts about numbers of which one is as good as another, such as those in all lanes.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include <cmath>
#include <limits>
#include <optional>

namespace penstock::analysis {

/// An interval that holds every one of them, and whether one can be NaN.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool nan = true;
  /// Those other than zeros are no nearer to 0, give or take a rounding; 0: not known.
  double least = 0;
  /// No NaN is a signalling one. It says nothing of which instructions ran, since LLVM
  /// drops those that compute x + 0: it holds for what was made of such values alone.
  bool quiet = false;

  bool within(double from, double to) const { return !nan && low >= from && high <= to; }
  bool noSignal() const { return !nan || quiet; }
  bool isFinite() const { return !nan && std::isfinite(low) && std::isfinite(high); }
  bool isConstant() const { return !nan && low == high; }
  static Interval of(double from, double to) { return {from, to, false}; }
  static Interval constant(double value) { return {value, value, false, std::abs(value)}; }
};

/// The numbers that `type` can hold.
Interval rangeOfType(mlir::Type type);
/// Around a whole number that may be no double: beyond 2^53 they are further apart than 1.
Interval whole(double nearest);
/// Bounds of an operation on integers of `type`, of what it would be if all numbers had a place and
/// after each bound was rounded; nothing where it may wrap around.
std::optional<Interval> unlessItWraps(Interval exact, mlir::Type type);
/// Returns the facts that hold for either.
Interval hull(const Interval &a, const Interval &b);
/// Outward by a little more than one rounding of f32 or f64.
Interval widened(Interval range, mlir::Type type);
/// Of all products, before rounding.
Interval product(const Interval &a, const Interval &b);

//===--- operations ----------------------------------------------------------------------===//

/// What an operation makes of numbers of `type`.
Interval rangeOfUnary(pipe::UnaryKind kind, mlir::Type type, const Interval &a);
/// Of integers; nothing where it may wrap around.
std::optional<Interval> rangeOfIntegers(pipe::BinaryKind kind, mlir::Type type, const Interval &a,
                                        const Interval &b);
Interval rangeOfFloats(pipe::BinaryKind kind, mlir::Type type, const Interval &a,
                       const Interval &b);
Interval rangeOfCast(pipe::CastMode mode, mlir::Type from, mlir::Type to, const Interval &a);

} // namespace penstock::analysis
