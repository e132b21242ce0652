// SPDX-License-Identifier: Apache-2.0
//
// The ops of a kernel, one after the other.
#include "compiler/Conversion/KernelToLoops/KernelBody.h"
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Rows/ResampledRows.h"
#include "compiler/Conversion/KernelToLoops/Whole/JoinedLoops.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "compiler/Dialect/OutputsTogether.h"
#include "compiler/Dialect/Rows.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi/kernel.h"
#include "llvm/ADT/BitVector.h"
#include <cstddef>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static void finish(const Site &site);
static LogicalResult materialise(const Site &site, Operation &op);
static LogicalResult storeOutputs(const Site &site, ReturnOp op);

LogicalResult penstock::conversion::emitKernel(KernelOp kernel, func::FuncOp function,
                                               int64_t &nextCheck) {
  const WholeOps whole = WholeOps::all();
  Context context(kernel, function, nextCheck);
  context.whole = &whole;
  const Site site(context, kernel.getLoc());
  auto [ctx, b, l, m] = site.parts();
  if (failed(checkTables(kernel, l.has)))
    return failure();
  Block *entry = ctx.function.addEntryBlock();
  ctx.exit = ctx.function.addBlock();
  ctx.exit->addArguments({b.getI32Type(), b.getI64Type(), b.getI64Type()}, {l.loc, l.loc, l.loc});
  b.setInsertionPointToStart(entry);
  ctx.scratchUsed = l.i64(0);
  unpackArguments(site);
  auto tile = ctx.kernel.getSchedule() ? ctx.kernel.getSchedule()->getAs<IntegerAttr>("row_tile")
                                       : IntegerAttr();
  if (tile) {
    if (failed(emitRowTiles(site, *rowsOf(ctx.kernel), tile.getInt())))
      return failure();
    finish(site);
    return success();
  }
  for (Operation &op : ctx.kernel.getBody().front())
    if (failed(emitTopLevel(site, op)))
      return failure();
  finish(site);
  return success();
}

static void finish(const Site &site) {
  auto [ctx, b, l, m] = site.parts();
  b.create<func::ReturnOp>(l.loc, l.i32(0));
  if (ctx.exit->hasNoPredecessors()) {
    ctx.exit->erase();
  } else {
    b.setInsertionPointToStart(ctx.exit);
    Value failure = m.address(ctx.args, l.i64(offsetof(pst_kernel_args, failure)));
    m.storePlain(ctx.exit->getArgument(1), failure);
    m.storePlain(ctx.exit->getArgument(2), m.address(failure, l.i64(8)));
    b.create<func::ReturnOp>(l.loc, ctx.exit->getArgument(0));
  }
  setScratch(ctx.function, ctx.scratchNeed);
  setKind(ctx.function, ctx.kernel.getKindAttr());
  setStopFlag(ctx.function, offsetof(pst_kernel_args, stop));
  setChecks(ctx.function, ctx.checks);
}

static bool hasTensorResult(Operation &op) {
  return llvm::any_of(op.getResultTypes(),
                      [](Type type) { return llvm::isa<NamedTensorType>(type); });
}

static LogicalResult refuse(Operation &op) { return op.emitError("has no lowering to CPU code"); }

LogicalResult penstock::conversion::emitTopLevel(const Site &around, Operation &op) {
  const Site site = around.withOp(op.getLoc(), around.ctx.b.getInsertionBlock());
  auto [ctx, b, l, m] = site.parts();
  if (auto ret = llvm::dyn_cast<ReturnOp>(op))
    return storeOutputs(site, ret);
  if (!hasTensorResult(op)) {
    if (failed(emitScalarOp(site, op)))
      return failure();
    if (op.getNumRegions() && ctx.failureState) { // a check in a branch failed
      auto word = [&](int64_t offset) {
        return m.loadPlain(b.getI64Type(), m.address(ctx.failureState, l.i64(offset)));
      };
      Value id = word(0);
      Value fine = l.cmp(arith::CmpIPredicate::eq, id, l.i64(0));
      Block *next = ctx.function.addBlock();
      Value shortId = b.create<arith::TruncIOp>(l.loc, b.getI32Type(), id);
      b.create<cf::CondBranchOp>(l.loc, fine, next, ValueRange{}, ctx.exit,
                                 ValueRange{shortId, word(8), word(16)});
      b.setInsertionPointToStart(next);
    }
    return success();
  }
  if (auto choose = llvm::dyn_cast<ChooseOp>(op))
    if (failed(openChoose(site, choose)))
      return failure();
  if (auto repeat = llvm::dyn_cast<RepeatOp>(op))
    return materialiseRepeat(site, repeat);
  if (auto resample = llvm::dyn_cast<ResampleOp>(op)) {
    if (op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("ring"))
      return prepareRing(site, resample);
    if (failed(prepareVertical(site, resample)))
      return failure();
  }
  if (auto reduce = llvm::dyn_cast<ReduceOp>(op);
      reduce && op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("ring"))
    return prepareReducedRows(site, reduce);
  if (auto window = llvm::dyn_cast<WindowOp>(op); window && failed(prepareMargins(site, window)))
    return failure();
  if (op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("inline"))
    return success(); // computed where it is used
  const KernelForm form = formOf(&op);
  if (form == KernelForm::runtime)
    return refuse(op);
  if (form != KernelForm::inlined ||
      op.getAttrOfType<StringAttr>("schedule") == b.getStringAttr("scratch"))
    return materialise(site, op);
  return success(); // likewise
}

