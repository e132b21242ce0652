// SPDX-License-Identifier: Apache-2.0
//
// Ranks in groups: each group belongs to one thread.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static LogicalResult workOfRankBy(const GpuSite &site, RankByOp op,
                                  SmallVector<GpuBuffer> &arrays) {
  GpuWork work(site, arrays);
  work.add(site.ctx.b.getI64Type(), GpuWork::axesOf(op.getGroup()));
  return work.done();
}

static void rankBy(const GpuSite &site, RankByOp op, ArrayRef<GpuBuffer> results,
                   ArrayRef<GpuBuffer> work) {
  auto [ctx, b, x, s] = site.parts();
  const GpuBuffer &to = results[0], &counts = work[0];
  Value size = extent(site, op.getGroup(), 0);
  over(site, op.getGroup(), [&](ArrayRef<Value> at) {
    save(site, s.i64(0), counts, at);
    save(site, s.i64(-1), to, at);
  });
  barrier(site);
  nest(site, {"run"}, x.constant(ctx.launch.threads), "threads", [&](ArrayRef<Value> run) {
    loop(site, x.constant(0), size, 1, {}, [&](Value i, ValueRange) {
      Value group = x.toIndex(element(site, op.getGroup(), i));
      when(site, x.both(x.inside(group, size), isOwn(site, group, run[0])), [&] {
        Value count = load(site, counts, group);
        save(site, count, to, i);
        save(site, s.binary(BinaryKind::add, count, s.i64(1)), counts, group);
      });
      return SmallVector<Value>{};
    });
  });
}

namespace penstock::conversion {
void registerRankBy(GpuWholeOps &all) { all.add<RankByOp>(workOfRankBy, rankBy); }
} // namespace penstock::conversion
