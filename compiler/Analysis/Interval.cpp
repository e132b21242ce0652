// SPDX-License-Identifier: Apache-2.0
//
// Arithmetic on intervals.
#include "compiler/Analysis/Interval.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::analysis;

Interval penstock::analysis::rangeOfType(Type type) {
  if (llvm::isa<FloatType>(type))
    return {};
  if (type.isSignlessInteger(1))
    return Interval::of(0, 1);
  const double bits = type.getIntOrFloatBitWidth();
  if (isUnsigned(type))
    return Interval::of(0, std::exp2(bits) - 1);
  return Interval::of(-std::exp2(bits - 1), std::exp2(bits - 1) - 1);
}

Interval penstock::analysis::whole(double nearest) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (std::abs(nearest) < 0x1p53)
    return Interval::of(nearest, nearest);
  return Interval::of(std::nextafter(nearest, -infinity), std::nextafter(nearest, infinity));
}

std::optional<Interval> penstock::analysis::unlessItWraps(Interval exact, Type type) {
  const Interval out = Interval::of(whole(exact.low).low, whole(exact.high).high),
                 full = rangeOfType(type);
  // The largest i64 is no double: 2^63, which stands for it, is already too large.
  if (!out.within(full.low, full.high) || out.high >= 0x1p63)
    return std::nullopt;
  return out;
}

Interval penstock::analysis::hull(const Interval &a, const Interval &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan,
          std::min(a.least, b.least), a.noSignal() && b.noSignal()};
}

