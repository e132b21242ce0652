// SPDX-License-Identifier: Apache-2.0
//
// Which small axis a loop makes all elements of, side by side.
#include "compiler/Schedules/LoopPlan.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Returns whether elements of `tensor` come from memory that interleaves the axis `name`, or
/// from rows of pixels.
static bool readsInterleaved(Value tensor, StringRef name, const StoredValues &stored) {
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Value value = reached[next];
    auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
    if (!type)
      continue;
    if (stored.rows.contains(value)) { // of one picture at a time
      const int64_t rows = type.axisIndex(value.getDefiningOp<ResampleOp>().getAxis());
      return rows == 0 || type.axisIndex(name) > rows;
    }
    if (stored.inMemory.contains(value)) {
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

/// Returns how many operations of a map's body are the same all along the axis `name`.
static int64_t operationsShared(MapOp map, StringRef name) {
  NamedTensorType type = tensorOf(map.getResult());
  const int64_t place = type.axisIndex(name);
  if (place < 0)
    return 0;
  Block &body = map.getBody().front();
  llvm::DenseSet<Value> differs;
  const auto inputs = static_cast<int64_t>(map.getInputs().size());
  differs.insert(body.getArgument(static_cast<unsigned>(inputs + place)));
  for (auto [input, argument] : llvm::zip(map.getInputs(), body.getArguments()))
    if (tensorOf(input).axisIndex(name) >= 0)
      differs.insert(argument);
  int64_t shared = 0;
  for (Operation &op : body.without_terminator())
    if (llvm::any_of(op.getOperands(), [&](Value value) { return differs.contains(value); }) ||
        op.getNumRegions() != 0)
      differs.insert(op.result_begin(), op.result_end());
    else
      ++shared;
  return shared;
}

/// Returns whether much of what an element takes is the same all along the axis `name`, as where
/// each channel of a pixel is made of all of them.
static bool sharesMuch(Value tensor, StringRef name, const StoredValues &stored) {
  constexpr int64_t much = 16;
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next].getDefiningOp();
    if (!op || stored.inMemory.contains(reached[next]))
      continue;
    if (auto map = llvm::dyn_cast<MapOp>(op); map && operationsShared(map, name) >= much)
      return true;
    if (llvm::isa<MapOp, CastOp>(op))
      for (Value operand : op->getOperands())
        if (llvm::isa<NamedTensorType>(operand.getType()))
          reached.insert(operand);
  }
  return false;
}

bool penstock::schedules::wantsAllOf(Value tensor, StringRef name, const StoredValues &stored) {
  return readsInterleaved(tensor, name, stored) || sharesMuch(tensor, name, stored);
}
