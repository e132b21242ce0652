// SPDX-License-Identifier: Apache-2.0
//
// Which loops compute a tensor.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Whether elements of `tensor` come from memory that interleaves the axis `name`, or
/// from rows of pixels.
static bool readsInterleaved(const Site &site, Value tensor, StringRef name) {
  auto [ctx, b, l, m] = site.parts();
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Value value = reached[next];
    auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
    if (!type)
      continue;
    if (ctx.verticals.contains(value))
      return true;
    if (ctx.buffers.contains(value)) {
      if (type.getRank() > 1 && type.getAxes().back().name == name)
        return true;
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto choose = llvm::dyn_cast_if_present<ChooseOp>(op))
      for (Region &arm : choose.getArms())
        reached.insert(
            arm.front().getTerminator()->getOperand(llvm::cast<OpResult>(value).getResultNumber()));
    if (op)
      reached.insert(op->operand_begin(), op->operand_end());
  }
  return false;
}

/// Whether an operation on bytes, or its lowest byte, is one on bytes.
static bool staysInBytes(Operation &op) {
  auto isByte = [](Type type) {
    return llvm::isa<IntegerType>(type) && type.getIntOrFloatBitWidth() <= 8;
  };
  if (llvm::isa<ConstantOp, YieldOp>(op) ||
      (op.getNumResults() == 1 && isByte(op.getResult(0).getType())))
    return op.getNumRegions() == 0;
  if (auto cast = llvm::dyn_cast<CastOp>(op))
    return isByte(cast.getValue().getType()) && llvm::isa<IntegerType>(cast.getResult().getType());
  auto binary = llvm::dyn_cast<BinaryOp>(op);
  return binary && llvm::isa<IntegerType>(binary.getType()) &&
         llvm::is_contained({BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::bit_and,
                             BinaryKind::bit_or, BinaryKind::bit_xor},
                            binary.getKind());
}

/// Whether a window or map makes bytes out of bytes that are there, and nothing wider on the way.
static bool isOfBytes(const Site &site, Value tensor, Seen &seen) {
  auto [ctx, b, l, m] = site.parts();
  Operation *op = tensor.getDefiningOp();
  if (scalarBytes(typeOf(tensor).getElementType()) != 1)
    return false;
  if (!op || ctx.buffers.contains(tensor) || !seen.isNew(tensor))
    return true;
  if (!llvm::isa<WindowOp, MapOp>(op))
    return false;
  return llvm::all_of(op->getRegion(0).front(), staysInBytes) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !llvm::isa<NamedTensorType>(operand.getType()) || isOfBytes(site, operand, seen);
         });
}

LoopShape penstock::conversion::defaultShape(const Site &site, Value tensor) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(tensor);
  LoopShape shape;
  const int64_t rank = type.getRank();
  if (rank == 0)
    return shape;
  auto isSmall = [&](int64_t axis) {
    const Axis &a = type.getAxes()[axis];
    return a.isStatic() && a.extent <= unrollBound;
  };
  shape.laneAxis = rank - 1;
  if (rank > 1 && isSmall(rank - 1)) {
    shape.laneAxis = rank - 2;
    shape.unrollAxis = rank - 1;
  } else {
    for (int64_t axis = 0; axis < rank - 1; ++axis)
      if (isSmall(axis) && readsInterleaved(site, tensor, type.getAxes()[axis].name))
        shape.unrollAxis = axis;
  }
  // As many lanes as one vector register has bytes: u8 to f32 chains then use
  // four registers per value, which hides latency.
  shape.lanes = l.has.registerBytes / (scalarBytes(type.getElementType()) >= 8 ? 4 : 1);
  Seen seen;
  const bool isWide = shape.unrollAxis < 0 && l.has.permuteBytes && !ctx.buffers.contains(tensor) &&
                      isOfBytes(site, tensor, seen);
  if (shape.lanes > 32 && !isWide)
    shape.lanes = 32;
  return shape;
}
