// SPDX-License-Identifier: Apache-2.0
//
// Groups by key.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Numbers.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
/// Where keys are in the table.
struct KeyTable {
  const Site &site;
  const Numbers &keys, &table;
  const Buffer &firsts;
  Value zero, one, places, width;
  OpBuilder &b = site.ctx.b;
  const Lanes &l = site.m.l;
  const Memory &m = site.m;
  Type i64 = b.getI64Type();

  /// Where the search for a key begins.
  Value placeOf(Value i) {
    Value hash = carryLoop(site, zero, width, {zero}, [&](Value j, ValueRange state) {
      Value word = keys.read(l.add(l.mul(i, width), j));
      return SmallVector<Value>{
          l.mul(l.xorInt(state[0], word), l.i64(static_cast<int64_t>(0x9E3779B97F4A7C15u)))};
    })[0];
    return l.shrU(l.mul(l.shrU(hash, 32), places), 32);
  }
  /// Number + 1 of the group that element i belongs to, or 0, and the place in
  /// the table where the search ended.
  ValueRange find(Value i) {
    auto search = b.create<scf::WhileOp>(
        l.loc, TypeRange{i64, i64}, ValueRange{placeOf(i), zero},
        [&](OpBuilder &, Location, ValueRange state) {
          Value entry = table.read(state[0]);
          Value empty = l.cmp(CmpIPredicate::eq, entry, zero);
          Value group = l.maxS(l.sub(entry, one), zero);
          Value leader = m.load(firsts, {m.uniform(group)}).value;
          Value equal = carryLoop(site, zero, width, {l.integerLike(empty, 1)},
                                  [&](Value j, ValueRange sofar) {
                                    Value mine = keys.read(l.add(l.mul(i, width), j));
                                    Value theirs = keys.read(l.add(l.mul(leader, width), j));
                                    return SmallVector<Value>{
                                        l.andInt(sofar[0], l.cmp(CmpIPredicate::eq, mine, theirs))};
                                  })[0];
          Value more = l.xorInt(l.orInt(empty, equal), l.integerLike(empty, 1));
          b.create<scf::ConditionOp>(l.loc, more, ValueRange{state[0], entry});
        },
        [&](OpBuilder &, Location, ValueRange state) {
          Value next = l.add(state[0], one);
          Value around = l.cmp(CmpIPredicate::eq, next, places);
          b.create<scf::YieldOp>(l.loc, ValueRange{l.pick(around, zero, next), zero});
        });
    return search.getResults();
  }
};
} // namespace

/// A table with open addressing, twice as large as there are elements: entries
/// are group numbers plus 1, a group's key is that of its first element.
static LogicalResult emitGroup(const Site &site, GroupOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType key = typeOf(op.getKey());
  SmallVector<TensorAxis> axes;
  SmallVector<Value> others;
  for (int64_t axis = 0; axis < key.getRank(); ++axis) {
    axes.push_back({op.getKey(), axis});
    if (axis > 0)
      others.push_back(extent(site, op.getKey(), axis));
  }
  auto slots = bufferFor(site, op.getSlot()), firsts = bufferFor(site, op.getFirst()),
       counted = bufferFor(site, op.getCount());
  auto keyList = scratchBytes(site, 8, axes),
       tableList = scratchBytes(site, 16, {{op.getKey(), 0}});
  if (failed(slots) || failed(firsts) || failed(counted) || failed(keyList) || failed(tableList))
    return failure();
  const Numbers keys{l, m, *keyList}, table{l, m, *tableList};
  Type i64 = b.getI64Type(), i1 = b.getI1Type();
  Value size = extent(site, op.getKey(), 0), zero = l.i64(0), one = l.i64(1);
  Value places = l.shl(size, 1), width = one;
  for (Value other : others)
    width = l.mul(width, other);
  auto store = [&](const Buffer &to, Value at, Value number) {
    m.store(to, {m.uniform(at)}, l.wrap(number, i64));
  };

  forLoop(site, zero, places, 1, [&](Value i) { table.write(i, zero); });
  forLoop(site, zero, extent(site, op.getFirst(), 0), 1, [&](Value i) { store(*firsts, i, zero); });
  forLoop(site, zero, size, 1, [&](Value i) {
    carriedNest(b, l, others, {l.mul(i, width)}, [&](ArrayRef<Value> where, ValueRange state) {
      SmallVector<Index> at{m.uniform(i)};
      for (Value index : where)
        at.push_back(m.uniform(index));
      keys.write(state[0], l.cast(CastMode::value, emit(site, op.getKey(), at), i64).value);
      return SmallVector<Value>{l.add(state[0], one)};
    });
  });

  KeyTable search{site, keys, table, *firsts, zero, one, places, width};
  Value limit = l.minS(l.i64(static_cast<int64_t>(op.getLimit())), extent(site, op.getFirst(), 0));
  /// The group of element i, a new one where there is room; and how many there are.
  auto groupOf = [&](Value i, Value count) -> SmallVector<Value> {
    ValueRange found = search.find(i);
    Value known = l.cmp(CmpIPredicate::ne, found[1], zero);
    Value fresh =
        l.andInt(l.xorInt(known, l.integerLike(known, 1)), l.cmp(CmpIPredicate::slt, count, limit));
    auto opened = b.create<scf::IfOp>(l.loc, fresh, false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(opened.thenBlock());
      table.write(found[0], l.add(count, one));
      store(*firsts, count, i);
    }
    Value number = l.pick(known, l.sub(found[1], one), l.pick(fresh, count, l.i64(-1)));
    return {number, l.add(count, b.create<arith::ExtUIOp>(l.loc, i64, fresh))};
  };
  Value count = carryLoop(site, zero, size, {zero}, [&](Value i, ValueRange state) {
    if (!op.getMask()) {
      SmallVector<Value> next = groupOf(i, state[0]);
      store(*slots, i, next[0]);
      return SmallVector<Value>{next[1]};
    }
    Value taken = l.cast(CastMode::value, emit(site, op.getMask(), {m.uniform(i)}), i1).value;
    auto choice = b.create<scf::IfOp>(l.loc, TypeRange{i64, i64}, taken, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(choice.thenBlock());
      b.create<scf::YieldOp>(l.loc, groupOf(i, state[0]));
      b.setInsertionPointToStart(choice.elseBlock());
      b.create<scf::YieldOp>(l.loc, ValueRange{l.i64(-1), state[0]});
    }
    store(*slots, i, choice.getResult(0));
    return SmallVector<Value>{choice.getResult(1)};
  })[0];
  m.store(*counted, {}, l.wrap(count, i64));
  return success();
}

namespace penstock::conversion {
void registerGroup(WholeOps &all);
}
void penstock::conversion::registerGroup(WholeOps &all) { all.add<GroupOp>(emitGroup); }
