//===- KernelExtremes.cpp - minima and maxima of floats ---------------------===//
//
// Where there is no instruction for all of it, one instruction for each element gives way to
// no NaN, but cannot tell zeros of both signs apart. Whether that matters only the result says: where
// one in a vector is a zero, the elements are gone through once more, with another instruction for each.
//
//===----------------------------------------------------------------------===//

#include "compiler/Conversion/KernelEmitter.h"
#include "compiler/Conversion/Reduction.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

bool KernelEmitter::isExtreme(ReduceOp op) {
  return (op.getKind() == ReduceKind::min || op.getKind() == ReduceKind::max) &&
         llvm::isa<FloatType>(typeOf(op.getValue()).getElementType());
}

/// Whether minima and maxima in the lanes at hand have their zeros resolved when they are made.
bool KernelEmitter::resolvesZerosLater(ReduceOp op) {
  const bool hasInstruction = l.has.numbers && l.lanes % l.has.lanesOf(4) == 0 &&
                              computeType(typeOf(op.getValue()).getElementType()).isF32();
  return isExtreme(op) && !hasInstruction;
}

/// One more element of an exact reduction (any but a sum of floats).
LaneValue KernelEmitter::withElement(ReduceOp op, LaneValue sofar, LaneValue value) {
  if (resolvesZerosLater(op))
    return l.farther(op.getKind() == ReduceKind::min, sofar, value);
  return combined(l, op.getKind(), sofar, isExtreme(op) ? comparable(value, op.getKind() == ReduceKind::min) : value);
}

/// Whether any lane of `found` may be a zero of the wrong sign, or a NaN that came first and that nothing
/// took the place of; null where none can.
Value KernelEmitter::anyUnresolved(const LaneValue &found) {
  if (!found.range.nan && (found.range.low > 0 || found.range.high < 0))
    return {};
  auto predicate = found.range.nan ? arith::CmpFPredicate::UEQ : arith::CmpFPredicate::OEQ;
  return l.anyLane(found.value, [&](Value v) -> Value {
    return b.create<arith::CmpFOp>(l.loc, predicate, v, l.floatLike(v, 0.0));
  });
}

/// The zero that wins over the other one is looked for by its bits, of which there are no smaller ones: +0
/// as an unsigned integer, -0 as a signed one.
LaneValue KernelEmitter::bitsOf(ReduceOp op, LaneValue value) {
  const unsigned width = value.type.getIntOrFloatBitWidth();
  Value bits = b.create<arith::BitcastOp>(l.loc, l.like(value.value, b.getIntegerType(width)), value.value);
  return l.wrap(bits, op.getKind() == ReduceKind::min
                          ? b.getIntegerType(width)
                          : IntegerType::get(b.getContext(), width, IntegerType::Unsigned));
}

LaneValue KernelEmitter::leastBits(ReduceOp op, LaneValue sofar, LaneValue value) {
  LaneValue bits = llvm::isa<FloatType>(value.type) ? bitsOf(op, value) : value;
  return l.binary(BinaryKind::min, sofar, bits);
}

/// What there is before the first element.
LaneValue KernelEmitter::mostBits(ReduceOp op, Type element) {
  return neutral(l, ReduceKind::min, bitsOf(op, neutral(l, op.getKind(), element)).type);
}

/// `found`, with the sign of its zeros by the least bits of all elements.
LaneValue KernelEmitter::withSign(ReduceOp op, LaneValue found, LaneValue least) {
  const bool wantMin = op.getKind() == ReduceKind::min;
  Value zero = l.floatLike(found.value, 0.0), below = l.floatLike(found.value, -0.0);
  LaneValue winner = bitsOf(op, {wantMin ? below : zero, found.type, {}});
  Value isThere = l.cmp(arith::CmpIPredicate::eq, least.value, winner.value);
  Value isZero = b.create<arith::CmpFOp>(l.loc, arith::CmpFPredicate::OEQ, found.value, zero);
  found.value = l.pick(isZero, l.pick(isThere, wantMin ? below : zero, wantMin ? zero : below), found.value);
  return {found.value, found.type, found.range};
}

