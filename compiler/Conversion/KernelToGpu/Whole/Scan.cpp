// SPDX-License-Identifier: Apache-2.0
//
// Along an axis.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static void scan(const GpuSite &site, ScanOp op, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getValue());
  const int64_t along = type.axisIndex(op.getAxis());
  Type computing = computeType(type.getElementType());
  SmallVector<std::string> names;
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (axis == along)
      continue;
    names.push_back(type.getAxes()[axis].name);
    extents.push_back(extent(site, op.getValue(), axis));
  }
  nest(site, names, extents, "threads", [&](GpuIndices outer) {
    const bool isMax = op.getKind() == ScanKind::max;
    Value start =
        startOf(site, isMax ? ReduceKind::max : ReduceKind::sum, computing, x.constant(1));
    Value factor;
    if (op.getFactor())
      factor = s.cast(scalarOf(site, op.getFactor()), computing);
    loop(site, x.constant(0), extent(site, op.getValue(), along), 1, start,
         [&](Value i, ValueRange sofar) {
           SmallVector<Value> at(outer);
           at.insert(at.begin() + along, i);
           Value next = s.cast(element(site, op.getValue(), at), computing);
           if (op.getFactors())
             factor = element(site, op.getFactors(), at);
           Value sum =
               factor ? s.binary(BinaryKind::add, next, s.binary(BinaryKind::mul, factor, sofar[0]))
                      : combined(site, isMax ? ReduceKind::max : ReduceKind::sum, sofar[0], next);
           save(site, s.cast(sum, type.getElementType()), to, at);
           return SmallVector<Value>{sum};
         });
  });
}

namespace penstock::conversion {
void registerScan(GpuWholeOps &all) { all.add<ScanOp>(scan); }
} // namespace penstock::conversion
