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
  /// By place: a group's number + 1, or 0; the words of its key. Those of the element at hand,
  /// where there is more than one.
  const Numbers table, keys, words;
  const Value zero, one, places, width;
  const bool isOneWord;
  OpBuilder &b = site.ctx.b;
  const Lanes &l = site.m.l;
  Type i64 = b.getI64Type();
  Value only{}; ///< the element's word, where that is all

  /// Has the key of element i at hand.
  void take(Value key, Value i, ArrayRef<Value> others) {
    auto word = [&](ArrayRef<Value> where) {
      SmallVector<Index> at{site.m.uniform(i)};
      for (Value index : where)
        at.push_back(site.m.uniform(index));
      return keys.cut(l.cast(CastMode::value, emit(site, key, at), i64).value);
    };
    if (isOneWord) {
      only = word({});
      return;
    }
    carriedNest(b, l, others, {zero}, [&](ArrayRef<Value> where, ValueRange state) {
      words.write(state[0], word(where));
      return SmallVector<Value>{l.add(state[0], one)};
    });
  }
  /// Carries a value through the words of the key at hand.
  Value overWords(Value init, llvm::function_ref<Value(Value place, Value word, Value)> body) {
    if (isOneWord)
      return body(zero, only, init);
    return carryLoop(site, zero, width, {init}, [&](Value j, ValueRange state) {
      return SmallVector<Value>{body(j, words.read(j), state[0])};
    })[0];
  }
  Value placeInKeys(Value place, Value j) {
    return isOneWord ? place : l.add(l.mul(place, width), j);
  }
  /// Where the search for the key at hand begins.
  Value firstPlace() {
    Value hash = overWords(zero, [&](Value, Value word, Value sofar) {
      return l.mul(l.xorInt(sofar, word), l.i64(static_cast<int64_t>(0x9E3779B97F4A7C15u)));
    });
    return l.shrU(l.mul(l.shrU(hash, 32), places), 32);
  }
  /// Number + 1 of the group that the key at hand belongs to, or 0, and the place in
  /// the table where the search ended.
  ValueRange find() {
    auto search = b.create<scf::WhileOp>(
        l.loc, TypeRange{i64, i64}, ValueRange{firstPlace(), zero},
        [&](OpBuilder &, Location, ValueRange state) {
          Value entry = table.read(state[0]);
          Value empty = l.cmp(CmpIPredicate::eq, entry, zero);
          Value equal = overWords(l.integerLike(empty, 1), [&](Value j, Value word, Value sofar) {
            Value theirs = keys.read(placeInKeys(state[0], j));
            return l.andInt(sofar, l.cmp(CmpIPredicate::eq, word, theirs));
          });
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
  /// The key at hand is that of group `count`, and stands there.
  void add(Value place, Value count) {
    table.write(place, l.add(count, one));
    (void)overWords(zero, [&](Value j, Value word, Value sofar) {
      keys.write(placeInKeys(place, j), word);
      return sofar;
    });
  }
  /// The group of the key at hand, that of element i, a new one where there is room; and how many
  /// there are.
  SmallVector<Value> groupOf(Value i, Value count, Value limit, const Buffer &firsts) {
    ValueRange found = find();
    Value known = l.cmp(CmpIPredicate::ne, found[1], zero);
    Value fresh =
        l.andInt(l.xorInt(known, l.integerLike(known, 1)), l.cmp(CmpIPredicate::slt, count, limit));
    auto opened = b.create<scf::IfOp>(l.loc, fresh, false);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(opened.thenBlock());
      add(found[0], count);
      site.m.store(firsts, {site.m.uniform(count)}, l.wrap(i, i64));
    }
    Value number = l.pick(known, l.sub(found[1], one), l.pick(fresh, count, l.i64(-1)));
    return {number, l.add(count, b.create<arith::ExtUIOp>(l.loc, i64, fresh))};
  }
};
} // namespace

/// A table with open addressing, twice as large as there may be groups: what finds an empty entry
/// and no room for another group belongs to none. Keys lie by place, too, so that a search touches
/// nothing that grows with the elements, and waits for its two loads at once.
static LogicalResult emitGroup(const Site &site, GroupOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType key = typeOf(op.getKey());
  SmallVector<TensorAxis> wordAxes, keyAxes{{op.getFirst(), 0}};
  SmallVector<Value> others;
  for (int64_t axis = 1; axis < key.getRank(); ++axis) {
    wordAxes.push_back({op.getKey(), axis});
    keyAxes.push_back({op.getKey(), axis});
    others.push_back(extent(site, op.getKey(), axis));
  }
  auto slots = bufferFor(site, op.getSlot()), firsts = bufferFor(site, op.getFirst()),
       counted = bufferFor(site, op.getCount());
  // As few bytes as will do: the search is faster where all of it stays in a near cache.
  const int64_t numberBytes = op.getLimit() < (uint64_t(1) << 31) ? 4 : 8;
  const int64_t wordBytes = scalarBytes(key.getElementType()) <= 4 ? 4 : 8;
  auto tableList = scratchBytes(site, 2 * numberBytes, {{op.getFirst(), 0}}),
       keyList = scratchBytes(site, 2 * wordBytes, keyAxes),
       wordList = scratchBytes(site, 8, wordAxes);
  if (failed(slots) || failed(firsts) || failed(counted) || failed(tableList) || failed(keyList) ||
      failed(wordList))
    return failure();
  Type i64 = b.getI64Type(), i1 = b.getI1Type();
  Value size = extent(site, op.getKey(), 0), room = extent(site, op.getFirst(), 0);
  Value limit = l.minS(l.i64(static_cast<int64_t>(op.getLimit())), room);
  Value zero = l.i64(0), one = l.i64(1), places = l.shl(room, 1), width = one;
  for (Value other : others)
    width = l.mul(width, other);
  auto store = [&](const Buffer &to, Value at, Value number) {
    m.store(to, {m.uniform(at)}, l.wrap(number, i64));
  };
  KeyTable search{site,
                  {l, m, *tableList, numberBytes},
                  {l, m, *keyList, wordBytes},
                  {l, m, *wordList},
                  zero,
                  one,
                  places,
                  width,
                  others.empty()};

  forLoop(site, zero, places, 1, [&](Value i) { search.table.write(i, zero); });
  forLoop(site, zero, room, 1, [&](Value i) { store(*firsts, i, zero); });
  Value count = carryLoop(site, zero, size, {zero}, [&](Value i, ValueRange state) {
    ctx.elements.clear();
    search.take(op.getKey(), i, others);
    if (!op.getMask()) {
      SmallVector<Value> next = search.groupOf(i, state[0], limit, *firsts);
      store(*slots, i, next[0]);
      return SmallVector<Value>{next[1]};
    }
    Value taken = l.cast(CastMode::value, emit(site, op.getMask(), {m.uniform(i)}), i1).value;
    auto choice = b.create<scf::IfOp>(l.loc, TypeRange{i64, i64}, taken, true);
    {
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(choice.thenBlock());
      b.create<scf::YieldOp>(l.loc, search.groupOf(i, state[0], limit, *firsts));
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
