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
  if (auto constant = op.getSize().getDefiningOp<pipe::ConstantOp>()) {
    plan.batch->size = literalOf(constant.getValue()).integer;
  } else {
    FailureOr<int> slot = scope.slotOf(op.getSize());
    if (failed(slot))
      return failure();
    plan.batch->size_slot = *slot;
  }
  return visitBody(op.getBody().front());
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
    auto check = std::make_unique<plan::CheckT>();
    check->id = static_cast<int>(plan.checks.size()) + 1;
    check->message = llvm::cast<StringAttr>((*op.getMessages())[i]).str();
    if (const FileLineColLoc place = pipe::userPlaceOf(op.getLoc())) {
      check->file = place.getFilename().str();
      check->line = static_cast<int>(place.getLine());
      check->column = static_cast<int>(place.getColumn());
    }
    auto count = std::make_unique<plan::CountT>();
    count->buffer = *buffer;
    count->limit = (*op.getLimits())[i];
    count->check = check->id;
    const size_t axis = static_cast<size_t>(
        llvm::find(output.axes, llvm::cast<StringAttr>((*op.getCounted())[i]).str()) -
        output.axes.begin());
    count->is_length = output.ragged_axis == static_cast<int>(axis);
    plan.checks.push_back(std::move(check));
    output.counts.push_back(std::move(count));
  }
  return success();
}
