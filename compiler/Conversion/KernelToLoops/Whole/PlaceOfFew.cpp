// SPDX-License-Identifier: Apache-2.0
//
// The place of the best of a few elements, in each lane.
//
// Floats are compared as they are: one comparison for each, where ranks take five operations more.
// It is wrong in two cases, both seen in what it found. A NaN that comes first is never given up,
// since nothing compares with it. Of zeros the first one stays, though -0 lies below +0: a -0 is no
// maximum unless nothing but that was there, nor a +0 a minimum where any sign was set. In these
// cases the elements are gone through once more, by their ranks.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {
struct Best {
  LaneValue value, number;
};
} // namespace

/// Of equal ones the first stays. `keyOf` gives what is compared.
static Best firstBest(const Site &site, Predicate better, int64_t count,
                      llvm::function_ref<LaneValue(int64_t)> keyOf) {
  auto [ctx, b, l, m] = site.parts();
  Best best{keyOf(0), l.constant(b.getI32IntegerAttr(0))};
  for (int64_t number = 1; number < count; ++number) {
    LaneValue value = keyOf(number), isBetter = l.compare(better, value, best.value);
    LaneValue here = l.constant(b.getI32IntegerAttr(static_cast<int32_t>(number)));
    best = {l.select(isBetter, value, best.value), l.select(isBetter, here, best.number)};
  }
  return best;
}

static Value asInteger(const Lanes &l, Value v) {
  Type bits = l.b.getIntegerType(getElementTypeOrSelf(v.getType()).getIntOrFloatBitWidth());
  return l.b.create<arith::BitcastOp>(l.loc, l.like(v, bits), v);
}

/// Where in `best` is a NaN or a zero that another one may come before.
struct Doubt {
  Value lanes; ///< bits
  Value any;
};
/// Returns none where that cannot be. `signs` has the sign bits of all elements, for minima.
static std::optional<Doubt> doubtOf(const Site &site, const LaneValue &best, Value signs) {
  auto [ctx, b, l, m] = site.parts();
  const bool mayBeZero = best.range.low <= 0 && best.range.high >= 0;
  if (!best.range.nan && !mayBeZero)
    return std::nullopt;
  Value value = best.value;
  if (signs && mayBeZero) { // a zero is then -0 if any has a sign
    Value sign = l.andInt(signs, asInteger(l, l.floatLike(value, -0.0)));
    value = b.create<arith::BitcastOp>(l.loc, value.getType(), l.orInt(asInteger(l, value), sign));
  }
  auto isDoubtful = [&](Value v) -> Value {
    Value isNan = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::UNO, v, v);
    if (!mayBeZero)
      return isNan;
    Value isZero =
        l.cmp(arith::CmpIPredicate::eq, asInteger(l, v), asInteger(l, l.floatLike(v, -0.0)));
    return best.range.nan ? l.orInt(isZero, isNan) : isZero;
  };
  return Doubt{isDoubtful(value), anyLane(l, l.splat(value), isDoubtful)};
}

LaneValue penstock::conversion::placeOfFew(const Site &site, ReduceOp op, int64_t count,
                                           llvm::function_ref<LaneValue(int64_t)> one,
                                           llvm::function_ref<LaneValue(const Site &)> byRanks) {
  auto [ctx, b, l, m] = site.parts();
  const ReduceKind kind = op.getKind();
  const bool isMin = kind == ReduceKind::argmin;
  Type element = computeType(typeOf(op.getValue()).getElementType());
  if (!llvm::isa<FloatType>(element)) {
    auto rank = [&](int64_t number) { return rankOf(l, kind, one(number)); };
    return firstBest(site, Predicate::gt, count, rank).number;
  }
  Value signs;
  Best best = firstBest(site, isMin ? Predicate::lt : Predicate::gt, count, [&](int64_t number) {
    LaneValue value = one(number);
    if (isMin)
      signs = signs ? l.orInt(signs, asInteger(l, value.value)) : asInteger(l, value.value);
    return value;
  });
  const std::optional<Doubt> doubt = doubtOf(site, best.value, signs);
  if (!doubt)
    return best.number;
  const Site rare = site.whereRare();
  LaneValue found = branch(
      site, doubt->any, b.getI32Type(), true,
      [&] {
        ctx.elements.clear();
        LaneValue slowly = rare.m.l.cast(CastMode::value, byRanks(rare), b.getI32Type());
        ctx.elements.clear();
        // The other lanes keep what was found, which they need not, so that it is needed on both
        // ways: LLVM else finds it behind the branch, where all elements, and the best of those
        // before each, have waited for it in memory.
        return l.select(l.wrap(doubt->lanes, b.getI1Type()), slowly, best.number);
      },
      [&] { return best.number; });
  found.range = best.number.range;
  return found;
}