/// The minimum or maximum that `found` is but for what anyUnresolved() says. `again` gives it from numbers only,
/// and the least bits.
LaneValue KernelEmitter::resolveZeros(ReduceOp op, LaneValue found,
                                 llvm::function_ref<std::pair<LaneValue, LaneValue>(LaneValue)> again) {
  found.value = l.splat(found.value);
  Value unresolved = anyUnresolved(found);
  if (!unresolved)
    return found;
  if (found.range.nan)
    found.range = hull(found.range, neutral(l, op.getKind(), found.type).range);
  const bool mayBeNan = found.range.nan;
  found.range.nan = false;
  return branch(
      unresolved, found.type, true,
      [&] {
        elements.clear();
        LaneValue from = found;
        from.range.nan = mayBeNan;
        auto [all, least] = again(from);
        elements.clear();
        all.value = l.splat(all.value);
        least.value = l.splat(least.value);
        return withSign(op, {all.value, found.type, found.range}, least);
      },
      [&] { return found; });
}

/// How many elements there are along some axes of the operand.
SmallVector<Value> KernelEmitter::extentsOver(ReduceOp op, ArrayRef<int64_t> over) {
  SmallVector<Value> extents;
  for (int64_t axis : over)
    extents.push_back(extent(op.getValue(), axis));
  return extents;
}

/// By loops over the elements.
LaneValue KernelEmitter::resolveZerosInLoops(ReduceOp op, LaneValue found, SmallVector<Index> at, ArrayRef<int64_t> over,
                                        ArrayRef<Value> extents) {
  if (!resolvesZerosLater(op))
    return found;
  return resolveZeros(op, found, [&](LaneValue from) {
    const bool wantMin = op.getKind() == ReduceKind::min;
    LaneValue most = mostBits(op, from.type);
    SmallVector<Value> state{l.splat(most.value)};
    if (from.range.nan)
      state.push_back(l.splat(neutral(l, op.getKind(), from.type).value));
    auto loops = carriedNest(b, l, extents, state, [&](ArrayRef<Value> inner, ValueRange sofar) {
      for (auto [axis, index] : llvm::zip(over, inner))
        at[axis] = m.uniform(index);
      elements.clear();
      LaneValue value = l.cast(CastMode::value, emit(op.getValue(), at), from.type);
      SmallVector<Value> next{l.splat(leastBits(op, l.wrap(sofar[0], most.type), value).value)};
      if (from.range.nan)
        next.push_back(l.splat(l.farther(wantMin, numberSoFar(sofar[1], from.type), value).value));
      return next;
    });
    if (from.range.nan)
      from.value = loops[1];
    return std::pair(from, l.wrap(loops[0], most.type));
  });
}

/// The same of results that reduceLanes() found, numbers all of them.
void KernelEmitter::resolveZerosOfLanes(ReduceOp op, SmallVector<LaneValue> &found, SmallVector<Index> &at,
                                ArrayRef<int64_t> over, int64_t beside, ArrayRef<Value> extents) {
  Value any;
  SmallVector<Value> values;
  for (LaneValue &one : found) {
    one.range.nan = false;
    values.push_back(one.value);
    if (Value unresolved = anyUnresolved(one))
      any = any ? l.orInt(any, unresolved) : unresolved;
  }
  if (!any)
    return;
  auto choice = b.create<scf::IfOp>(l.loc, ValueRange(values).getTypes(), any, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.elseBlock());
  b.create<scf::YieldOp>(l.loc, values);
  b.setInsertionPointToStart(choice.thenBlock());
  elements.clear();
  const Type element = found[0].type;
  auto least = reduceLanes(op, at, over, beside, extents, mostBits(op, element), [&](LaneValue sofar, LaneValue value) {
    return leastBits(op, sofar, llvm::isa<FloatType>(value.type) ? l.cast(CastMode::value, value, element) : value);
  });
  elements.clear();
  for (auto [one, value, bits] : llvm::zip(found, values, least))
    value = withSign(op, one, bits).value;
  b.create<scf::YieldOp>(l.loc, values);
  for (auto [one, value] : llvm::zip(found, choice.getResults()))
    one.value = value;
}
