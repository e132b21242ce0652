// SPDX-License-Identifier: Apache-2.0
//
// Counts.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static void histogram(const GpuSite &site, HistogramOp op, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getValue()), result = typeOf(op.getResult());
  Value bins = extent(site, op.getResult(), result.getRank() - 1);
  over(site, op.getResult(), [&](GpuIndices at) { save(site, s.zero(b.getI32Type()), to, at); });
  barrier(site);
  over(site, op.getValue(), [&](GpuIndices at) {
    Value key = x.toIndex(s.cast(element(site, op.getValue(), at), b.getI64Type()));
    SmallVector<Value> bin;
    for (auto [axis, index] : llvm::zip(type.getAxes(), at))
      if (!llvm::is_contained(op.getOver().getAsRange<StringAttr>(), StringRef(axis.name)))
        bin.push_back(index);
    bin.push_back(key);
    when(site, x.inside(key, bins), [&] {
      b.create<memref::AtomicRMWOp>(site.loc, arith::AtomicRMWKind::addi,
                                    b.create<arith::ConstantIntOp>(site.loc, 1, 32), to.memory,
                                    elementOffset(site, to, bin));
    });
  });
}

namespace penstock::conversion {
void registerHistogram(GpuWholeOps &all) { all.add<HistogramOp>(histogram); }
} // namespace penstock::conversion
