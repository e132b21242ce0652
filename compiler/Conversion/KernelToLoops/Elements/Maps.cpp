// SPDX-License-Identifier: Apache-2.0
//
// Pointwise bodies.
#include "compiler/Conversion/Elements/Points.h"
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/ByteChains.h"
#include "compiler/Conversion/KernelToLoops/Elements/LaneTarget.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Rows/ResampledRows.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static LaneValue computeMap(const Site &site, MapOp op, ArrayRef<Index> at);
using arith::CmpIPredicate;

/// Channels of one pixel read each other's values: a chain of such maps would be
/// computed anew for every read.
LaneValue penstock::conversion::emitMap(const Site &site, MapOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  Context::ElementKey key{reinterpret_cast<uintptr_t>(op.getOperation()),
                          static_cast<uintptr_t>(l.lanes)};
  if (m.live) // lanes that do not exist have other values
    for (Value end : {m.live->first, m.live->last})
      key.push_back(reinterpret_cast<uintptr_t>(end.getAsOpaquePointer()));
  for (const Index &index : at) {
    auto constant = index.base ? Lanes::constantOf(index.base) : std::nullopt;
    for (uintptr_t part :
         {static_cast<uintptr_t>(constant.has_value()),
          constant ? static_cast<uintptr_t>(*constant)
                   : reinterpret_cast<uintptr_t>(index.base.getAsOpaquePointer()),
          static_cast<uintptr_t>(index.stride), static_cast<uintptr_t>(index.period),
          static_cast<uintptr_t>(index.inner),
          reinterpret_cast<uintptr_t>(index.runtimeStride.getAsOpaquePointer()),
          reinterpret_cast<uintptr_t>(index.vector.getAsOpaquePointer())})
      key.push_back(part);
  }
  if (auto known = ctx.elements.find(key); known != ctx.elements.end())
    for (Block *block = b.getInsertionBlock(); block;
         block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr)
      if (block == known->second.block)
        return known->second.value;
  LaneValue value = computeMap(site, op, at);
  ctx.elements[key] = {value, b.getInsertionBlock()};
  return value;
}

static LaneValue computeMap(const Site &site, MapOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  Block &body = op.getBody().front();
  const SmallVector<LaneValue> values = inputsOf(LaneTarget{site, anyLanes(at)}, op, at);
  for (auto [i, value] : llvm::enumerate(values))
    ctx.scalars[body.getArgument(i)] = value;
  bindCoordinates(site, body, values.size(), at);
  auto constantOf = [&](Value value) -> std::optional<float> {
    TypedAttr attribute;
    if (auto constant = value.getDefiningOp<ConstantOp>())
      attribute = llvm::dyn_cast<TypedAttr>(constant.getValue());
    else if (auto argument = llvm::dyn_cast<BlockArgument>(value);
             argument && argument.getOwner() == &body && argument.getArgNumber() < values.size())
      if (auto constant = values[argument.getArgNumber()].value.getDefiningOp<arith::ConstantOp>())
        attribute = constant.getValue();
    if (auto number = llvm::dyn_cast_if_present<FloatAttr>(attribute);
        number && number.getType().isF32())
      return number.getValue().convertToFloat();
    return std::nullopt;
  };
  if (auto chain = findByteChain(body, constantOf))
    if (auto form = proveByteChain(*chain, l.has)) {
      if (emitByTables(site, op, values, chain->root))
        return emitByteChain(l, *chain, *form, scalarOf(site, chain->root));
      auto inChain = [&](Operation *user) {
        return chain->ops.contains(user) || user == body.getTerminator();
      };
      for (Operation &inner : body.without_terminator())
        if (!chain->ops.contains(&inner) || !llvm::all_of(inner.getUsers(), inChain))
          (void)emitScalarOp(site, inner);
      return emitByteChain(l, *chain, *form, scalarOf(site, chain->root));
    }
  if (!emitByTables(site, op, values, body.getTerminator()->getOperand(0)))
    emitBlock(site, body);
  return scalarOf(site, body.getTerminator()->getOperand(0));
}