/// Puts what was just written from `begin` on into the loops of the reduction before, where the
/// schedule says so.
static void joinReduction(Context &ctx, ReduceOp op, CodePlace begin) {
  if (!reductionOf(op).getJoined()) {
    ctx.lastReduction = begin;
    return;
  }
  joinLoops(ctx.lastReduction, begin);
  ctx.elements.clear(); // blocks that they are for are gone
}

static LogicalResult materialise(const Site &site, Operation &op) {
  auto [ctx, b, l, m] = site.parts();
  const CodePlace begin = endOf(b.getInsertionBlock());
  if (auto computed = ctx.whole->compute(site, &op)) {
    if (auto reduce = llvm::dyn_cast<ReduceOp>(op))
      joinReduction(ctx, reduce, begin);
    return *computed;
  }
  if (formOf(&op) != KernelForm::inlined)
    return refuse(op);
  for (Value result : op.getResults()) {
    if (llvm::cast<NamedTensorType>(result.getType()).getRank() == 0) {
      ctx.single[result] = emit(site, result, {}); // stays in a register
      continue;
    }
    auto margin = penstock::analysis::marginOf(ctx.kernel, result, /*asCopy=*/false);
    auto buffer = margin ? marginBuffer(site, result, *margin) : wholeBuffer(site, result);
    if (failed(buffer))
      return failure();
    std::optional<Interval> written;
    Site storing = site;
    storing.written = &written;
    storeTensor(storing, result, *buffer, shapeOf(result), l.i64(0), extent(site, result, 0));
    noteWritten(written, *buffer);
    margin ? keepMargins(site, result, *buffer, *margin) : void(ctx.buffers[result] = *buffer);
  }
  return success();
}

static constexpr int64_t lineBytes = 64;

/// Returns whether every vector of the loops fills lines of its own: all is static, rows
/// are whole vectors, and these are whole lines.
static bool storesWholeLines(NamedTensorType type, const LoopShape &shape) {
  ArrayRef<Axis> axes = type.getAxes();
  const int64_t bytes = shape.lanes * scalarBytes(type.getElementType());
  return type.getRank() > 1 && shape.laneAxis == type.getRank() - 1 && type.dynamicAxes().empty() &&
         axes.back().extent % shape.lanes == 0 && bytes % lineBytes == 0;
}

/// Returns whether output `number` has been computed where it belongs, as a whole.
static bool isInPlace(const Site &site, Value value, unsigned number) {
  const Buffer *stored = site.buffer(value);
  return stored && stored->pointer == site.ctx.outputs[number].pointer;
}

/// The part of the outermost axis that a band makes of an output: the band speaks of the first
/// output's, and outputs with another one, or with another extent, are computed whole.
static std::pair<Value, Value> bandOf(const Site &site, Value first, Value value) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(value), banded = typeOf(first);
  if (type.getRank() == 0)
    return {l.i64(0), l.i64(1)};
  Value low = l.i64(0), high = extent(site, value, 0);
  if (banded.getRank() == 0 || type.getAxes()[0].name != banded.getAxes()[0].name ||
      isInPlace(site, first, 0))
    return {low, high};
  Value same = l.cmp(arith::CmpIPredicate::eq, high, extent(site, first, 0));
  return {l.pick(same, ctx.band[0], low), l.pick(same, l.minS(high, ctx.band[1]), high)};
}

/// Stores an output past the caches where its lines begin where vectors do.
static void stream(const Site &site, Value value, Buffer output, const LoopShape &shape, Value low,
                   Value high) {
  auto [ctx, b, l, m] = site.parts();
  // Nobody but a foreign caller has an output elsewhere than at a line.
  Value misplaced = l.andInt(
      l.orInt(b.create<LLVM::PtrToIntOp>(l.loc, b.getI64Type(), output.pointer), output.strides[0]),
      l.i64(lineBytes - 1));
  auto choice =
      b.create<scf::IfOp>(l.loc, l.cmp(arith::CmpIPredicate::eq, misplaced, l.i64(0)), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  output.streaming = true;
  storeTensor(site, value, output, shape, low, high);
  b.setInsertionPointToStart(choice.elseBlock());
  output.streaming = false;
  LoopShape single = shape;
  single.lanes = 1;
  storeTensor(site, value, output, single, low, high);
}

static LogicalResult storeOutputs(const Site &site, ReturnOp op) {
  Context &ctx = site.ctx;
  if (ctx.kernel.getKind() != "pixels")
    return success();
  llvm::BitVector done(op->getNumOperands());
  for (OpOperand &operand : op->getOpOperands()) {
    const unsigned number = operand.getOperandNumber();
    const Value value = operand.get();
    if (done[number] || isInPlace(site, value, number))
      continue;
    const LoopShape shape = shapeOf(site, operand);
    auto [low, high] = bandOf(site, op->getOperand(0), value);
    if (ctx.streaming && storesWholeLines(typeOf(value), shape)) {
      stream(site, value, ctx.outputs[number], shape, low, high);
      continue;
    }
    SmallVector<Stored> together;
    for (int64_t other : outputsWith(ctx.kernel, number)) {
      together.push_back({op->getOperand(static_cast<unsigned>(other)), ctx.outputs[other]});
      done.set(static_cast<unsigned>(other));
    }
    storeTogether(site, together, shape, low, high);
  }
  return success();
}
