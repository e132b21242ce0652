// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on intervals.
#include "compiler/Conversion/KernelToLoops/Vector/Interval.h"
#include "compiler/Dialect/PipeDialect.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

Interval penstock::conversion::rangeOfType(Type type) {
  if (llvm::isa<FloatType>(type))
    return {};
  if (type.isSignlessInteger(1))
    return Interval::of(0, 1);
  const double bits = type.getIntOrFloatBitWidth();
  if (isUnsigned(type))
    return Interval::of(0, std::exp2(bits) - 1);
  return Interval::of(-std::exp2(bits - 1), std::exp2(bits - 1) - 1);
}

Interval penstock::conversion::whole(double nearest) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (std::abs(nearest) < 0x1p53)
    return Interval::of(nearest, nearest);
  return Interval::of(std::nextafter(nearest, -infinity), std::nextafter(nearest, infinity));
}

std::optional<Interval> penstock::conversion::unlessItWraps(Interval exact, Type type) {
  const Interval out = Interval::of(whole(exact.low).low, whole(exact.high).high),
                 full = rangeOfType(type);
  // The largest i64 is no double: 2^63, which stands for it, is already too large.
  if (!out.within(full.low, full.high) || out.high >= 0x1p63)
    return std::nullopt;
  return out;
}

Interval penstock::conversion::hull(const Interval &a, const Interval &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan,
          std::min(a.least, b.least), a.noSignal() && b.noSignal()};
}

Interval penstock::conversion::widened(Interval range, Type type) {
  const double unit = type.isF64() ? 0x1p-50 : 0x1p-21;
  const double tiny = type.isF64() ? 1e-300 : 1e-36;
  range.low -= std::abs(range.low) * unit + tiny;
  range.high += std::abs(range.high) * unit + tiny;
  const double largest = type.isF64() ? 1e300 : 3e38;
  if (range.low < -largest)
    range.low = -std::numeric_limits<double>::infinity();
  if (range.high > largest)
    range.high = std::numeric_limits<double>::infinity();
  return range;
}

Interval penstock::conversion::product(const Interval &a, const Interval &c) {
  const double all[] = {a.low * c.low, a.low * c.high, a.high * c.low, a.high * c.high};
  Interval out{all[0], all[0], a.nan || c.nan};
  for (double x : all) {
    if (std::isnan(x))
      return {};
    out.low = std::min(out.low, x);
    out.high = std::max(out.high, x);
  }
  return out;
}
