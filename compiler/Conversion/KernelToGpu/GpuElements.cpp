// SPDX-License-Identifier: Apache-2.0
//
// The element of a tensor at given indices.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/Elements/Borders.h"
#include "compiler/Conversion/Elements/Gather.h"
#include "compiler/Conversion/Elements/Joins.h"
#include "compiler/Conversion/Elements/Points.h"
#include "compiler/Conversion/Elements/Resample.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/ThreadTarget.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static Value makeElement(const GpuSite &site, Value tensor, GpuIndices at);

Value penstock::conversion::element(const GpuSite &site, Value tensor, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  IndexMath::Key key{tensor.getAsOpaquePointer(), &ctx};
  for (Value index : at)
    key.push_back(index.getAsOpaquePointer());
  if (Value known = x.find(key))
    return known;
  const GpuSite there = site.of(tensor);
  const GpuBuffer *stored = site.bufferOf(tensor);
  Value made = stored ? load(there, *stored, at) : makeElement(there, tensor, at);
  return x.remember(key, made);
}

static Value makeElement(const GpuSite &site, Value tensor, GpuIndices at) {
  const ThreadTarget t{site};
  return llvm::TypeSwitch<Operation *, Value>(tensor.getDefiningOp())
      .Case<ViewOp, CastOp, ConstantOp, MapOp, PadOp, WindowOp, ConcatOp, StackOp, PlaceOp,
            GatherOp, ResampleOp>([&](auto op) { return elementOf(t, op, at); })
      .Case([&](ChooseOp op) {
        return elementOf(t, op, llvm::cast<OpResult>(tensor).getResultNumber(), at);
      })
      .Case([&](ReduceOp op) { return reduced(site, op, at); })
      .Default([&](Operation *) -> Value { llvm_unreachable("statement() admits no other"); });
}

//===--- constants ---------------------------------------------------------===//

/// A table of the module; equal ones are the same.
Value penstock::conversion::tableOf(const GpuSite &site, DenseElementsAttr elements, Type element) {
  auto [ctx, b, x, s] = site.parts();
  auto module = ctx.function->getParentOfType<ModuleOp>();
  const int64_t size = elements.getNumElements();
  // Tables are told apart by content and type.
  auto content = DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get({size}, elements.getElementType()), elements.getRawData());
  auto memory = MemRefType::get({size}, element);
  memref::GlobalOp global;
  int64_t count = 0;
  for (auto present : module.getOps<memref::GlobalOp>()) {
    ++count;
    if (elementsOf(present) == content && present.getType() == memory)
      global = present;
  }
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    global = b.create<memref::GlobalOp>(site.loc, b.getStringAttr("table" + std::to_string(count)),
                                        b.getStringAttr("private"), TypeAttr::get(memory),
                                        Attribute(), b.getUnitAttr(), IntegerAttr());
    setElements(global, content);
  }
  return b.create<memref::GetGlobalOp>(site.loc, memory, global.getSymName());
}
