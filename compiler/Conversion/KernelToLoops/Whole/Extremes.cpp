// SPDX-License-Identifier: Apache-2.0
//
// Minima and maxima of floats.
//
// Where there is no instruction for all of it, one instruction for each element gives way to
// no NaN, but cannot tell zeros of both signs apart. Whether that matters only the result says:
// where one in a vector is a zero, the elements are gone through once more, with another
// instruction for each. In the same way, a result that is what no elements give tells that all
// may have been NaN: one look at the results asks for both.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Elements that stay in registers while they are looked at once more.
static constexpr int64_t fewElements = 4;

bool penstock::conversion::isExtreme(ReduceOp op) {
  return (op.getKind() == ReduceKind::min || op.getKind() == ReduceKind::max) &&
         llvm::isa<FloatType>(typeOf(op.getValue()).getElementType());
}

/// Returns whether minima and maxima in the lanes at hand have their zeros resolved when they are
/// made.
bool penstock::conversion::resolvesZerosLater(const Site &site, ReduceOp op) {
  auto [ctx, b, l, m] = site.parts();
  const bool hasInstruction = l.has.numbers && l.lanes % l.has.lanesOf(4) == 0 &&
                              computeType(typeOf(op.getValue()).getElementType()).isF32();
  return isExtreme(op) && !hasInstruction;
}

void penstock::conversion::noteNan(const Site &site, ReduceOp op, const LaneValue &value) {
  if (isExtreme(op) && value.range.nan)
    site.ctx.takesNan.insert(op);
}

/// One more element of an exact reduction (any but a sum of floats).
LaneValue penstock::conversion::withElement(const Site &site, ReduceOp op, LaneValue sofar,
                                            LaneValue value) {
  auto [ctx, b, l, m] = site.parts();
  noteNan(site, op, value);
  if (resolvesZerosLater(site, op))
    return farther(l, op.getKind() == ReduceKind::min, sofar, value);
  return combined(l, op.getKind(), sofar, isExtreme(op) ? comparable(site, value) : value);
}

/// Returns whether any lane of `found` may be a zero of the wrong sign, a NaN that came first and
/// that nothing took the place of, or what no elements give in place of a NaN; null where none can.
static Value anyUnresolved(const Site &site, ReduceOp op, const LaneValue &found) {
  auto [ctx, b, l, m] = site.parts();
  const bool mayBeZero = found.range.low <= 0 && found.range.high >= 0;
  const bool mayHide = !found.range.nan && ctx.takesNan.contains(op); // it began with a number
  if (!found.range.nan && !mayBeZero && !mayHide)
    return {};
  auto predicate = found.range.nan ? arith::CmpFPredicate::UEQ : arith::CmpFPredicate::OEQ;
  Value all = found.value;
  // If one of two is 0, infinite or NaN, so is their product. Two tiny or huge ones whose product
  // is so, too, are looked at in vain.
  if (l.lanes >= 2 * l.has.lanesOf(found.type.getIntOrFloatBitWidth() / 8)) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < l.lanes / 2; ++lane) {
      low.push_back(lane);
      high.push_back(lane + l.lanes / 2);
    }
    all = b.create<arith::MulFOp>(l.loc, m.shuffle(all, all, low), m.shuffle(all, all, high));
    predicate = arith::CmpFPredicate::UEQ;
  }
  return anyLane(l, all, [&](Value v) -> Value {
    Value other = l.floatLike(v, 0.0);
    if (mayHide) // zeros and infinities alone are twice as much as they are
      other = b.create<arith::AddFOp>(l.loc, v, v);
    return b.create<arith::CmpFOp>(l.loc, predicate, v, other);
  });
}

/// The zero that wins over the other one is looked for by its bits, of which there are no smaller
/// ones: +0 as an unsigned integer, -0 as a signed one.
LaneValue penstock::conversion::bitsOf(const Site &site, ReduceOp op, LaneValue value) {
  auto [ctx, b, l, m] = site.parts();
  const unsigned width = value.type.getIntOrFloatBitWidth();
  Value bits =
      b.create<arith::BitcastOp>(l.loc, l.like(value.value, b.getIntegerType(width)), value.value);
  return l.wrap(bits, op.getKind() == ReduceKind::min
                          ? b.getIntegerType(width)
                          : IntegerType::get(b.getContext(), width, IntegerType::Unsigned));
}

LaneValue penstock::conversion::leastBits(const Site &site, ReduceOp op, LaneValue sofar,
                                          LaneValue value) {
  auto [ctx, b, l, m] = site.parts();
  LaneValue bits = llvm::isa<FloatType>(value.type) ? bitsOf(site, op, value) : value;
  return l.binary(BinaryKind::min, sofar, bits);
}

