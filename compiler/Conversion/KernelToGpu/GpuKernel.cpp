// SPDX-License-Identifier: Apache-2.0
//
// The ops of a kernel, one after the other.
#include "compiler/Conversion/KernelToGpu/GpuKernel.h"
#include "compiler/Analysis/InPlace.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "compiler/Conversion/KernelToGpu/GpuTiles.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuWhole.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi/kernel.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

//===--- the body ----------------------------------------------------------===//

static LogicalResult statement(const GpuSite &around, Operation &op);
static LogicalResult store(const GpuSite &site, Operation &op);
static LogicalResult choose(const GpuSite &site, ChooseOp op);
static LogicalResult repeat(const GpuSite &site, RepeatOp op);
static LogicalResult check(const GpuSite &site, CheckOp op);
static LogicalResult finish(const GpuSite &site, ReturnOp op);

/// What is stored over what is read has to be so.
static LogicalResult checkHeld(KernelOp kernel) {
  const auto held = heldBy(kernel);
  if (kernel.getSchedule()->contains("part")) {
    Value output = kernel.getBody().front().getTerminator()->getOperand(0);
    if (!output.getDefiningOp() ||
        vectorOf(output)[0] != 1) // a thread makes a box of several places
      return kernel.emitOpError("makes one place along an axis of which a thread makes several");
  }
  if (held.empty() || held.back() < inputsOf(kernel))
    return success();
  for (int64_t tensor : llvm::drop_end(held))
    if (!penstock::analysis::isInPlace(kernel, tensor))
      return kernel.emitOpError() << "holds input " << tensor
                                  << " where its output is held, and does not store in place";
  return success();
}

/// Held tensors lie behind what the kernel takes for itself, with some bytes around that may be
/// read.
static LogicalResult placeHeld(GpuContext &ctx) {
  if (ctx.launch.held.empty())
    return success();
  KernelOp kernel = ctx.kernel;
  auto at = kernel.getSchedule()->getAs<DictionaryAttr>("held").getAs<IntegerAttr>("at");
  if (ctx.launch.shared.value_or(0) + PST_DEVICE_SLACK > at.getInt())
    return kernel.emitOpError() << "holds a tensor at byte " << at.getInt() << ", and takes "
                                << *ctx.launch.shared << " bytes of shared memory for itself";
  auto &body = kernel.getBody().front();
  const int64_t inputs = inputsOf(kernel);
  int64_t bytes = 0;
  for (int64_t held : ctx.launch.held) {
    Value tensor = held < inputs
                       ? Value(body.getArgument(static_cast<unsigned>(held)))
                       : body.getTerminator()->getOperand(static_cast<unsigned>(held - inputs));
    bytes = std::max(bytes, *denseBytesOf(typeOf(tensor)));
  }
  ctx.launch.heldAt = at.getInt();
  ctx.launch.shared = at.getInt() + bytes + PST_DEVICE_SLACK;
  return success();
}

LogicalResult penstock::conversion::emitGpuKernel(KernelOp kernel, func::FuncOp function,
                                                  int64_t &nextCheck) {
  if (failed(checkVectors(kernel)))
    return failure();
  if (failed(checkHeld(kernel)))
    return failure();
  const GpuWholeOps whole = GpuWholeOps::all();
  GpuContext context(kernel, function, nextCheck);
  context.whole = &whole;
  Value scratchUsed;
  const GpuSite site(context, kernel.getLoc(), &scratchUsed);
  auto [ctx, b, x, s] = site.parts();
  addArguments(site);
  auto end = b.create<func::ReturnOp>(kernel.getLoc());
  b.setInsertionPoint(end);
  scratchUsed = x.constant(0);
  for (Operation &op : kernel.getBody().front())
    if (failed(statement(site, op)))
      return failure();
  if (failed(placeHeld(ctx)))
    return failure();
  dropUnusedArguments(ctx);
  setScratch(function, ctx.scratchNeed);
  setLaunch(function, ctx.launch);
  return success();
}

static LogicalResult refuse(Operation &op) { return op.emitOpError("has no GPU code yet"); }

