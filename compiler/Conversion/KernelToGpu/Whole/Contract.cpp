// SPDX-License-Identifier: Apache-2.0
//
// Matrix products.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static void contract(const GpuSite &site, ContractOp op, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getValue()), matrix = typeOf(op.getMatrix());
  const int64_t along = type.axisIndex(matrix.getAxes()[0].name);
  over(site, op.getResult(), [&](GpuIndices at) {
    auto product = [&](Value i) {
      SmallVector<Value> from(at);
      from[along] = i;
      return s.binary(BinaryKind::mul, element(site, op.getValue(), from),
                      element(site, op.getMatrix(), {i, at[along]}));
    };
    save(site, laneSum(site, type.getElementType(), extent(site, op.getMatrix(), 0), product), to,
         at);
  });
}

namespace penstock::conversion {
void registerContract(GpuWholeOps &all) { all.add<ContractOp>(contract); }
} // namespace penstock::conversion