Interval penstock::analysis::widened(Interval range, Type type) {
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

Interval penstock::analysis::product(const Interval &a, const Interval &c) {
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

//===--- operations ----------------------------------------------------------------------===//

static Interval rangeOfUnaryFloat(UnaryKind kind, Type type, const Interval &a) {
  Interval out = a;
  switch (kind) {
  case UnaryKind::neg:
    out.low = -a.high;
    out.high = -a.low;
    return out;
  case UnaryKind::abs:
    out.high = std::max(std::abs(a.low), std::abs(a.high));
    out.low = a.low > 0 ? a.low : 0;
    return out;
  case UnaryKind::floor:
    return {std::floor(a.low), std::floor(a.high), a.nan};
  case UnaryKind::ceil:
    return {std::ceil(a.low), std::ceil(a.high), a.nan};
  case UnaryKind::trunc:
    return {std::trunc(a.low), std::trunc(a.high), a.nan};
  case UnaryKind::round:
  case UnaryKind::round_away:
    return {std::floor(a.low), std::ceil(a.high), a.nan};
  case UnaryKind::sqrt:
    return widened({0, std::sqrt(std::max(0.0, a.high)), a.nan || a.low < 0}, type);
  default:
    return {};
  }
}

Interval penstock::analysis::rangeOfUnary(UnaryKind kind, Type type, const Interval &a) {
  if (llvm::isa<FloatType>(type))
    return rangeOfUnaryFloat(kind, type, a);
  const Interval full = rangeOfType(type);
  switch (kind) {
  case UnaryKind::neg:
    return unlessItWraps(Interval::of(-a.high, -a.low), type).value_or(full);
  case UnaryKind::abs:
    return isUnsigned(type) || a.low >= 0
               ? a
               : unlessItWraps(Interval::of(0, std::max(-a.low, a.high)), type).value_or(full);
  default:
    return full;
  }
}

static Interval shiftedRange(BinaryKind kind, Type type, const Interval &a, const Interval &c) {
  if (kind == BinaryKind::shl || a.low < 0)
    return rangeOfType(type);
  const double most = type.getIntOrFloatBitWidth() - 1;
  const bool known = c.low == c.high && c.within(0, most);
  return Interval::of(0, known ? std::floor(std::ldexp(a.high, -static_cast<int>(c.low))) : a.high);
}

std::optional<Interval> penstock::analysis::rangeOfIntegers(BinaryKind kind, Type type,
                                                            const Interval &a, const Interval &c) {
  switch (kind) {
  case BinaryKind::add:
    return unlessItWraps(Interval::of(a.low + c.low, a.high + c.high), type);
  case BinaryKind::sub:
    return unlessItWraps(Interval::of(a.low - c.high, a.high - c.low), type);
  case BinaryKind::mul:
    return unlessItWraps(product(a, c), type);
  case BinaryKind::div:
    if (c.low >= 1)
      return Interval::of(std::trunc(std::min(a.low, 0.0) / c.low),
                          std::trunc(std::max(a.high, 0.0) / c.low));
    break;
  case BinaryKind::rem:
    if (c.low >= 1 && a.low >= 0)
      return Interval::of(0, std::min(a.high, c.high - 1));
    break;
  case BinaryKind::min:
    return Interval::of(std::min(a.low, c.low), std::min(a.high, c.high));
  case BinaryKind::max:
    return Interval::of(std::max(a.low, c.low), std::max(a.high, c.high));
  case BinaryKind::bit_and:
    if (a.low >= 0 && c.low >= 0)
      return Interval::of(0, std::min(a.high, c.high));
    break;
  case BinaryKind::shl:
  case BinaryKind::shr:
    return shiftedRange(kind, type, a, c);
  case BinaryKind::bit_or:
  case BinaryKind::bit_xor:
    break;
  }
  return rangeOfType(type);
}

/// With a NaN on one side the result is the other side.
static Interval smallerOrLarger(bool wantMin, const Interval &a, const Interval &c) {
  auto end = [&](double p, double q) { return wantMin ? std::min(p, q) : std::max(p, q); };
  Interval out{end(a.low, c.low), end(a.high, c.high), a.nan && c.nan};
  auto include = [&](const Interval &other) {
    out.low = std::min(out.low, other.low);
    out.high = std::max(out.high, other.high);
  };
  if (a.nan)
    include(c);
  if (c.nan)
    include(a);
  return out;
}

Interval penstock::analysis::rangeOfFloats(BinaryKind kind, Type type, const Interval &a,
                                           const Interval &c) {
  if (kind == BinaryKind::min || kind == BinaryKind::max)
    return smallerOrLarger(kind == BinaryKind::min, a, c);
  if (!a.isFinite() || !c.isFinite())
    return {};
  switch (kind) {
  case BinaryKind::add:
    return widened(Interval::of(a.low + c.low, a.high + c.high), type);
  case BinaryKind::sub:
    return widened(Interval::of(a.low - c.high, a.high - c.low), type);
  case BinaryKind::mul:
    return widened(product(a, c), type);
  case BinaryKind::div:
    if (c.low > 0 || c.high < 0)
      return widened(product(a, Interval::of(1 / c.high, 1 / c.low)), type);
    return {};
  default:
    return {};
  }
}

/// Truncated, saturated; NaN gives 0.
static Interval wholeRange(const Interval &a, Type to) {
  const Interval full = rangeOfType(to);
  const Interval out =
      Interval::of(std::max(full.low, std::trunc(a.low)), std::min(full.high, std::trunc(a.high)));
  return a.nan || out.low > out.high ? full : out;
}

static Interval integerAsFloat(Interval range, Type from, Type to) {
  const unsigned width = from.getIntOrFloatBitWidth();
  const double unit = to.isF32() && width > 16 ? 0x1p-22 : width == 64 ? 0x1p-50 : 0.0;
  range.low -= std::abs(range.low) * unit;
  range.high += std::abs(range.high) * unit;
  range.least = 1;
  return range;
}

static Interval roundedToSingle(Interval range) {
  if (!range.within(-3e38, 3e38))
    range = {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
             range.nan, range.least, range.quiet};
  range.low -= std::abs(range.low) * 0x1p-22 + 1e-40;
  range.high += std::abs(range.high) * 0x1p-22 + 1e-40;
  return range;
}

Interval penstock::analysis::rangeOfCast(CastMode mode, Type from, Type to, const Interval &a) {
  if (from == to)
    return a;
  const Interval full = rangeOfType(to);
  if (mode == CastMode::bits || to.isSignlessInteger(1))
    return full;
  const bool wasFloat = llvm::isa<FloatType>(from), isFloat = llvm::isa<FloatType>(to);
  if (wasFloat && isFloat)
    return to.isF64() ? a : to.isF32() ? roundedToSingle(a) : full;
  if (isFloat)
    return to.isF32() || to.isF64() ? integerAsFloat(a, from, to) : full;
  if (wasFloat)
    return wholeRange(a, to);
  if (a.within(full.low, full.high))
    return a;
  return mode == CastMode::clamp
             ? Interval::of(std::max(full.low, a.low), std::min(full.high, a.high))
             : full;
}
