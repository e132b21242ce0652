//===- Group.cpp - selection by mask, groups by key -----------------===//

#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
/// i64 numbers in scratch.
struct Numbers {
  Lanes &l;
  Memory &m;
  Value start;

  Value read(Value index) const { return m.loadPlain(l.b.getI64Type(), place(index)); }
  void write(Value index, Value number) const { m.storePlain(number, place(index)); }
  Value place(Value index) const { return m.address(start, l.shl(index, 3)); }
};
} // namespace

/// Places that the mask keeps are listed without a branch: each is written, and
/// stays if the list grows.
static LogicalResult emitCompact(const Site &site, CompactOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  const int64_t axis = type.axisIndex(op.getAxis());
  auto buffer = bufferFor(site, op.getResult()), counted = bufferFor(site, op.getCount());
  auto list = scratchBytes(site, 8, {{op.getMask(), 0}});
  if (failed(buffer) || failed(counted) || failed(list))
    return failure();
  const Numbers kept{l, m, *list};
  Value count = carryLoop(site, l.i64(0), extent(site, op.getMask(), 0), {l.i64(0)}, [&](Value i, ValueRange state) {
    kept.write(state[0], i);
    LaneValue keep = l.cast(CastMode::value, emit(site, op.getMask(), {m.uniform(i)}), b.getI64Type());
    return SmallVector<Value>{l.add(state[0], keep.value)};
  })[0];
  m.store(*counted, {}, l.wrap(count, b.getI64Type()));

  SmallVector<Value> others;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      others.push_back(extent(site, op.getResult(), i));
  auto each = [&](Value from, Value to, llvm::function_ref<LaneValue(Value, SmallVector<Index>)> element) {
    forLoop(site, from, to, 1, [&](Value place) {
      carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
        SmallVector<Index> at;
        for (Value index : where)
          at.push_back(m.uniform(index));
        at.insert(at.begin() + axis, m.uniform(place));
        m.store(*buffer, at, element(place, at));
        return SmallVector<Value>{};
      });
    });
  };
  Value room = extent(site, op.getResult(), axis), end = l.minS(count, room);
  each(l.i64(0), end, [&](Value place, SmallVector<Index> at) {
    at[axis] = m.uniform(kept.read(place));
    return emit(site, op.getValue(), at);
  });
  LaneValue zero = l.cast(CastMode::value, l.wrap(l.i64(0), b.getI64Type()), type.getElementType());
  each(end, room, [&](Value, SmallVector<Index>) { return zero; });
  return success();
}

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
  auto slots = bufferFor(site, op.getSlot()), firsts = bufferFor(site, op.getFirst()), counted = bufferFor(site, op.getCount());
  auto keyList = scratchBytes(site, 8, axes), tableList = scratchBytes(site, 16, {{op.getKey(), 0}});
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

  /// Where the search for a key begins.
  auto placeOf = [&](Value i) -> Value {
    Value hash = carryLoop(site, zero, width, {zero}, [&](Value j, ValueRange state) {
      Value word = keys.read(l.add(l.mul(i, width), j));
      return SmallVector<Value>{
          l.mul(l.xorInt(state[0], word), l.i64(static_cast<int64_t>(0x9E3779B97F4A7C15u)))};
    })[0];
    return l.shrU(l.mul(l.shrU(hash, 32), places), 32);
  };
  /// Number + 1 of the group that element i belongs to, or 0, and the place in
  /// the table where the search ended.
  auto find = [&](Value i) -> ValueRange {
    auto search = b.create<scf::WhileOp>(
        l.loc, TypeRange{i64, i64}, ValueRange{placeOf(i), zero},
        [&](OpBuilder &, Location, ValueRange state) {
          Value entry = table.read(state[0]);
          Value empty = l.cmp(CmpIPredicate::eq, entry, zero);
          Value group = l.maxS(l.sub(entry, one), zero);
          Value leader = m.load(*firsts, {m.uniform(group)}).value;
          Value equal = carryLoop(site, zero, width, {l.integerLike(empty, 1)}, [&](Value j, ValueRange sofar) {
            Value mine = keys.read(l.add(l.mul(i, width), j));
            Value theirs = keys.read(l.add(l.mul(leader, width), j));
            return SmallVector<Value>{l.andInt(sofar[0], l.cmp(CmpIPredicate::eq, mine, theirs))};
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
  };

  Value limit = l.minS(l.i64(static_cast<int64_t>(op.getLimit())), extent(site, op.getFirst(), 0));
  /// The group of element i, a new one where there is room; and how many there are.
  auto groupOf = [&](Value i, Value count) -> SmallVector<Value> {
    ValueRange found = find(i);
    Value known = l.cmp(CmpIPredicate::ne, found[1], zero);
    Value fresh = l.andInt(l.xorInt(known, l.integerLike(known, 1)), l.cmp(CmpIPredicate::slt, count, limit));
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

/// Members are listed group after group (a counting sort, so in their order);
/// each list is then one reduction.
static LogicalResult emitReduceBy(const Site &site, ReduceByOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  const int64_t axis = in.axisIndex(op.getAxis());
  auto buffer = bufferFor(site, op.getResult());
  auto endList = scratchBytes(site, 8, {{op.getResult(), axis}}); // one more lies in what is behind it
  auto memberList = scratchBytes(site, 8, {{op.getGroup(), 0}});
  Type element = computeType(in.getElementType());
  auto partial = scratchBytes(site, penstock::scalar::reductionLanes * scalarBytes(element), {});
  if (failed(buffer) || failed(endList) || failed(memberList) || failed(partial))
    return failure();
  const Numbers ends{l, m, *endList}, members{l, m, *memberList};
  Value zero = l.i64(0), one = l.i64(1);
  Value size = extent(site, op.getGroup(), 0), groups = extent(site, op.getResult(), axis);
  auto eachMember = [&](llvm::function_ref<void(Value, Value)> visit) {
    forLoop(site, zero, size, 1, [&](Value i) {
      Value group = emit(site, op.getGroup(), {m.uniform(i)}).value;
      Value inside = l.andInt(l.cmp(CmpIPredicate::sge, group, zero), l.cmp(CmpIPredicate::slt, group, groups));
      auto choice = b.create<scf::IfOp>(l.loc, inside, false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(choice.thenBlock());
      visit(i, group);
    });
  };
  // First `ends` counts one place further on, then it says where lists begin,
  // and filling them leaves where they end.
  forLoop(site, zero, l.add(groups, one), 1, [&](Value i) { ends.write(i, zero); });
  eachMember([&](Value, Value group) {
    Value next = l.add(group, one);
    ends.write(next, l.add(ends.read(next), one));
  });
  forLoop(site, zero, groups, 1, [&](Value i) {
    Value next = l.add(i, one);
    ends.write(next, l.add(ends.read(next), ends.read(i)));
  });
  eachMember([&](Value i, Value group) {
    Value place = ends.read(group);
    members.write(place, i);
    ends.write(group, l.add(place, one));
  });

  const ReduceKind kind = op.getKind();
  auto vector = VectorType::get({penstock::scalar::reductionLanes}, element);
  const bool floatSum = kind == ReduceKind::sum && llvm::isa<FloatType>(element);
  const bool isPlace = kind == ReduceKind::argmin || kind == ReduceKind::argmax;
  const int64_t bytes = scalarBytes(element);
  auto reduced = [&](SmallVector<Index> at, Value from, Value to) -> LaneValue {
    auto read = [&](Value place) {
      at[axis] = m.uniform(members.read(place));
      return l.cast(CastMode::value, emit(site, op.getValue(), at), element);
    };
    if (isPlace) {
      LaneValue none = worstRank(l, element);
      Value best = carryLoop(site, from, to, {l.i64(0), none.value}, [&](Value place, ValueRange state) {
        LaneValue value = rankOf(l, kind, read(place));
        Value better = l.orInt(isBetter(l, value, l.wrap(state[1], none.type)),
                               l.cmp(CmpIPredicate::eq, place, from));
        return SmallVector<Value>{l.pick(better, members.read(place), state[0]),
                                  l.pick(better, value.value, state[1])};
      })[0];
      return l.wrap(best, b.getI64Type());
    }
    if (!floatSum) {
      Type sumType = kind == ReduceKind::count ? Type(b.getI64Type()) : element;
      Value all = carryLoop(site, from, to, {neutral(l, kind, sumType).value}, [&](Value place, ValueRange state) {
        return SmallVector<Value>{combined(l, kind, l.wrap(state[0], sumType), read(place)).value};
      })[0];
      return l.wrap(all, sumType);
    }
    m.storePlain(b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(vector)), *partial);
    forLoop(site, from, to, 1, [&](Value place) {
      Value lane = l.andInt(l.sub(place, from), l.i64(penstock::scalar::reductionLanes - 1));
      Value sum = m.address(*partial, l.mul(lane, l.i64(bytes)));
      LaneValue sofar = l.wrap(m.loadPlain(element, sum), element);
      m.storePlain(l.binary(BinaryKind::add, sofar, read(place)).value, sum);
    });
    return sumOfLanes(site, m.loadPlain(vector, *partial), element);
  };
  SmallVector<Value> others;
  for (int64_t i = 0; i < in.getRank(); ++i)
    if (i != axis)
      others.push_back(extent(site, op.getValue(), i));
  carryLoop(site, zero, groups, {zero}, [&](Value group, ValueRange state) {
    Value end = ends.read(group);
    carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
      SmallVector<Index> at;
      for (Value index : where)
        at.push_back(m.uniform(index));
      at.insert(at.begin() + axis, m.uniform(group));
      m.store(*buffer, at, l.cast(CastMode::value, reduced(at, state[0], end), out.getElementType()));
      return SmallVector<Value>{};
    });
    return SmallVector<Value>{end};
  });
  return success();
}

namespace penstock::conversion {
void registerGroup(WholeOps &all);
}
void penstock::conversion::registerGroup(WholeOps &all) {
  all.add<CompactOp>(emitCompact);
  all.add<GroupOp>(emitGroup);
  all.add<ReduceByOp>(emitReduceBy);
}
