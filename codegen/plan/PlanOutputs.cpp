// SPDX-License-Identifier: Apache-2.0
//
// The batch and its outputs.
#include "codegen/plan/PlanVisitor.h"
#include "compiler/Dialect/UserPlaces.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;

static plan::Last lastOf(pipe::LastBatch last) {
  switch (last) {
  case pipe::LastBatch::drop:
    return plan::Last::drop;
  case pipe::LastBatch::keep:
    return plan::Last::keep;
  case pipe::LastBatch::pad:
    return plan::Last::pad;
  }
  llvm_unreachable("a word for the last batch");
}

LogicalResult PlanVisitor::visit(pipe::BatchOp op) {
  plan.batch = std::make_unique<plan::BatchT>();
  plan.batch->global = op.getGlobal();
  plan.batch->last = lastOf(op.getLast());
  if (op.getBuckets()) {
    if (failed(addLengths(op)))
      return failure();
  } else if (failed(batchNumber(op.getSize(), plan.batch->size, plan.batch->size_slot))) {
    return failure();
  }
  return visitBody(op.getBody().front());
}

/// A number that a session starts with: a constant, or a slot's.
LogicalResult PlanVisitor::batchNumber(Value value, int64_t &number, int32_t &slot) {
  if (auto constant = value.getDefiningOp<pipe::ConstantOp>()) {
    number = literalOf(constant.getValue()).integer;
    return success();
  }
  FailureOr<int> found = scope.slotOf(value);
  if (failed(found))
    return failure();
  slot = *found;
  return success();
}

/// Adds the rule of batches by length, and the message for a row that is too long for any.
LogicalResult PlanVisitor::addLengths(pipe::BatchOp op) {
  pipe::AdmitOp admit;
  for (auto each : op->getBlock()->getOps<pipe::AdmitOp>())
    admit = each;
  if (!admit || !admit.getLength())
    return op.emitOpError("has buckets, and no `pipe.admit` says how long a row is");
  plan.batch->by_length = std::make_unique<plan::ByLengthT>();
  plan::ByLengthT &lengths = *plan.batch->by_length;
  FailureOr<int> slot = scope.slotOf(admit.getLength());
  if (failed(slot) || failed(batchNumber(op.getSize(), lengths.limit, lengths.limit_slot)) ||
      failed(batchNumber(op.getBuckets(), lengths.buckets, lengths.buckets_slot)))
    return failure();
  lengths.length_slot = *slot;
  lengths.too_long = addCheck("its length is {0}, and a batch takes {1} elements: leave it out "
                              "with `where`, or raise the limit",
                              op.getLoc());
  return success();
}

/// A check that the runtime makes; returns its id.
int PlanVisitor::addCheck(StringRef message, Location loc) {
  auto check = std::make_unique<plan::CheckT>();
  check->id = static_cast<int>(plan.checks.size()) + 1;
  check->message = message.str();
  if (const FileLineColLoc place = pipe::userPlaceOf(loc)) {
    check->file = place.getFilename().str();
    check->line = static_cast<int>(place.getLine());
    check->column = static_cast<int>(place.getColumn());
  }
  plan.checks.push_back(std::move(check));
  return static_cast<int>(plan.checks.size());
}

/// An element's bytes, as memory has them.
static std::vector<uint8_t> bytesOf(TypedAttr element) {
  const auto integer = llvm::dyn_cast<IntegerAttr>(element);
  const APInt bits =
      integer ? integer.getValue() : llvm::cast<FloatAttr>(element).getValue().bitcastToAPInt();
  std::vector<uint8_t> bytes;
  for (unsigned at = 0; at < std::max(bits.getBitWidth(), 8u); at += 8)
    bytes.push_back(static_cast<uint8_t>(bits.zextOrTrunc(64).extractBitsAsZExtValue(8, at)));
  return bytes;
}

static std::vector<std::string> strings(ArrayAttr names) {
  std::vector<std::string> result;
  for (auto name : names.getAsRange<StringAttr>())
    result.push_back(name.str());
  return result;
}

LogicalResult PlanVisitor::visit(pipe::OutputOp op) {
  auto output = std::make_unique<plan::OutputT>();
  const int number = static_cast<int>(plan.outputs.size());
  Value value = op.getValue();
  output->name = op.getName().str();
  output->type = planType(value.getType());
  output->axes = strings(op.getAxes());
  output->stored = strings(op.getStored());
  output->on_device = op.getPlacement() == pipe::Place::gpu;
  if (!llvm::isa<pipe::NamedTensorType>(value.getType())) {
    FailureOr<int> slot = scope.slotOf(value);
    if (failed(slot))
      return failure();
    output->scalar_slot = *slot;
    output->dims.push_back(std::make_unique<plan::DimT>()); // n
    plan.outputs.push_back(std::move(output));
    return success();
  }
  FailureOr<int> buffer = scope.bufferOf(value);
  auto dims = scope.dimsOf(value);
  if (failed(buffer) || failed(dims))
    return failure();
  plan::BufferT &entry = *plan.buffers[static_cast<size_t>(*buffer)];
  if (entry.kind != plan::BufferKind::output || entry.output >= 0)
    return op.emitOpError("does not deliver the result of a kernel of its own");
  entry.output = number;
  output->buffer = *buffer;
  // The value's axes stand in memory order.
  auto type = llvm::cast<pipe::NamedTensorType>(value.getType());
  for (const std::string &axis : output->axes) {
    if (axis == "n") {
      output->dims.push_back(std::make_unique<plan::DimT>());
      continue;
    }
    auto &dim = (*dims)[static_cast<size_t>(type.axisIndex(axis))];
    if (op.getRagged() && dim->extent < 0) {
      output->ragged_axis = static_cast<int>(output->dims.size());
      output->length_slot = dim->slot;
    }
    output->dims.push_back(std::move(dim));
  }
  if (op.getFillAttr())
    output->fill = bytesOf(op.getFillAttr());
  if (failed(addCounts(op, *output)))
    return failure();
  plan.outputs.push_back(std::move(output));
  return success();
}

LogicalResult PlanVisitor::addCounts(pipe::OutputOp op, plan::OutputT &output) {
  for (auto [i, value] : llvm::enumerate(op.getCounts())) {
    FailureOr<int> buffer = scope.bufferOf(value);
    if (failed(buffer))
      return failure();
    auto count = std::make_unique<plan::CountT>();
    count->buffer = *buffer;
    count->limit = (*op.getLimits())[i];
    count->check = addCheck(llvm::cast<StringAttr>((*op.getMessages())[i]), op.getLoc());
    const size_t axis = static_cast<size_t>(
        llvm::find(output.axes, llvm::cast<StringAttr>((*op.getCounted())[i]).str()) -
        output.axes.begin());
    count->is_length = output.ragged_axis == static_cast<int>(axis);
    output.counts.push_back(std::move(count));
  }
  return success();
}