/// Returns the bits that leastBits() begins with.
static LaneValue mostBits(const Site &site, ReduceOp op, Type element) {
  auto [ctx, b, l, m] = site.parts();
  return neutral(l, ReduceKind::min, bitsOf(site, op, neutral(l, op.getKind(), element)).type);
}

/// `found`, with the sign of its zeros by the least bits of all elements.
static LaneValue withSign(const Site &site, ReduceOp op, LaneValue found, LaneValue least) {
  auto [ctx, b, l, m] = site.parts();
  const bool wantMin = op.getKind() == ReduceKind::min;
  Value zero = l.floatLike(found.value, 0.0), below = l.floatLike(found.value, -0.0);
  LaneValue winner = bitsOf(site, op, {wantMin ? below : zero, found.type, {}});
  Value isThere = l.cmp(arith::CmpIPredicate::eq, least.value, winner.value);
  Value isZero = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::OEQ, found.value, zero);
  found.value =
      l.pick(isZero, l.pick(isThere, wantMin ? below : zero, wantMin ? zero : below), found.value);
  return {found.value, found.type, found.range};
}

/// The minimum or maximum that `found` is but for what anyUnresolved() says. `again` gives it from
/// numbers only, and the least bits; `orNan` what is NaN where no number is.
LaneValue
penstock::conversion::resolveExtreme(const Site &site, ReduceOp op, LaneValue found, Again again,
                                     llvm::function_ref<LaneValue(const Site &, LaneValue)> orNan) {
  auto [ctx, b, l, m] = site.parts();
  found.value = l.splat(found.value);
  Value unresolved = anyUnresolved(site, op, found);
  if (!unresolved)
    return found;
  if (found.range.nan)
    found.range = hull(found.range, neutral(l, op.getKind(), found.type).range);
  const bool mayBeNan = found.range.nan;
  found.range.nan = false;
  const Site rare = site.whereRare();
  LaneValue result = branch(
      site, unresolved, found.type, true,
      [&] {
        ctx.elements.clear();
        LaneValue from = found;
        from.range.nan = mayBeNan;
        auto [all, least] = again(rare, from);
        ctx.elements.clear();
        all.value = l.splat(all.value);
        least.value = l.splat(least.value);
        return orNan(rare, withSign(rare, op, {all.value, found.type, found.range}, least));
      },
      [&] { return found; });
  result.canonical = result.value;
  return result;
}

/// How many elements there are along some axes of the operand.
SmallVector<Value> penstock::conversion::extentsOver(const Site &site, ReduceOp op,
                                                     ArrayRef<int64_t> over) {
  SmallVector<Value> extents;
  for (int64_t axis : over)
    extents.push_back(extent(site, op.getValue(), axis));
  return extents;
}

/// By loops over the elements.
LaneValue penstock::conversion::resolveInLoops(const Site &site, ReduceOp op, LaneValue found,
                                               SmallVector<Index> at, ArrayRef<int64_t> over,
                                               ArrayRef<Value> extents) {
  auto [ctx, b, l, m] = site.parts();
  auto orNan = [&](const Site &site, LaneValue number) {
    return nanWithoutNumbers(site, op, number, at, over, extents);
  };
  if (!resolvesZerosLater(site, op))
    return orNan(site, found);
  auto again = [&](const Site &site, LaneValue from) {
    const Memory &m = site.m;
    const bool wantMin = op.getKind() == ReduceKind::min;
    LaneValue most = mostBits(site, op, from.type);
    SmallVector<Value> state{l.splat(most.value)};
    if (from.range.nan)
      state.push_back(l.splat(neutral(l, op.getKind(), from.type).value));
    auto loops = carriedNest(b, l, extents, state, [&](ArrayRef<Value> inner, ValueRange sofar) {
      for (auto [axis, index] : llvm::zip(over, inner))
        at[axis] = m.uniform(index);
      ctx.elements.clear();
      LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), from.type);
      SmallVector<Value> next{
          l.splat(leastBits(site, op, l.wrap(sofar[0], most.type), value).value)};
      if (from.range.nan)
        next.push_back(
            l.splat(farther(l, wantMin, numberSoFar(site, sofar[1], from.type), value).value));
      return next;
    });
    if (from.range.nan)
      from.value = loops[1];
    return std::pair(from, l.wrap(loops[0], most.type));
  };
  return resolveExtreme(site, op, found, again, orNan);
}

