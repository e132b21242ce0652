// SPDX-License-Identifier: Apache-2.0
//
// Cost and value of a pointwise region.
#include "compiler/Analysis/PointBody.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

/// Largest extent of the axis that a table may have beside the 256 bytes.
static constexpr int64_t smallAxis = 16;

int64_t costOf(Operation &op) {
  if (llvm::isa<YieldOp, ConstantOp>(op))
    return 0;
  if (llvm::isa<DrawOp>(op))
    return 64;
  if (llvm::isa<LoadOp>(op))
    return 8;
  int64_t cost = 1;
  if (auto binary = llvm::dyn_cast<BinaryOp>(op)) {
    if (binary.getKind() == BinaryKind::div)
      cost = 8;
    else if (binary.getKind() == BinaryKind::rem)
      cost = 16;
  } else if (auto unary = llvm::dyn_cast<UnaryOp>(op)) {
    if (unary.getKind() == UnaryKind::sqrt)
      cost = 8;
    else if (unary.getKind() == UnaryKind::round_away)
      cost = 3;
  }
  // Half as many lanes.
  auto wide = [](Type type) { return type.isF64() || type.isInteger(64); };
  if (llvm::any_of(op.getOperandTypes(), wide) || llvm::any_of(op.getResultTypes(), wide))
    cost *= 2;
  return cost;
}

int64_t costOf(Block &body) {
  int64_t cost = 0;
  body.walk([&](Operation *op) { cost += costOf(*op); });
  return cost;
}

/// An element of a constant tensor at known indices, clamped.
static Attribute load(LoadOp load, ArrayRef<Attribute> indices) {
  auto constant = load.getTensor().getDefiningOp<ConstantOp>();
  if (!constant)
    return {};
  auto elements = llvm::cast<DenseElementsAttr>(constant.getValue());
  SmallVector<uint64_t> at;
  for (auto [index, extent] : llvm::zip(indices, elements.getType().getShape())) {
    if (extent == 0)
      return {};
    at.push_back(static_cast<uint64_t>(
        std::clamp<int64_t>(llvm::cast<IntegerAttr>(index).getInt(), 0, extent - 1)));
  }
  return elements.getValues<Attribute>()[at];
}

Attribute evaluate(Block &body, ArrayRef<Attribute> arguments, DenseMap<Value, Attribute> *values) {
  DenseMap<Value, Attribute> local;
  DenseMap<Value, Attribute> &known = values ? *values : local;
  for (auto [argument, attribute] : llvm::zip(body.getArguments(), arguments))
    known[argument] = attribute;
  auto lookup = [&](Value value) -> Attribute {
    if (Attribute attribute = known.lookup(value))
      return attribute;
    auto constant = value.getDefiningOp<ConstantOp>();
    return constant ? Attribute(constant.getValue()) : Attribute();
  };
  for (Operation &op : body.without_terminator()) {
    if (op.getNumRegions() != 0 || op.getNumResults() != 1)
      return {};
    if (auto constant = llvm::dyn_cast<ConstantOp>(op)) {
      known[constant] = constant.getValue();
      continue;
    }
    SmallVector<Attribute> operands;
    auto reader = llvm::dyn_cast<LoadOp>(op);
    for (Value operand : reader ? ValueRange(reader.getIndices()) : ValueRange(op.getOperands()))
      operands.push_back(lookup(operand));
    if (llvm::is_contained(operands, Attribute()))
      return {};
    if (reader) {
      known[reader] = load(reader, operands);
      continue;
    }
    SmallVector<OpFoldResult> results;
    if (failed(op.fold(operands, results)) || results.size() != 1)
      return {};
    known[op.getResult(0)] = llvm::isa<Attribute>(results[0])
                                 ? llvm::cast<Attribute>(results[0])
                                 : lookup(llvm::cast<Value>(results[0]));
  }
  return lookup(body.getTerminator()->getOperand(0));
}

int64_t ByteMap::extent() const {
  if (axis < 0)
    return 1;
  auto type = llvm::cast<NamedTensorType>(MapOp(map).getType());
  return type.getAxes()[axis].extent;
}

Attribute ByteMap::valueAt(int64_t byte, int64_t at, DenseMap<Value, Attribute> *values) const {
  MapOp op = map; // op classes have no const accessors
  Builder builder(op.getContext());
  SmallVector<Attribute> arguments;
  for (auto [i, value] : llvm::enumerate(op.getInputs())) {
    auto type = llvm::cast<NamedTensorType>(value.getType());
    if (i == input) {
      arguments.push_back(builder.getIntegerAttr(type.getElementType(), byte));
      continue;
    }
    auto constant = llvm::cast<ConstantOp>(value.getDefiningOp());
    auto elements = llvm::cast<DenseElementsAttr>(constant.getValue());
    const int64_t place = type.getRank() == 0 ? 0 : at;
    arguments.push_back(elements.getValues<Attribute>()[place]);
  }
  for (int64_t i = 0; i < llvm::cast<NamedTensorType>(op.getType()).getRank(); ++i)
    arguments.push_back(i == axis ? Attribute(builder.getI64IntegerAttr(at)) : Attribute());
  return evaluate(op.getBody().front(), arguments, values);
}

std::optional<ByteMap> byteMapOf(MapOp map, std::string &reason) {
  auto type = llvm::cast<NamedTensorType>(map.getType());
  ByteMap result;
  result.map = map;
  std::optional<unsigned> input;
  auto uses = [&](int64_t axis) {
    const bool fits = result.axis < 0 || result.axis == axis;
    result.axis = axis;
    const Axis &found = type.getAxes()[axis];
    return fits && found.isStatic() && found.extent <= smallAxis && found.extent > 0;
  };
  for (auto [i, value] : llvm::enumerate(map.getInputs())) {
    auto inputType = llvm::cast<NamedTensorType>(value.getType());
    if (value.getDefiningOp<ConstantOp>()) {
      if (inputType.getRank() > 1 ||
          (inputType.getRank() == 1 && !uses(type.axisIndex(inputType.getAxes()[0].name)))) {
        reason = "its constants vary along more than one small axis";
        return std::nullopt;
      }
      continue;
    }
    if (input || !inputType.getElementType().isUnsignedInteger(8)) {
      reason = "it reads more than one u8 element";
      return std::nullopt;
    }
    input = i;
  }
  if (!input) {
    reason = "it reads no u8 element";
    return std::nullopt;
  }
  result.input = *input;
  Block &body = map.getBody().front();
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (!body.getArgument(map.getInputs().size() + axis).use_empty() && !uses(axis)) {
      reason = "it depends on the position";
      return std::nullopt;
    }
  for (Operation &op : body)
    if (llvm::isa<DrawOp>(op) || op.getNumRegions() != 0) {
      reason = "it draws, or holds a branch or a loop";
      return std::nullopt;
    }
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(map.getBody(), captured);
  result.isConstant = true;
  for (Value value : captured) {
    if (value.getDefiningOp<ConstantOp>())
      continue;
    result.isConstant = false;
    if (!isScalarType(value.getType())) {
      reason = "it reads a table that is not a constant";
      return std::nullopt;
    }
  }
  return result;
}

} // namespace penstock::analysis
