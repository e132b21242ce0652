// SPDX-License-Identifier: Apache-2.0
//
// Where what a sample needs crosses from the host to a GPU.
#include "compiler/Analysis/TransferFrontier.h"
#include "mlir/Transforms/RegionUtils.h"
#include "runtime/abi/transfer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

std::optional<TransferLevel> transferLevelNamed(StringRef name) {
  for (auto [number, known] : llvm::enumerate(transferLevels))
    if (name == StringRef(known))
      return static_cast<TransferLevel>(number);
  return std::nullopt;
}

/// Returns whether an op itself decides that its results are the host's.
static bool endsOnHost(Operation *op, TransferLevel level) {
  if (level == TransferLevel::last)
    return true;
  return level == TransferLevel::resampled && op->walk([](Operation *inner) {
                                                  return llvm::isa<ResampleOp>(inner) ||
                                                                 classOf(inner) == OpClass::gather
                                                             ? WalkResult::interrupt()
                                                             : WalkResult::advance();
                                                }).wasInterrupted();
}

llvm::DenseSet<Operation *> opsOfHost(ArrayRef<Block *> blocks, TransferLevel level) {
  llvm::DenseSet<Operation *> host, read;
  for (Block *block : llvm::reverse(blocks))
    for (Operation &op : llvm::reverse(*block)) {
      if (llvm::isa<BatchOp>(op) || (!read.contains(&op) && !endsOnHost(&op, level)))
        continue;
      host.insert(&op);
      SetVector<Value> used(op.operand_begin(), op.operand_end());
      getUsedValuesDefinedAbove(op.getRegions(), used);
      for (Value value : used)
        if (llvm::isa<NamedTensorType>(value.getType()) && value.getDefiningOp())
          read.insert(value.getDefiningOp());
    }
  return host;
}

} // namespace penstock::analysis
