// SPDX-License-Identifier: Apache-2.0
//
// Selection by mask.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static LogicalResult workOfCompact(const GpuSite &site, CompactOp op,
                                   SmallVector<GpuBuffer> &arrays) {
  Type i64 = site.ctx.b.getI64Type();
  GpuWork work(site, arrays);
  work.add(i64, {}, site.ctx.launch.threads);
  work.add(i64, GpuWork::axesOf(op.getMask()));
  return work.done();
}

/// First the places that the mask keeps, then what lies there.
static void compact(const GpuSite &site, CompactOp op, ArrayRef<GpuBuffer> to,
                    ArrayRef<GpuBuffer> work) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  const int64_t along = type.axisIndex(op.getAxis());
  const GpuBuffer &kept = work[1], &count = to[1];
  running(
      site, extent(site, op.getMask(), 0), work[0],
      [&](Value i) { return s.cast(element(site, op.getMask(), i), b.getI64Type()); },
      [&](Value i, Value before, Value keeps) {
        when(site, s.isTrue(keeps), [&] { save(site, x.toI64(i), kept, x.toIndex(before)); });
      },
      [&](Value whole) { save(site, whole, count, {}); });
  over(site, op.getResult(), [&](GpuIndices at) {
    Value exists = x.compare(CmpIPredicate::slt, at[along], x.toIndex(load(site, count, {})));
    Value value = branch(
        site, exists, type.getElementType(),
        [&] {
          SmallVector<Value> from(at);
          from[along] = x.toIndex(load(site, kept, at[along]));
          return element(site, op.getValue(), from);
        },
        [&] { return s.zero(type.getElementType()); });
    save(site, value, to[0], at);
  });
}

namespace penstock::conversion {
void registerCompact(GpuWholeOps &all) { all.add<CompactOp>(workOfCompact, compact); }
} // namespace penstock::conversion