/// The same of results that reduceLanes() found, numbers all of them.
void penstock::conversion::resolveZerosOfLanes(const Site &site, ReduceOp op,
                                               SmallVector<LaneValue> &found,
                                               SmallVector<Index> &at, ArrayRef<int64_t> over,
                                               int64_t beside, ArrayRef<Value> extents) {
  auto [ctx, b, l, m] = site.parts();
  Value any;
  SmallVector<Value> values;
  for (LaneValue &one : found) {
    one.range.nan = false;
    values.push_back(one.value);
    if (Value unresolved = anyUnresolved(site, op, one))
      any = any ? l.orInt(any, unresolved) : unresolved;
  }
  if (!any)
    return;
  auto choice = b.create<scf::IfOp>(l.loc, ValueRange(values).getTypes(), any, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.elseBlock());
  b.create<scf::YieldOp>(l.loc, values);
  b.setInsertionPointToStart(choice.thenBlock());
  ctx.elements.clear();
  const Type element = found[0].type;
  auto least = reduceLanes(site, op, at, over, beside, extents, mostBits(site, op, element),
                           [&](const Site &here, LaneValue sofar, LaneValue value) {
                             return leastBits(here, op, sofar,
                                              llvm::isa<FloatType>(value.type)
                                                  ? here.m.l.cast(CastMode::value, value, element)
                                                  : value);
                           });
  ctx.elements.clear();
  for (auto [one, value, bits] : llvm::zip(found, values, least))
    value = withSign(site, op, one, bits).value;
  b.create<scf::YieldOp>(l.loc, values);
  for (auto [one, value] : llvm::zip(found, choice.getResults()))
    one.value = value;
}

/// Returns in which lanes all elements are NaN, and there are some. Few are unrolled.
static Value onlyNan(const Site &site, ReduceOp op, Type element, SmallVector<Index> at,
                     ArrayRef<int64_t> over, ArrayRef<Value> extents) {
  auto [ctx, b, l, m] = site.parts();
  auto isNan = [&](llvm::function_ref<Index(size_t)> place) -> Value {
    for (auto [i, axis] : llvm::enumerate(over))
      at[axis] = place(i);
    ctx.elements.clear();
    Value value = l.splat(l.cast(CastMode::value, emit(site, op.getValue(), at), element).value);
    return b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::UNO, value, value);
  };
  int64_t count = 1; // where known
  Value some = l.cmp(arith::CmpIPredicate::eq, l.i64(0), l.i64(0));
  for (Value extent : extents) {
    count *= Lanes::constantOf(extent).value_or(0);
    some = l.andInt(some, l.cmp(arith::CmpIPredicate::sgt, extent, l.i64(0)));
  }
  if (count < 1 || count > fewElements)
    return carriedNest(b, l, extents, {l.splat(some)}, [&](ArrayRef<Value> inner, ValueRange all) {
      return SmallVector<Value>{
          l.andInt(all[0], isNan([&](size_t i) { return m.uniform(inner[i]); }))};
    })[0];
  Value all;
  for (int64_t number = 0; number < count; ++number) {
    int64_t inside = count, rest = number;
    Value one = isNan([&](size_t i) {
      inside /= *Lanes::constantOf(extents[i]);
      const int64_t place = rest / inside;
      rest %= inside;
      return m.constant(place);
    });
    all = all ? l.andInt(all, one) : one;
  }
  return all;
}

/// NaN where all elements are: nothing took the place of what no elements give.
LaneValue penstock::conversion::nanWithoutNumbers(const Site &site, ReduceOp op, LaneValue found,
                                                  ArrayRef<Index> at, ArrayRef<int64_t> over,
                                                  ArrayRef<Value> extents) {
  auto [ctx, b, l, m] = site.parts();
  if (!ctx.takesNan.contains(op))
    return found;
  found.value = l.splat(found.value);
  const LaneValue none = neutral(l, op.getKind(), found.type);
  Value unresolved = anyLane(l, found.value, [&](Value v) -> Value {
    return b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::OEQ, v,
                                   l.floatLike(v, none.range.low));
  });
  found = {found.value, found.type, hull(found.range, none.range)};
  found.range.nan = true;
  LaneValue result = branch(
      site, unresolved, found.type, true,
      [&] {
        Value all = onlyNan(site, op, found.type, SmallVector<Index>(at), over, extents);
        ctx.elements.clear();
        Value nan = l.floatLike(found.value, std::numeric_limits<double>::quiet_NaN());
        return LaneValue{l.pick(all, nan, found.value), found.type, found.range};
      },
      [&] { return found; });
  result.range.quiet = true;
  result.canonical = result.value;
  return result;
}
