// SPDX-License-Identifier: Apache-2.0
//
// Functions shared by ops that read whole axes.
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::conversion {

scf::ForOp openLoop(OpBuilder &b, const Lanes &l, Value low, Value high, int64_t step,
                    ValueRange carried) {
  auto loop = b.create<scf::ForOp>(l.loc, low, high, l.i64(step), carried);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  b.setInsertionPointToEnd(loop.getBody());
  return loop;
}

SmallVector<Value>
carriedNest(OpBuilder &b, const Lanes &l, ArrayRef<Value> extents, SmallVector<Value> state,
            llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ValueRange)> body) {
  SmallVector<Value> at(extents.size());
  std::function<SmallVector<Value>(size_t, SmallVector<Value>)> nest = [&](size_t level,
                                                                           SmallVector<Value> in) {
    if (level == extents.size())
      return body(at, in);
    OpBuilder::InsertionGuard guard(b);
    auto loop = openLoop(b, l, l.i64(0), extents[level], 1, in);
    at[level] = loop.getInductionVar();
    SmallVector<Value> inner(loop.getRegionIterArgs().begin(), loop.getRegionIterArgs().end());
    SmallVector<Value> next = nest(level + 1, inner);
    b.create<scf::YieldOp>(l.loc, next);
    return SmallVector<Value>(loop.getResults());
  };
  return nest(0, std::move(state));
}

LaneValue neutral(const Lanes &l, ReduceKind kind, Type type) {
  OpBuilder &b = l.b;
  auto integer = [&](double value) {
    APInt bits = type.isSignlessInteger(64)
                     ? (value < 0    ? APInt::getSignedMinValue(64)
                        : value == 0 ? APInt(64, 0)
                                     : APInt::getSignedMaxValue(64))
                     : APInt(type.getIntOrFloatBitWidth(),
                             static_cast<uint64_t>(static_cast<int64_t>(value)), true);
    return l.wrap(b.create<arith::ConstantOp>(l.loc, b.getIntegerAttr(registerType(type), bits)),
                  type);
  };
  const bool isFloat = llvm::isa<FloatType>(type);
  const double inf = std::numeric_limits<double>::infinity();
  switch (kind) {
  case ReduceKind::min:
    return isFloat ? l.constant(b.getFloatAttr(type, inf)) : integer(rangeOfType(type).high);
  case ReduceKind::max:
    return isFloat ? l.constant(b.getFloatAttr(type, -inf)) : integer(rangeOfType(type).low);
  case ReduceKind::all:
    return integer(1);
  case ReduceKind::sum:
    return isFloat ? l.constant(b.getFloatAttr(type, 0.0)) : integer(0);
  default:
    return integer(0);
  }
}

LaneValue combined(const Lanes &l, ReduceKind kind, LaneValue sofar, LaneValue value) {
  switch (kind) {
  case ReduceKind::min:
    return l.binary(BinaryKind::min, sofar, value);
  case ReduceKind::max:
    return l.binary(BinaryKind::max, sofar, value);
  case ReduceKind::any:
    return l.binary(BinaryKind::bit_or, sofar, value);
  case ReduceKind::all:
    return l.binary(BinaryKind::bit_and, sofar, value);
  case ReduceKind::count:
    return l.binary(BinaryKind::add, sofar, l.cast(CastMode::value, value, l.b.getI64Type()));
  default:
    return l.binary(BinaryKind::add, sofar, value);
  }
}

LaneValue rankOf(const Lanes &l, ReduceKind kind, LaneValue value) {
  Value rank = value.value;
  Type type = value.type;
  auto reversed = [&] {
    return kind == ReduceKind::argmin ? l.xorInt(rank, l.integerLike(rank, -1)) : rank;
  };
  if (!llvm::isa<FloatType>(type))
    return l.wrap(reversed(), type);
  const unsigned width = type.getIntOrFloatBitWidth();
  type = l.b.getIntegerType(width);
  rank = l.b.create<arith::BitcastOp>(l.loc, l.like(rank, type), rank);
  // Of negative numbers all bits but the sign are turned over.
  Value sign = l.b.create<arith::ShRSIOp>(l.loc, rank, l.integerLike(rank, width - 1));
  rank = l.xorInt(rank, l.andInt(sign, l.integerLike(rank, width == 32 ? INT32_MAX : INT64_MAX)));
  rank = reversed();
  Value number = l.compare(Predicate::eq, value, value).value;
  return l.wrap(l.pick(number, rank, l.integerLike(rank, width == 32 ? INT32_MIN : INT64_MIN)),
                type);
}

LaneValue worstRank(const Lanes &l, Type element) {
  if (llvm::isa<FloatType>(element))
    element = l.b.getIntegerType(element.getIntOrFloatBitWidth());
  return neutral(l, ReduceKind::max, element);
}

Value isBetter(const Lanes &l, LaneValue rank, LaneValue best) {
  return l.compare(Predicate::gt, rank, best).value;
}

void overHalves(int64_t count, llvm::function_ref<void(int64_t, int64_t, int64_t, int64_t)> body) {
  const int64_t rows = count / partialSums, rest = count % partialSums, turn = rest % halfOfSums,
                more = rest / halfOfSums; // those of the lower half have theirs first
  if (turn > 0)
    body(0, turn, rows + 1, rows + more);
  body(turn, halfOfSums, rows + more, rows);
}

LaneValue treeOfPartials(const Lanes &l, Type element, int64_t count,
                         llvm::function_ref<LaneValue(int64_t)> partial, int64_t sums) {
  std::function<LaneValue(int64_t, int64_t)> tree = [&](int64_t lane, int64_t step) {
    if (step == sums)
      return partial(lane);
    LaneValue low = tree(lane, 2 * step);
    return lane + step < count ? l.binary(BinaryKind::add, low, tree(lane + step, 2 * step)) : low;
  };
  return l.binary(BinaryKind::add, tree(0, 1), neutral(l, ReduceKind::sum, element));
}

LaneValue treeInOrder(const Lanes &l, Type element, int64_t count,
                      llvm::function_ref<LaneValue(int64_t)> one) {
  SmallVector<LaneValue> sums(partialSums);
  // Of which lanes a sum is: `lane`, `lane` + step and so on; 0 until all of those are there.
  SmallVector<int64_t> steps(partialSums, 0);
  for (int64_t number = 0; number < count; ++number) {
    int64_t lane = number % partialSums;
    LaneValue value = one(number);
    sums[lane] = number < partialSums ? value : l.binary(BinaryKind::add, sums[lane], value);
    if (number + partialSums < count)
      continue;
    steps[lane] = partialSums;
    for (int64_t half = partialSums / 2; half >= 1; half /= 2, steps[lane] /= 2) {
      const int64_t low = lane % half, high = low + half;
      if (high < count) {
        if (steps[low] != 2 * half || steps[high] != 2 * half)
          break;
        sums[low] = l.binary(BinaryKind::add, sums[low], sums[high]);
      }
      lane = low;
    }
  }
  return l.binary(BinaryKind::add, sums[0], neutral(l, ReduceKind::sum, element));
}

Type computeType(Type element) { return computedIn(element); }

} // namespace penstock::conversion
