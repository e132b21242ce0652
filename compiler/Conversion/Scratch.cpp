// SPDX-License-Identifier: Apache-2.0
//
// How the plan finds the size of scratch memory.
#include "compiler/Conversion/Scratch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static DenseI64ArrayAttr placeOf(OpBuilder &b, KernelOp kernel, Value size) {
  if (auto constant = size.getDefiningOp<ConstantOp>())
    if (auto number = llvm::dyn_cast<IntegerAttr>(constant.getValue()))
      return b.getDenseI64ArrayAttr({2, number.getInt()});
  if (auto extent = size.getDefiningOp<ExtentOp>())
    if (auto argument = llvm::dyn_cast<BlockArgument>(extent.getTensor()))
      return b.getDenseI64ArrayAttr(
          {1, argument.getArgNumber(),
           llvm::cast<NamedTensorType>(argument.getType()).axisIndex(extent.getAxis())});
  if (auto argument = llvm::dyn_cast<BlockArgument>(size);
      argument && argument.getOwner() == &kernel.getBody().front()) {
    int64_t number = argument.getArgNumber();
    for (BlockArgument other : kernel.getBody().getArguments())
      if (llvm::isa<NamedTensorType>(other.getType()))
        --number;
    return b.getDenseI64ArrayAttr({0, number});
  }
  return {};
}

DenseI64ArrayAttr penstock::conversion::scratchPlace(OpBuilder &b, KernelOp kernel, Value tensor,
                                                     int64_t axis) {
  if (auto size = llvm::dyn_cast_if_present<Value>(extentOf(tensor, axis)))
    return placeOf(b, kernel, size);
  if (auto argument = llvm::dyn_cast<BlockArgument>(tensor))
    return b.getDenseI64ArrayAttr({1, argument.getArgNumber(), axis});
  return {};
}

void penstock::conversion::addScratchTerm(OpBuilder &b, int64_t bytes, ArrayRef<Attribute> places,
                                          int64_t &fixed, SmallVectorImpl<Attribute> &terms) {
  if (places.empty())
    fixed += bytes;
  else
    terms.push_back(b.getDictionaryAttr({b.getNamedAttr("bytes", b.getI64IntegerAttr(bytes)),
                                         b.getNamedAttr("dims", b.getArrayAttr(places))}));
  fixed += 2 * scratchAlign;
}
