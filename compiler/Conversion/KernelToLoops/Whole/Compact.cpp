// SPDX-License-Identifier: Apache-2.0
//
// Selection by mask.
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
  Value count = carryLoop(
      site, l.i64(0), extent(site, op.getMask(), 0), {l.i64(0)}, [&](Value i, ValueRange state) {
        kept.write(state[0], i);
        LaneValue keep =
            l.cast(CastMode::value, emit(site, op.getMask(), {m.uniform(i)}), b.getI64Type());
        return SmallVector<Value>{l.add(state[0], keep.value)};
      })[0];
  m.store(*counted, {}, l.wrap(count, b.getI64Type()));

  SmallVector<Value> others;
  for (int64_t i = 0; i < type.getRank(); ++i)
    if (i != axis)
      others.push_back(extent(site, op.getResult(), i));
  auto each = [&](Value from, Value to,
                  llvm::function_ref<LaneValue(Value, SmallVector<Index>)> element) {
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

namespace penstock::conversion {
void registerCompact(WholeOps &all);
}
void penstock::conversion::registerCompact(WholeOps &all) { all.add<CompactOp>(emitCompact); }
