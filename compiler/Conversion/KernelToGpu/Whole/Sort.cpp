// SPDX-License-Identifier: Apache-2.0
//
// Orders.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Every element counts those that come before it: no thread waits for another.
static void sort(const GpuSite &site, SortOp op, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getValue());
  const int64_t along = type.axisIndex(op.getAxis());
  Type computing = computeType(type.getElementType());
  over(site, op.getValue(), [&](GpuIndices at) {
    Value mine = s.cast(element(site, op.getValue(), at), computing);
    Value rank = loop(site, x.constant(0), extent(site, op.getValue(), along), 1,
                      s.zero(b.getI64Type()), [&](Value i, ValueRange sofar) {
                        SmallVector<Value> from(at);
                        from[along] = i;
                        Value other = s.cast(element(site, op.getValue(), from), computing);
                        Value isEarlier = x.compare(CmpIPredicate::slt, i, at[along]);
                        Value before =
                            call(site, "pst_before", b.getI1Type(), {other, mine, isEarlier});
                        return SmallVector<Value>{
                            s.binary(BinaryKind::add, sofar[0], s.cast(before, b.getI64Type()))};
                      })[0];
    SmallVector<Value> place(at);
    place[along] = x.toIndex(rank);
    save(site, x.toI64(at[along]), to, place);
  });
}

namespace penstock::conversion {
void registerSort(GpuWholeOps &all) { all.add<SortOp>(sort); }
} // namespace penstock::conversion
