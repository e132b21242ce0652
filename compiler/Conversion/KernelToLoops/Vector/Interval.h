// SPDX-License-Identifier: Apache-2.0
//
// Facts about the numbers in all lanes.
#pragma once

#include "mlir/IR/Types.h"
#include <cmath>
#include <limits>
#include <optional>

namespace penstock::conversion {

/// An interval that holds every lane, and whether a lane can be NaN.
struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool nan = true;
  /// Lanes other than zeros are no nearer to 0, give or take a rounding; 0: not known.
  double least = 0;
  /// No NaN is a signalling one. It says nothing of which instructions ran, since LLVM
  /// drops those that compute x + 0: it holds for what was made of such values alone.
  bool quiet = false;

  bool within(double from, double to) const { return !nan && low >= from && high <= to; }
  bool noSignal() const { return !nan || quiet; }
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

} // namespace penstock::conversion
