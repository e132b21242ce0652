// SPDX-License-Identifier: Apache-2.0
//
// How the plan finds the size of scratch memory.
#include "compiler/Conversion/Scratch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

using Kind = ArgumentExtent::Kind;

static std::optional<ArgumentExtent> extentBySize(KernelOp kernel, Value size) {
  if (auto constant = size.getDefiningOp<ConstantOp>())
    if (auto number = llvm::dyn_cast<IntegerAttr>(constant.getValue()))
      return ArgumentExtent{Kind::number, number.getInt()};
  if (auto extent = size.getDefiningOp<ExtentOp>())
    if (auto argument = llvm::dyn_cast<BlockArgument>(extent.getTensor()))
      return ArgumentExtent{Kind::tensor, argument.getArgNumber(),
                            tensorOf(argument).axisIndex(extent.getAxis())};
  if (auto argument = llvm::dyn_cast<BlockArgument>(size);
      argument && argument.getOwner() == &kernel.getBody().front()) {
    int64_t number = argument.getArgNumber();
    for (BlockArgument other : kernel.getBody().getArguments())
      if (llvm::isa<NamedTensorType>(other.getType()))
        --number;
    return ArgumentExtent{Kind::scalar, number};
  }
  return std::nullopt;
}

std::optional<ArgumentExtent> penstock::conversion::argumentExtentOf(KernelOp kernel, Value tensor,
                                                                     int64_t axis) {
  if (auto size = llvm::dyn_cast_if_present<Value>(extentOf(tensor, axis)))
    return extentBySize(kernel, size);
  if (auto argument = llvm::dyn_cast<BlockArgument>(tensor))
    return ArgumentExtent{Kind::tensor, argument.getArgNumber(), axis};
  return std::nullopt;
}

void penstock::conversion::addScratch(ScratchNeed &need, int64_t bytes,
                                      ArrayRef<ArgumentExtent> extents) {
  if (extents.empty())
    need.fixed += bytes;
  else
    need.terms.push_back({bytes, SmallVector<ArgumentExtent, 4>(extents)});
  need.fixed += 2 * scratchAlign;
}
