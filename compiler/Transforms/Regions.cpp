// SPDX-License-Identifier: Apache-2.0
//
// Building the regions of pointwise ops.
#include "compiler/Transforms/Regions.h"
#include "compiler/Dialect/Drawn.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::transforms {

Block *startBody(OpBuilder &builder, MapOp map) {
  auto type = llvm::cast<NamedTensorType>(map.getType());
  SmallVector<Type> types;
  for (Value input : map.getInputs())
    types.push_back(llvm::cast<NamedTensorType>(input.getType()).getElementType());
  types.append(static_cast<size_t>(type.getRank()), builder.getI64Type());
  SmallVector<Location> locations(types.size(), map.getLoc());
  return builder.createBlock(&map.getBody(), {}, types, locations);
}

SmallVector<Value> cloneBody(OpBuilder &builder, Block &body, ArrayRef<Value> arguments,
                             std::optional<int64_t> copy) {
  IRMapping mapping;
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    if (value)
      mapping.map(argument, value);
  for (Operation &op : body.without_terminator()) {
    Operation *made = builder.clone(op, mapping);
    if (copy)
      numberDrawn(made, *copy);
  }
  SmallVector<Value> results;
  for (Value yielded : body.getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(yielded));
  return results;
}

} // namespace penstock::transforms
