// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-collapse-tables.
//
// The bound is where a load from a table of 256 entries (a gather instruction,
// or one scalar load an element) is cheaper than the arithmetic on vectors:
// docs/rationale/tables.md.
#include "compiler/Analysis/PointBody.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Regions.h"
#include "mlir/IR/IRMapping.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_COLLAPSETABLES
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;
namespace analysis = penstock::analysis;
using analysis::ByteMap;

static constexpr int64_t bound = 24;

static NamedTensorType tableType(const ByteMap &bytes) {
  auto type = llvm::cast<NamedTensorType>(MapOp(bytes.map).getType());
  SmallVector<Axis> axes(1);
  axes[0].name = type.axisIndex("i") < 0 ? "i" : "byte";
  axes[0].extent = 256;
  if (bytes.axis >= 0)
    axes.push_back(type.getAxes()[bytes.axis]);
  return type.withAxes(axes);
}

/// The table as a constant, or null where a folder does not know a value.
static Value foldTable(OpBuilder &builder, const ByteMap &bytes) {
  NamedTensorType type = tableType(bytes);
  SmallVector<Attribute> values;
  for (int64_t byte = 0; byte < 256; ++byte)
    for (int64_t at = 0; at < bytes.extent(); ++at) {
      Attribute value = bytes.valueAt(byte, at);
      if (!value)
        return {};
      values.push_back(value);
    }
  SmallVector<int64_t> shape{256};
  if (bytes.axis >= 0)
    shape.push_back(bytes.extent());
  return builder.create<ConstantOp>(
      MapOp(bytes.map).getLoc(), type,
      DenseElementsAttr::get(RankedTensorType::get(shape, type.getElementType()), values));
}

/// The table as a map over its 256 entries, once per sample.
static Value computeTable(OpBuilder &builder, const ByteMap &bytes) {
  MapOp map = bytes.map;
  const size_t count = map.getInputs().size();
  SmallVector<Value> inputs;
  for (auto [i, input] : llvm::enumerate(map.getInputs()))
    if (i != bytes.input)
      inputs.push_back(input);
  auto table = builder.create<MapOp>(map.getLoc(), tableType(bytes), inputs, ValueRange());
  OpBuilder::InsertionGuard restore(builder);
  Block *body = startBody(builder, table);
  Value byte =
      builder.create<CastOp>(map.getLoc(), builder.getIntegerType(8, /*isSigned=*/false),
                             CastMode::value, body->getArgument(inputs.size()), ValueRange());
  SmallVector<Value> arguments;
  for (size_t i = 0, next = 0; i < count; ++i)
    arguments.push_back(i == bytes.input ? byte : body->getArgument(next++));
  const int64_t rank = llvm::cast<NamedTensorType>(map.getType()).getRank();
  for (int64_t axis = 0; axis < rank; ++axis)
    arguments.push_back(axis == bytes.axis ? Value(body->getArgument(inputs.size() + 1)) : Value());
  SmallVector<Value> yields = cloneBody(builder, map.getBody().front(), arguments);
  builder.create<YieldOp>(map.getLoc(), yields);
  return table;
}

/// A byte on the way to a result of more than bytes: the last one of which alone the
/// rest is made, by constants and scalars. Null if the rest were dear itself.
static Operation *lastByte(MapOp map, unsigned input) {
  Block &body = map.getBody().front();
  Value element = body.getArgument(input);
  llvm::DenseSet<Value> readLater;
  int64_t cost = 0;
  for (Operation &op : llvm::reverse(body)) {
    auto madeBefore = [&](Value value) {
      Operation *maker = value.getDefiningOp();
      return value == element || (maker && maker != &op && maker->getBlock() == &body &&
                                  !llvm::isa<ConstantOp>(maker) && maker->isBeforeInBlock(&op));
    };
    if (op.getNumResults() == 1 && op.getResult(0).getType().isUnsignedInteger(8) &&
        readLater.contains(op.getResult(0)) && llvm::none_of(readLater, madeBefore))
      return cost <= bound && !llvm::isa<YieldOp>(*op.getResult(0).user_begin()) ? &op : nullptr;
    cost += analysis::costOf(op);
    readLater.insert(op.operand_begin(), op.operand_end());
  }
  return nullptr;
}

