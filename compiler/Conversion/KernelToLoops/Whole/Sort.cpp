// SPDX-License-Identifier: Apache-2.0
//
// Stable argsort.
//
// Short rows that are alone: a merge sort from runs of one element upwards. An element becomes
// an i64 that orders as it does, once; what is moved are indices. Merging takes no branch per
// element: both candidates are read, at clamped places.
#include "compiler/Conversion/KernelToLoops/Whole/Sort.h"
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// An i64 that is smaller exactly where the element comes earlier.
static Value orderOf(const Lanes &l, LaneValue value) {
  OpBuilder &b = l.b;
  Type element = value.type;
  if (element.isF16() || element.isBF16())
    value = l.cast(CastMode::value, value, element = b.getF32Type());
  if (!llvm::isa<FloatType>(element))
    return l.cast(CastMode::value, value, b.getI64Type()).value;
  Type bits = b.getIntegerType(element.getIntOrFloatBitWidth());
  Value number = l.compare(Predicate::eq, value, value).value;
  Value raw = b.create<arith::BitcastOp>(l.loc, bits, value.value);
  if (element.isF32())
    raw = b.create<arith::ExtSIOp>(l.loc, b.getI64Type(), raw);
  // Below zero a larger magnitude is a smaller number.
  Value sign = b.create<arith::ShRSIOp>(l.loc, raw, l.i64(63));
  Value ordered = l.xorInt(raw, l.andInt(sign, l.i64(INT64_MAX)));
  return l.pick(number, ordered, l.i64(INT64_MAX));
}

static LogicalResult emitSort(const Site &site, SortOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getValue());
  const int64_t axis = type.axisIndex(op.getAxis());
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  const SortWay way = sortOf(op).getWay();
  if (way == SortWay::digits)
    return sortByDigits(site, op, *buffer);
  if (!isRowByRow(way))
    return sortInLanes(site, op, *buffer);
  auto keys = scratchBytes(site, 8, {{op.getValue(), axis}});
  auto here = scratchBytes(site, 8, {{op.getValue(), axis}});
  auto there = scratchBytes(site, 8, {{op.getValue(), axis}});
  if (failed(keys) || failed(here) || failed(there))
    return failure();
  Value count = extent(site, op.getValue(), axis);
  auto at = [&](Value list, Value index) { return m.address(list, l.shl(index, 3)); };
  auto read = [&](Value list, Value index) { return m.loadPlain(b.getI64Type(), at(list, index)); };

  /// Merges the runs from ..< middle and middle ..< end of `source`.
  auto merge = [&](Value source, Value target, Value from, Value middle, Value end) {
    carryLoop(site, from, end, {from, middle}, [&](Value place, ValueRange state) {
      Value left = read(source, l.minS(state[0], l.sub(middle, l.i64(1))));
      Value right = read(source, l.minS(state[1], l.sub(end, l.i64(1))));
      Value leftFirst = l.cmp(CmpIPredicate::sle, read(*keys, left), read(*keys, right));
      Value takeLeft = l.andInt(l.cmp(CmpIPredicate::slt, state[0], middle),
                                l.orInt(l.cmp(CmpIPredicate::sge, state[1], end), leftFirst));
      m.storePlain(l.pick(takeLeft, left, right), at(target, place));
      Value step = b.create<arith::ExtUIOp>(l.loc, b.getI64Type(), takeLeft);
      return SmallVector<Value>{l.add(state[0], step), l.add(state[1], l.sub(l.i64(1), step))};
    });
  };
  /// Runs of 1, 2, 4 .. elements become runs of twice as many.
  auto sortKeys = [&]() -> Value {
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    auto passes = b.create<scf::WhileOp>(
        l.loc, TypeRange{b.getI64Type(), pointer, pointer}, ValueRange{l.i64(1), *here, *there},
        [&](OpBuilder &, Location, ValueRange state) {
          b.create<scf::ConditionOp>(l.loc, l.cmp(CmpIPredicate::slt, state[0], count), state);
        },
        [&](OpBuilder &, Location, ValueRange state) {
          Value run = state[0], pair = l.shl(run, 1);
          Value pairs = l.divS(l.add(count, l.sub(pair, l.i64(1))), pair);
          forLoop(site, l.i64(0), pairs, 1, [&](Value number) {
            Value from = l.mul(number, pair);
            merge(state[1], state[2], from, l.minS(l.add(from, run), count),
                  l.minS(l.add(from, pair), count));
          });
          b.create<scf::YieldOp>(l.loc, ValueRange{pair, state[2], state[1]});
        });
    return passes.getResult(1);
  };

  SmallVector<Index> index(type.getRank());
  std::function<void(int64_t)> nest = [&](int64_t level) {
    if (level == axis)
      return nest(level + 1);
    if (level < type.getRank())
      return (void)forLoop(site, l.i64(0), extent(site, op.getValue(), level), 1, [&](Value i) {
        index[level] = m.uniform(i);
        nest(level + 1);
      });
    forLoop(site, l.i64(0), count, 1, [&](Value i) {
      index[axis] = m.uniform(i);
      m.storePlain(orderOf(l, emit(site, op.getValue(), index)), at(*keys, i));
      m.storePlain(i, at(*here, i));
    });
    Value sorted = sortKeys();
    forLoop(site, l.i64(0), count, 1, [&](Value i) {
      index[axis] = m.uniform(i);
      m.store(*buffer, index, l.wrap(read(sorted, i), b.getI64Type()));
    });
  };
  nest(0);
  return success();
}

namespace penstock::conversion {
void registerSort(WholeOps &all);
}
void penstock::conversion::registerSort(WholeOps &all) { all.add<SortOp>(emitSort); }
