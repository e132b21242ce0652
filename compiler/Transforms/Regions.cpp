// SPDX-License-Identifier: Apache-2.0
//
// Building the regions of pointwise ops.
#include "compiler/Transforms/Regions.h"
#include "compiler/Dialect/Drawn.h"
#include "compiler/Dialect/ScalarBuilder.h"
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

namespace {
/// Of indices in the body of a map. One that stands in several is looked at once.
struct Bounds {
  using Range = std::optional<std::pair<int64_t, int64_t>>;
  MapOp map;
  llvm::DenseMap<Value, Range> known;

  Range of(Value index) {
    if (auto found = known.find(index); found != known.end())
      return found->second;
    const Range range = find(index);
    known[index] = range;
    return range;
  }
  Range find(Value index);
};
} // namespace

Bounds::Range Bounds::find(Value index) {
  if (auto number = constantOf(index))
    return std::pair(*number, *number);
  if (auto argument = llvm::dyn_cast<BlockArgument>(index)) {
    const int64_t axis = argument.getArgNumber() - static_cast<int64_t>(map.getInputs().size());
    auto domain = llvm::cast<NamedTensorType>(map.getType());
    if (argument.getOwner() != &map.getBody().front() || axis < 0 ||
        !domain.getAxes()[axis].isStatic() || domain.getAxes()[axis].extent < 1)
      return std::nullopt;
    return std::pair<int64_t, int64_t>(0, domain.getAxes()[axis].extent - 1);
  }
  auto binary = index.getDefiningOp<BinaryOp>();
  auto left = binary ? of(binary.getLhs()) : std::nullopt;
  auto right = left ? of(binary.getRhs()) : std::nullopt;
  if (!right || left->first < 0 || right->first < 0 ||
      std::max(left->second, right->second) > INT32_MAX)
    return std::nullopt;
  switch (binary.getKind()) {
  case BinaryKind::add:
    return std::pair(left->first + right->first, left->second + right->second);
  case BinaryKind::mul:
    return std::pair(left->first * right->first, left->second * right->second);
  case BinaryKind::div:
    return right->first > 0
               ? Range(std::pair(left->first / right->second, left->second / right->first))
               : std::nullopt;
  case BinaryKind::rem:
    return right->first > 0
               ? Range(std::pair(int64_t{0}, std::min(left->second, right->second - 1)))
               : std::nullopt;
  default:
    return std::nullopt;
  }
}

bool readsInside(MapOp map, LoadOp load) {
  Bounds bounds{map, llvm::DenseMap<Value, Bounds::Range>()};
  auto type = llvm::cast<NamedTensorType>(load.getTensor().getType());
  return load->getParentOp() == map && type.isStatic() &&
         llvm::all_of(llvm::zip(load.getIndices(), type.getAxes()), [&](auto place) {
           auto range = bounds.of(std::get<0>(place));
           return range && range->first >= 0 && range->second < std::get<1>(place).extent;
         });
}

} // namespace penstock::transforms
