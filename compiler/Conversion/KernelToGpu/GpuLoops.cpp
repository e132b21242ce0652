// SPDX-License-Identifier: Apache-2.0
//
// Nests, loops, branches and memory.
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

//===--- memory ------------------------------------------------------------===//

Value penstock::conversion::elementOffset(const GpuSite &site, const GpuBuffer &buffer,
                                          GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  Value offset = x.constant(buffer.before);
  for (auto [axis, index] : llvm::enumerate(at)) {
    Value low = buffer.origin.empty() ? Value() : buffer.origin[axis];
    offset = x.add(offset, x.mul(low ? x.sub(index, low) : index, buffer.strides[axis]));
  }
  return offset;
}

Value penstock::conversion::load(const GpuSite &site, const GpuBuffer &buffer, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  return b.create<memref::LoadOp>(site.loc, buffer.memory, elementOffset(site, buffer, at));
}

void penstock::conversion::save(const GpuSite &site, Value value, const GpuBuffer &buffer,
                                GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  b.create<memref::StoreOp>(site.loc, value, buffer.memory, elementOffset(site, buffer, at));
}

Value penstock::conversion::extent(const GpuSite &site, Value tensor, int64_t axis) {
  auto [ctx, b, x, s] = site.parts();
  if (auto known = ctx.argumentExtents.find(tensor); known != ctx.argumentExtents.end())
    return known->second[axis];
  OpFoldResult size = extentOf(tensor, axis);
  if (auto value = llvm::dyn_cast_if_present<Value>(size))
    return asIndex(site, value);
  if (auto attribute = llvm::dyn_cast_if_present<Attribute>(size))
    return x.constant(llvm::cast<IntegerAttr>(attribute).getInt());
  // Tensors that a loop carries keep their extents.
  auto argument = llvm::cast<BlockArgument>(tensor);
  auto around = llvm::cast<RepeatOp>(argument.getOwner()->getParentOp());
  return extent(site, around.getResult(argument.getArgNumber() - 1), axis);
}

//===--- nests -------------------------------------------------------------===//

void penstock::conversion::nest(const GpuSite &site, ArrayRef<std::string> axes,
                                ArrayRef<Value> extents, StringRef workers,
                                llvm::function_ref<void(GpuIndices)> body) {
  auto [ctx, b, x, s] = site.parts();
  SmallVector<Value> lower(extents.size(), x.constant(0)), upper(extents),
      step(extents.size(), x.constant(1));
  SmallVector<StringRef> names(axes.begin(), axes.end());
  const bool isPoint = extents.empty(); // scf.parallel needs an axis
  if (isPoint) {
    lower = {x.constant(0)};
    upper = step = {x.constant(1)};
    names = {"one"};
  }
  auto loops = b.create<scf::ParallelOp>(site.loc, lower, upper, step);
  // Elements that fit shared memory, or are written from it, are few.
  setNest(loops, {names, workers, workers == "block"});
  OpBuilder::InsertionGuard guard(b);
  IndexMath::Scope scope(x);
  b.setInsertionPoint(loops.getBody()->getTerminator());
  SmallVector<Value> at(loops.getInductionVars());
  body(isPoint ? GpuIndices() : GpuIndices(at));
}

void penstock::conversion::over(const GpuSite &site, Value tensor,
                                llvm::function_ref<void(GpuIndices)> body) {
  NamedTensorType type = typeOf(tensor);
  SmallVector<std::string> axes;
  SmallVector<Value> extents;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    axes.push_back(type.getAxes()[axis].name);
    extents.push_back(extent(site, tensor, axis));
  }
  nest(site, axes, extents, "threads", body);
}

/// Boxes of elements, each by a thread.
static void fillBoxes(const GpuSite &site, Value tensor, const GpuBuffer &to, const GpuPart &part) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(tensor);
  const SmallVector<int64_t> counts = part.isSingle || stripAxisOf(tensor) >= 0
                                          ? SmallVector<int64_t>(type.getRank(), 1)
                                          : vectorOf(tensor);
  SmallVector<std::string> names;
  SmallVector<Value> extents, first(type.getRank(), x.constant(0));
  SmallVector<int64_t> axes; // that there is a loop over
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const Axis &a = type.getAxes()[axis];
    Value count = part.count.empty() ? Value() : part.count[axis];
    if (count)
      first[axis] = part.low[axis];
    if (axis == 0 && ctx.part && part.count.empty()) {
      first[axis] = ctx.part;
      continue;
    }
    if ((counts[axis] > 1 && a.extent == counts[axis]) ||
        (count && IndexMath::constantOf(count) == 1))
      continue;
    axes.push_back(axis);
    names.push_back(a.name);
    extents.push_back(count               ? count
                      : counts[axis] == 1 ? extent(site, tensor, axis)
                                          : x.constant(a.extent / counts[axis]));
  }
  nest(site, names, extents, part.count.empty() ? "threads" : "block", [&](GpuIndices numbers) {
    SmallVector<Value> at(first);
    for (auto [axis, number] : llvm::zip(axes, numbers)) {
      at[axis] = x.add(first[axis], x.mul(number, x.constant(counts[axis])));
      if (counts[axis] > 1)
        ctx.multiples[at[axis]] = counts[axis];
    }
    save(site, elements(site, tensor, at, counts), to, at, counts);
  });
}

