// SPDX-License-Identifier: Apache-2.0
//
// Ops that are computed whole, by the threads of a block.
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace penstock::conversion {
#define WHOLE_OP(Name) void register##Name(GpuWholeOps &all);
#include "compiler/Conversion/KernelToGpu/WholeOps.inc"
#undef WHOLE_OP
} // namespace penstock::conversion

GpuWholeOps GpuWholeOps::all() {
  GpuWholeOps all;
#define WHOLE_OP(Name) register##Name(all);
#include "compiler/Conversion/KernelToGpu/WholeOps.inc"
#undef WHOLE_OP
  return all;
}

const GpuWholeOps::Whole *GpuWholeOps::find(Operation *op) const {
  auto found = known.find(op->getName().getStringRef());
  return found == known.end() ? nullptr : &found->second;
}

void GpuWork::add(Type element, ArrayRef<GpuAxis> axes, int64_t each) {
  auto made = scratchArray(site, element, axes, each);
  fits &= succeeded(made);
  if (succeeded(made))
    arrays.push_back(*made);
}

SmallVector<GpuAxis> GpuWork::axesOf(Value tensor, StringRef without) {
  SmallVector<GpuAxis> axes;
  for (auto [number, axis] : llvm::enumerate(typeOf(tensor).getAxes()))
    if (axis.name != without)
      axes.push_back({tensor, static_cast<int64_t>(number)});
  return axes;
}

Value penstock::conversion::isOwn(const GpuSite &site, Value place, Value thread) {
  auto [ctx, b, x, s] = site.parts();
  Value count = x.constant(ctx.launch.threads);
  Value rest = x.sub(place, x.mul(x.floorDiv(place, count), count));
  return x.compare(arith::CmpIPredicate::eq, rest, thread);
}