static LogicalResult statement(const GpuSite &around, Operation &op) {
  const GpuSite site = around.at(op.getLoc());
  if (auto last = llvm::dyn_cast<ReturnOp>(op))
    return finish(site, last);
  if (auto condition = llvm::dyn_cast<CheckOp>(op))
    return check(site, condition);
  if (llvm::none_of(op.getResults(), holdsGpuTensor))
    return emitScalar(site, op);
  if (auto chosen = llvm::dyn_cast<ChooseOp>(op))
    return choose(site, chosen);
  if (auto repeated = llvm::dyn_cast<RepeatOp>(op))
    return repeat(site, repeated);
  const auto schedule = op.getAttrOfType<StringAttr>("schedule");
  if (schedule && schedule.getValue() == "inline")
    return success(); // computed where it is used
  const KernelForm form = formOf(&op);
  if (form == KernelForm::runtime)
    return refuse(op);
  if (form != KernelForm::inlined || (schedule && schedule.getValue() == "scratch"))
    return store(site, op);
  return success(); // likewise
}

/// Runs `body` where the arm that the builder stands in is taken.
static void guarded(const GpuSite &site, llvm::function_ref<void()> body) {
  site.taken ? when(site, site.taken, body) : body();
}

/// Computes a value as a whole, where it stands.
static LogicalResult store(const GpuSite &site, Operation &op) {
  auto [ctx, b, x, s] = site.parts();
  SmallVector<GpuBuffer> to;
  bool isRead = false;
  for (Value result : op.getResults()) {
    auto buffer = bufferFor(site, result);
    if (failed(buffer))
      return failure();
    to.push_back(*buffer);
    isRead |= llvm::any_of(result.getUsers(),
                           [](Operation *user) { return !llvm::isa<ReturnOp>(user); }) ||
              std::distance(result.use_begin(), result.use_end()) > 1;
  }
  const KernelForm form = formOf(&op);
  if (!ctx.launch.isOneBlock() && (isRead || form == KernelForm::passes))
    return op.emitOpError("is computed before others read it, which needs the mapping \"block\"");
  const GpuWholeOps::Whole *whole = ctx.whole->find(&op);
  if (!whole && form != KernelForm::inlined)
    return refuse(op);
  SmallVector<GpuBuffer> work;
  if (whole && failed(whole->makeWork(site, &op, work)))
    return failure();
  guarded(site, [&] {
    if (whole)
      whole->compute(site, &op, to, work);
    else
      fill(site, op.getResult(0), to[0]);
    if (isRead)
      barrier(site);
  });
  for (auto [result, buffer] : llvm::zip(op.getResults(), to))
    ctx.buffers[result] = buffer;
  return failure(ctx.failedInside);
}

/// The arms' scalars are total and computed at once; what they store is computed
/// in the arm that is taken, for its views are right for that one only.
static LogicalResult choose(const GpuSite &site, ChooseOp op) {
  auto [ctx, b, x, s] = site.parts();
  const auto count = static_cast<int64_t>(op.getArms().size());
  Value index = x.min(x.max(asIndex(site, op.getIndex()), x.constant(0)), x.constant(count - 1));
  SmallVector<Value> selected(op->getNumResults());
  for (auto [number, arm] : llvm::enumerate(op.getArms())) {
    Value here =
        x.compare(arith::CmpIPredicate::eq, index, x.constant(static_cast<int64_t>(number)));
    GpuSite inArm = site;
    inArm.taken = x.both(site.taken, here);
    for (Operation &inner : arm.front().without_terminator())
      if (failed(statement(inArm, inner)))
        return failure();
    for (auto [result, yielded] : llvm::zip(selected, arm.front().getTerminator()->getOperands()))
      if (!holdsGpuTensor(yielded))
        result = number == 0
                     ? scalarOf(site, yielded)
                     : b.create<arith::SelectOp>(site.loc, here, scalarOf(site, yielded), result)
                           .getResult();
  }
  for (auto [result, value] : llvm::zip(op.getResults(), selected))
    if (value)
      ctx.scalars.map(result, value);
  return success();
}

