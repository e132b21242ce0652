// SPDX-License-Identifier: Apache-2.0
//
// What is made of bytes without leaving them.
//
// Vectors of as many lanes as a register has bytes pay there alone: anywhere else each is several
// registers. What several ops read is looked at once.
#include "compiler/Analysis/WindowMargins.h"
#include "compiler/Schedules/LoopPlan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Returns whether an operation on bytes, or its lowest byte, is one on bytes.
static bool isOnBytes(Operation &op) {
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

namespace {
class Bytes {
public:
  Bytes(KernelOp kernel, const StoredValues &stored) : kernel(kernel), stored(stored) {}

  /// Returns whether windows and maps make `tensor` of bytes that are there, and nothing wider on
  /// the way.
  bool makes(Value tensor);
  /// Returns whether windows that have margins, or maps of them, take channels as they lie: vectors
  /// then go through the pixels of a row as through one run.
  bool isOfWholePixels(Value tensor);

private:
  bool findWholePixels(Value tensor);

  KernelOp kernel;
  const StoredValues &stored;
  llvm::DenseSet<Value> seen;
  llvm::DenseMap<Value, bool> known;
};
} // namespace

bool Bytes::makes(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (scalarBytes(tensorOf(tensor).getElementType()) != 1)
    return false;
  if (!op || stored.inMemory.contains(tensor) || !seen.insert(tensor).second)
    return true;
  if (!llvm::isa<WindowOp, MapOp>(op))
    return false;
  return llvm::all_of(op->getRegion(0).front(), isOnBytes) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !llvm::isa<NamedTensorType>(operand.getType()) || makes(operand);
         });
}

bool Bytes::isOfWholePixels(Value tensor) {
  if (auto answer = known.find(tensor); answer != known.end())
    return answer->second;
  const bool found = findWholePixels(tensor);
  known[tensor] = found;
  return found;
}

bool Bytes::findWholePixels(Value tensor) {
  auto window = tensor.getDefiningOp<WindowOp>();
  auto map = tensor.getDefiningOp<MapOp>();
  if (!window && !map)
    return false;
  auto coordinates = (window ? window.getBody() : map.getBody())
                         .front()
                         .getArguments()
                         .take_back(static_cast<size_t>(tensorOf(tensor).getRank()));
  if (llvm::any_of(coordinates, [](BlockArgument argument) { return !argument.use_empty(); }))
    return false;
  if (window)
    return penstock::analysis::isPlain(window) &&
           stored.inMemory.contains(penstock::analysis::rootOf(window)) &&
           penstock::analysis::marginOf(kernel, penstock::analysis::rootOf(window),
                                        /*asCopy=*/true);
  return llvm::any_of(map.getInputs(), [&](Value input) { return isOfWholePixels(input); }) &&
         llvm::all_of(map.getInputs(), [&](Value input) {
           return tensorOf(input).getAxes() == tensorOf(tensor).getAxes() &&
                  (stored.inMemory.contains(input) || isOfWholePixels(input));
         });
}

bool penstock::schedules::staysInBytes(Value tensor, bool hasChannels, KernelOp kernel,
                                       const StoredValues &stored) {
  Bytes bytes(kernel, stored);
  return (!hasChannels || bytes.isOfWholePixels(tensor)) && bytes.makes(tensor);
}