void penstock::conversion::fill(const GpuSite &around, Value tensor, const GpuBuffer &to,
                                const GpuPart &part) {
  const GpuSite site = around.of(tensor);
  if (part.count.empty() && fillStrips(site, tensor, to))
    return;
  fillBoxes(site, tensor, to, part);
}

void penstock::conversion::barrier(const GpuSite &site) {
  site.ctx.b.create<gpu::BarrierOp>(site.loc);
}

//===--- control -----------------------------------------------------------===//

SmallVector<Value>
penstock::conversion::loop(const GpuSite &site, Value low, Value high, int64_t step,
                           ValueRange inits,
                           llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto [ctx, b, x, s] = site.parts();
  auto op = b.create<scf::ForOp>(site.loc, low, high, x.constant(step), inits);
  OpBuilder::InsertionGuard guard(b);
  IndexMath::Scope scope(x);
  if (!op.getBody()->empty())
    op.getBody()->back().erase();
  b.setInsertionPointToEnd(op.getBody());
  SmallVector<Value> next = body(op.getInductionVar(), op.getRegionIterArgs());
  b.create<scf::YieldOp>(site.loc, next);
  return SmallVector<Value>(op.getResults());
}

void penstock::conversion::when(const GpuSite &site, Value condition,
                                llvm::function_ref<void()> body) {
  auto [ctx, b, x, s] = site.parts();
  auto op = b.create<scf::IfOp>(site.loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  IndexMath::Scope scope(x);
  b.setInsertionPointToStart(op.thenBlock());
  body();
}

Value penstock::conversion::branch(const GpuSite &site, Value condition, Type type,
                                   llvm::function_ref<Value()> yes,
                                   llvm::function_ref<Value()> no) {
  auto [ctx, b, x, s] = site.parts();
  if (auto known = IndexMath::constantOf(condition))
    return *known ? yes() : no();
  auto op = b.create<scf::IfOp>(site.loc, type, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  auto side = [&](Block *block, llvm::function_ref<Value()> make) {
    IndexMath::Scope scope(x);
    b.setInsertionPointToStart(block);
    Value value = make();
    b.create<scf::YieldOp>(site.loc, value);
  };
  side(op.thenBlock(), yes);
  side(op.elseBlock(), no);
  return op.getResult(0);
}

SmallVector<Value>
penstock::conversion::oneOf(const GpuSite &site, Value index, int64_t count, TypeRange types,
                            llvm::function_ref<SmallVector<Value>(int64_t)> arm) {
  auto [ctx, b, x, s] = site.parts();
  if (auto known = IndexMath::constantOf(index))
    return arm(std::clamp<int64_t>(*known, 0, count - 1));
  if (count == 1)
    return arm(0);
  SmallVector<int64_t> cases;
  for (int64_t number = 0; number + 1 < count; ++number)
    cases.push_back(number);
  auto op = b.create<scf::IndexSwitchOp>(site.loc, types, x.max(index, x.constant(0)), cases,
                                         cases.size());
  OpBuilder::InsertionGuard guard(b);
  for (int64_t number = 0; number < count; ++number) {
    Region &region = number + 1 < count ? op.getCaseRegions()[number] : op.getDefaultRegion();
    IndexMath::Scope scope(x);
    b.setInsertionPointToStart(&region.emplaceBlock());
    SmallVector<Value> values = arm(number);
    b.create<scf::YieldOp>(site.loc, values);
  }
  return SmallVector<Value>(op.getResults());
}

/// One declaration for each name and type of operands.
Value penstock::conversion::call(const GpuSite &site, StringRef name, Type result,
                                 ValueRange operands) {
  auto [ctx, b, x, s] = site.parts();
  auto module = ctx.function->getParentOfType<ModuleOp>();
  auto type = b.getFunctionType(operands.getTypes(), result ? TypeRange(result) : TypeRange());
  std::string symbol = name.str();
  for (func::FuncOp present : module.getOps<func::FuncOp>())
    if (deviceNameOf(present) == b.getStringAttr(name)) {
      if (present.getFunctionType() == type) {
        auto made = b.create<func::CallOp>(site.loc, present, operands);
        return result ? made.getResult(0) : Value();
      }
      symbol += "_";
    }
  auto declared = OpBuilder::atBlockBegin(module.getBody())
                      .create<func::FuncOp>(b.getUnknownLoc(), symbol, type);
  declared.setPrivate();
  setDeviceName(declared, b.getStringAttr(name));
  return call(site, name, result, operands);
}

/// A pure function of indices.
Value penstock::conversion::movedBy(const GpuSite &site, StringRef name, Value index, Value size) {
  auto [ctx, b, x, s] = site.parts();
  const IndexMath::Key key{b.getStringAttr(name).getAsOpaquePointer(), index.getAsOpaquePointer(),
                           size.getAsOpaquePointer()};
  if (Value known = x.find(key))
    return known;
  return x.remember(key, call(site, name, b.getIndexType(), {index, size}));
}
