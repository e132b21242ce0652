// SPDX-License-Identifier: Apache-2.0
//
// Reductions of groups.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Numbers.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Lists members group after group (a counting sort, so in their order), and where each list ends.
static void listMembers(const Site &site, ReduceByOp op, const Numbers &ends,
                        const Numbers &members, Value zero, Value one, Value size, Value groups) {
  auto [ctx, b, l, m] = site.parts();
  auto eachMember = [&](llvm::function_ref<void(Value, Value)> visit) {
    forLoop(site, zero, size, 1, [&](Value i) {
      Value group = emit(site, op.getGroup(), {m.uniform(i)}).value;
      Value inside = l.andInt(l.cmp(CmpIPredicate::sge, group, zero),
                              l.cmp(CmpIPredicate::slt, group, groups));
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
}

/// Each list is one reduction.
static LogicalResult emitReduceBy(const Site &site, ReduceByOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  const int64_t axis = in.axisIndex(op.getAxis());
  auto buffer = bufferFor(site, op.getResult());
  auto endList =
      scratchBytes(site, 8, {{op.getResult(), axis}}); // one more lies in what is behind it
  auto memberList = scratchBytes(site, 8, {{op.getGroup(), 0}});
  Type element = computeType(in.getElementType());
  auto partial = scratchBytes(site, penstock::scalar::reductionLanes * scalarBytes(element), {});
  if (failed(buffer) || failed(endList) || failed(memberList) || failed(partial))
    return failure();
  const Numbers ends{l, m, *endList}, members{l, m, *memberList};
  Value zero = l.i64(0), one = l.i64(1);
  Value size = extent(site, op.getGroup(), 0), groups = extent(site, op.getResult(), axis);
  listMembers(site, op, ends, members, zero, one, size, groups);

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
      Value best =
          carryLoop(site, from, to, {l.i64(0), none.value}, [&](Value place, ValueRange state) {
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
      Value all = neutral(l, kind, sumType).value;
      if (const bool extreme = kind == ReduceKind::min || kind == ReduceKind::max;
          extreme && llvm::isa<FloatType>(element)) // any number takes the place of a NaN
        all = l.pick(l.cmp(CmpIPredicate::slt, from, to),
                     l.floatLike(all, std::numeric_limits<double>::quiet_NaN()), all);
      all = carryLoop(site, from, to, {all}, [&](Value place, ValueRange state) {
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
      m.store(*buffer, at,
              l.cast(CastMode::value, reduced(at, state[0], end), out.getElementType()));
      return SmallVector<Value>{};
    });
    return SmallVector<Value>{end};
  });
  return success();
}

namespace penstock::conversion {
void registerReduceBy(WholeOps &all);
}
void penstock::conversion::registerReduceBy(WholeOps &all) { all.add<ReduceByOp>(emitReduceBy); }
