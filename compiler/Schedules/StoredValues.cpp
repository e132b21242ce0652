// SPDX-License-Identifier: Apache-2.0
//
// Values in memory where an op of a kernel stands.
#include "compiler/Schedules/StoredValues.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

void StoredValues::addArguments(KernelOp kernel) {
  for (auto [number, argument] : llvm::enumerate(kernel.getBody().getArguments()))
    if (llvm::isa<NamedTensorType>(argument.getType()))
      add(argument, penstock::analysis::inputStrides(kernel, static_cast<int64_t>(number)));
}

void StoredValues::addWhole(KernelOp kernel, Value value, bool aligned) {
  NamedTensorType type = tensorOf(value);
  for (OpOperand &output : kernel.getBody().front().getTerminator()->getOpOperands())
    if (output.get() == value)
      return add(value, penstock::analysis::outputStrides(kernel, output.getOperandNumber()));
  add(value, aligned && type.isStatic() && type.getRank() > 1
                 ? penstock::analysis::roomOf(type).strides
                 : penstock::analysis::denseStrides(type));
}

void StoredValues::addPadded(Value value, const penstock::analysis::Margin &margin) {
  add(value, penstock::analysis::roomOf(tensorOf(value), margin).strides);
  margins.insert({value, margin});
}

penstock::analysis::InMemory StoredValues::memory(bool denseInputs) const {
  penstock::analysis::InMemory memory;
  auto dense = std::make_shared<llvm::DenseMap<Value, penstock::analysis::Strides>>();
  memory.stridesOf = [this, denseInputs, dense](Value value) {
    auto found = strides.find(value);
    if (found == strides.end() || !denseInputs || !llvm::isa<BlockArgument>(value))
      return found == strides.end() ? nullptr : &found->second;
    auto &known = (*dense)[value];
    known = penstock::analysis::denseStrides(tensorOf(value));
    return static_cast<const penstock::analysis::Strides *>(&known);
  };
  memory.hasMargin = [this](WindowOp op) {
    auto found = margins.find(penstock::analysis::rootOf(op));
    return found != margins.end() && penstock::analysis::holds(found->second, op);
  };
  return memory;
}