/// The map as two, of which the first ends at `last`.
static MapOp splitBehind(MapOp map, unsigned input, Operation *last) {
  OpBuilder builder(map);
  Block &old = map.getBody().front();
  auto type = llvm::cast<NamedTensorType>(map.getType());
  Value byte = last->getResult(0);
  auto first = builder.create<MapOp>(map.getLoc(), type.withElementType(byte.getType()),
                                     map.getInputs(), map.getSizes());
  SmallVector<Value> inputs(map.getInputs());
  inputs[input] = first.getResult();
  auto second = builder.create<MapOp>(map.getLoc(), type, inputs, map.getSizes());
  if (Attribute remarks = map->getAttr("pipe.remarks"))
    first->setAttr("pipe.remarks", remarks);
  auto copy = [&](MapOp to, llvm::function_ref<bool(Operation &)> wanted) {
    Block *body = startBody(builder, to);
    IRMapping mapping;
    mapping.map(old.getArguments(), body->getArguments());
    if (to == second)
      mapping.map(byte, body->getArgument(input));
    for (Operation &op : old)
      if (wanted(op))
        builder.clone(op, mapping);
    return mapping;
  };
  auto before = [&](Operation &op) { return &op == last || op.isBeforeInBlock(last); };
  IRMapping made = copy(first, before);
  builder.create<YieldOp>(map.getLoc(), made.lookup(byte));
  copy(second, [&](Operation &op) { return !before(op) || llvm::isa<ConstantOp>(op); });
  map.replaceAllUsesWith(second.getResult());
  map.erase();
  return first;
}

static void collapse(MapOp map) {
  const int64_t cost = analysis::costOf(map.getBody().front());
  if (cost <= bound)
    return;
  std::string reason;
  auto bytes = analysis::byteMapOf(map, reason);
  if (!bytes) {
    addRemark(map, "collapse-tables", "computes each element: " + reason);
    return;
  }
  // A table of bytes is worth more than a wider one: what follows is cheap.
  if (Operation *last = lastByte(map, bytes->input)) {
    int64_t before = 0;
    for (Operation *op = last; op; op = op->getPrevNode())
      before += analysis::costOf(*op);
    if (before > bound)
      collapse(splitBehind(map, bytes->input, last));
    return;
  }
  OpBuilder builder(map);
  Value table = bytes->isConstant ? foldTable(builder, *bytes) : Value();
  const bool folded = static_cast<bool>(table);
  if (!folded)
    table = computeTable(builder, *bytes);
  auto read = builder.create<MapOp>(map.getLoc(), map.getType(), map.getInputs()[bytes->input],
                                    map.getSizes());
  Block *body = startBody(builder, read);
  SmallVector<Value> indices{builder.create<CastOp>(
      map.getLoc(), builder.getI64Type(), CastMode::value, body->getArgument(0), ValueRange())};
  if (bytes->axis >= 0)
    indices.push_back(body->getArgument(1 + bytes->axis));
  auto type = llvm::cast<NamedTensorType>(map.getType());
  Value value = builder.create<LoadOp>(map.getLoc(), type.getElementType(), table, indices);
  builder.create<YieldOp>(map.getLoc(), value);
  if (Attribute remarks = map->getAttr("pipe.remarks"))
    read->setAttr("pipe.remarks", remarks);
  addRemark(read, "collapse-tables",
            folded ? "reads a constant table of 256 entries"
                   : "reads a table of 256 entries, made once per sample");
  map.replaceAllUsesWith(read.getResult());
  map.erase();
}

namespace {
struct CollapseTablesPass : penstock::transforms::impl::CollapseTablesBase<CollapseTablesPass> {
  void runOnOperation() override {
    SmallVector<MapOp> maps;
    getOperation()->walk([&](MapOp map) { maps.push_back(map); });
    for (MapOp map : maps)
      collapse(map);
  }
};
} // namespace