/// Two copies of every tensor that is carried: an iteration reads one and
/// writes the other, so its body may read any element.
static LogicalResult repeat(const GpuSite &site, RepeatOp op) {
  auto [ctx, b, x, s] = site.parts();
  if (!ctx.launch.isOneBlock())
    return op.emitOpError("carries tensors, which needs the mapping \"block\"");
  Block &body = op.getBody().front();
  SmallVector<GpuBuffer> copies;
  SmallVector<Value> state;
  for (auto [init, result] : llvm::zip(op.getInits(), op.getResults())) {
    if (!holdsGpuTensor(init))
      continue;
    for (int copy = 0; copy < 2; ++copy) {
      auto buffer = temporary(site, result);
      if (failed(buffer))
        return failure();
      copies.push_back(*buffer);
      state.push_back(buffer->memory);
    }
    guarded(site, [&] { fill(site, init, copies[copies.size() - 2]); });
  }
  for (Value init : op.getInits())
    if (!holdsGpuTensor(init))
      state.push_back(scalarOf(site, init));
  barrier(site);
  // Results and arguments are what `now` holds.
  auto bind = [&](ValueRange values, ValueRange now) {
    size_t tensor = 0, scalarNumber = copies.size();
    for (Value value : values) {
      if (!holdsGpuTensor(value)) {
        ctx.scalars.map(value, now[scalarNumber++]);
        continue;
      }
      ctx.buffers[value] = {now[tensor], copies[tensor].strides};
      tensor += 2;
    }
  };
  Value count =
      x.min(x.max(asIndex(site, op.getCount()), x.constant(0)), x.constant(op.getBound()));
  if (site.taken)
    count = b.create<arith::SelectOp>(site.loc, site.taken, count, x.constant(0));
  LogicalResult inside = success();
  Value used = *site.scratchUsed; // what the iterations leave there is not read after them
  GpuSite inLoop = site;
  inLoop.taken = {};
  inLoop.scratchUsed = &used;
  auto last = loop(site, x.constant(0), count, 1, state, [&](Value number, ValueRange now) {
    ctx.scalars.map(body.getArgument(0), x.toI64(number));
    bind(body.getArguments().drop_front(), now);
    for (Operation &inner : body.without_terminator())
      if (failed(statement(inLoop, inner)))
        inside = failure();
    SmallVector<Value> next, numbers;
    size_t tensor = 0;
    for (Value value : body.getTerminator()->getOperands()) {
      if (!holdsGpuTensor(value)) {
        numbers.push_back(scalarOf(site, value));
        continue;
      }
      if (succeeded(inside))
        fill(inLoop, value, {now[tensor + 1], copies[tensor].strides});
      next.append({now[tensor + 1], now[tensor]});
      tensor += 2;
    }
    barrier(site);
    next.append(numbers);
    return next;
  });
  bind(op.getResults(), last);
  return inside;
}

/// Everything after a check runs where it holds.
static LogicalResult check(const GpuSite &site, CheckOp op) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t id = ctx.nextCheck++;
  if (op->getParentOp() != ctx.kernel)
    return op.emitOpError("inside a branch or a loop has no GPU code yet");
  auto branchOp =
      b.create<scf::IfOp>(site.loc, scalarOf(site, op.getCondition()), /*withElseRegion=*/true);
  b.setInsertionPointToStart(branchOp.elseBlock());
  call(site, "pst_fail", {},
       {b.create<arith::ConstantIntOp>(site.loc, id, 32), scalarOf(site, op.getFirst()),
        scalarOf(site, op.getSecond())});
  b.setInsertionPoint(branchOp.thenBlock()->getTerminator());
  return success();
}

static LogicalResult finish(const GpuSite &site, ReturnOp op) {
  auto [ctx, b, x, s] = site.parts();
  llvm::DenseSet<Value> tiled;
  if (ctx.launch.mapping == "tile" && failed(emitTiles(site, tiled)))
    return failure();
  for (auto [place, value] : llvm::enumerate(op.getValues())) {
    if (tiled.contains(value))
      continue;
    auto done = ctx.buffers.find(value);
    if (done != ctx.buffers.end() && done->second.memory == ctx.outputs[place].memory)
      continue;
    fill(site, value, ctx.outputs[place]);
  }
  return failure(ctx.failedInside);
}
