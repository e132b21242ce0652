// SPDX-License-Identifier: Apache-2.0
//
// Reductions of groups.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static LogicalResult workOfReduceBy(const GpuSite &site, ReduceByOp op,
                                    SmallVector<GpuBuffer> &arrays) {
  Type i64 = site.ctx.b.getI64Type();
  GpuWork work(site, arrays);
  const GpuAxis groups{op.getResult(), typeOf(op.getValue()).axisIndex(op.getAxis())};
  work.add(i64, {}, site.ctx.launch.threads);
  for (int list = 0; list < 3; ++list)
    work.add(i64, groups);
  work.add(i64, {{op.getGroup(), 0}});
  return work.done();
}

/// Members are listed group after group, each list in order; each is then one
/// reduction.
static void reduceBy(const GpuSite &site, ReduceByOp op, ArrayRef<GpuBuffer> to,
                     ArrayRef<GpuBuffer> work) {
  auto [ctx, b, x, s] = site.parts();
  const GpuBuffer &counts = work[1], &taken = work[2], &starts = work[3], &members = work[4];
  NamedTensorType in = typeOf(op.getValue()), out = typeOf(op.getResult());
  const int64_t along = in.axisIndex(op.getAxis());
  Value size = extent(site, op.getGroup(), 0), groups = extent(site, op.getResult(), along);
  const std::string name = op.getAxis().str(), into = out.getAxes()[along].name;
  auto eachMember = [&](llvm::function_ref<void(Value, Value)> visit) {
    nest(site, {name}, size, "threads", [&](GpuIndices at) {
      Value group = x.toIndex(element(site, op.getGroup(), at));
      when(site, x.inside(group, groups), [&] { visit(at[0], group); });
    });
    barrier(site);
  };
  auto next = [&](const GpuBuffer &list, Value group) {
    return call(site, "pst_next", b.getI64Type(), {list.memory, group});
  };
  nest(site, {into}, groups, "threads", [&](GpuIndices at) {
    save(site, s.i64(0), counts, at);
    save(site, s.i64(0), taken, at);
  });
  barrier(site);
  eachMember([&](Value, Value group) { next(counts, group); });
  running(
      site, groups, work[0], [&](Value group) { return load(site, counts, group); },
      [&](Value group, Value before, Value) { save(site, before, starts, group); }, nullptr);
  eachMember([&](Value i, Value group) {
    Value place = s.binary(BinaryKind::add, load(site, starts, group), next(taken, group));
    save(site, x.toI64(i), members, x.toIndex(place));
  });
  nest(site, {into}, groups, "threads", [&](GpuIndices at) {
    call(site, "pst_sort", {}, {members.memory, load(site, starts, at), load(site, counts, at)});
  });
  barrier(site);

  const ReduceKind kind = op.getKind();
  Type computing =
      kind == ReduceKind::count ? Type(b.getI64Type()) : computeType(in.getElementType());
  over(site, op.getResult(), [&](GpuIndices at) {
    Value first = x.toIndex(load(site, starts, at[along])),
          count = x.toIndex(load(site, counts, at[along]));
    auto member = [&](Value i) {
      SmallVector<Value> from(at);
      from[along] = x.toIndex(load(site, members, x.add(first, i)));
      return s.cast(element(site, op.getValue(), from), computing);
    };
    Value whole;
    if (kind == ReduceKind::argmin || kind == ReduceKind::argmax)
      whole = branch(
          site, x.compare(CmpIPredicate::sgt, count, x.constant(0)), b.getI64Type(),
          [&] {
            // Of a group without numbers, the first.
            Value best = bestOf(site, kind, computing, x.constant(0), count, 1, member).first;
            best = s.binary(BinaryKind::max, best, s.i64(0));
            return load(site, members, x.add(first, x.toIndex(best)));
          },
          [&] { return s.i64(0); });
    else if (kind == ReduceKind::sum && llvm::isa<FloatType>(computing))
      whole = laneSum(site, computing, count, member);
    else
      whole = loop(site, x.constant(0), count, 1, startOf(site, kind, computing, count),
                   [&](Value i, ValueRange sofar) {
                     return SmallVector<Value>{combined(site, kind, sofar[0], member(i))};
                   })[0];
    save(site, s.cast(whole, out.getElementType()), to[0], at);
  });
}

namespace penstock::conversion {
void registerReduceBy(GpuWholeOps &all) { all.add<ReduceByOp>(workOfReduceBy, reduceBy); }
} // namespace penstock::conversion
