// SPDX-License-Identifier: Apache-2.0
//
// The pipeline op after the split, as a plan.
//
// No decisions are taken here.
#include "codegen/plan/PlanBuilder.h"
#include "codegen/plan/PlanVisitor.h"
#include "codegen/plan/SharedPlaces.h"
#include "runtime/abi/kernel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;

LogicalResult PlanVisitor::build() {
  auto pipelines = module.getOps<pipe::PipelineOp>();
  if (pipelines.empty())
    return module.emitError("holds no pipeline");
  pipe::PipelineOp pipeline = *pipelines.begin();
  plan.abi = PST_KERNEL_ABI_VERSION;
  plan.name = pipeline.getSymName().str();
  plan.hash = static_cast<uint64_t>(pipeline.getHash().value_or(0));
  plan.seed = static_cast<int64_t>(pipeline.getSeed());
  plan.substitute = pipeline.getSubstitute().convertToDouble();
  plan.slots = static_cast<int>(*pipeline.getSlots());
  if (failed(kernels.addKernels()) || failed(numberTables(pipeline.getBody().front())))
    return failure();
  return visitBody(pipeline.getBody().front());
}

LogicalResult PlanVisitor::visitBody(Block &body) {
  for (Operation &op : body) {
    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<pipe::ParamOp, pipe::SourceOp, pipe::RowOp, pipe::AdmitOp, pipe::PickOp,
                  pipe::FieldsOp, pipe::ProbeOp, pipe::SetEntryOp, pipe::DecodeOp, pipe::LaunchOp,
                  pipe::BatchOp, pipe::OutputOp>([&](auto typed) { return visit(typed); })
            // Read where they are used.
            .Case<pipe::FieldOp, pipe::FieldExtentOp, pipe::EntryOp, pipe::ConstantOp,
                  pipe::LengthOp, pipe::RowIndexOp, pipe::PeerOp, pipe::PeersOp, pipe::SwitchOp>(
                [](auto) { return success(); })
            .Default(
                [](Operation *) { return failure(); }); // pipe-verify-kernels lets none through
    if (failed(result))
      return failure();
  }
  return success();
}

LogicalResult PlanVisitor::visit(pipe::DecodeOp op) {
  const int media = scope.mediaOf(op.getData(), op.getMedia());
  FailureOr<int> buffer = scope.addBuffer(op.getResult(), plan::BufferKind::media);
  if (failed(buffer))
    return failure();
  auto decode = std::make_unique<plan::DecodeT>();
  decode->media = media;
  decode->buffer = *buffer;
  decode->format = op.getFormat().str();
  decode->orient = op.getOrient();
  for (Value asked : op.getAsked()) {
    FailureOr<int> slot = scope.slotOf(asked);
    if (failed(slot))
      return failure();
    decode->arguments.push_back(*slot);
  }
  auto type = llvm::cast<pipe::NamedTensorType>(op.getType());
  const size_t axes = op.getRegion().size() / 2;
  for (size_t i = 0; i < axes; ++i) {
    FailureOr<int> low = scope.slotOf(op.getRegion()[i]);
    FailureOr<int> high = scope.slotOf(op.getRegion()[axes + i]);
    if (failed(low) || failed(high))
      return failure();
    const auto name = llvm::cast<StringAttr>((*op.getOver())[i]);
    decode->region.emplace_back(static_cast<int>(type.axisIndex(name)), *low, *high);
  }
  if (const auto planes = op.getPlanes()) {
    plan.planes = kernels.planesKernel(*planes);
    decode->planes = plan.planes >= 0;
  }
  plan.decodes.push_back(std::move(decode));
  return success();
}

LogicalResult PlanVisitor::visit(pipe::LaunchOp op) {
  auto step = std::make_unique<plan::StepT>();
  if (failed(kernels.setCode(op, *step)))
    return failure();
  step->once = op.getOnce();
  step->stage = op.getOnce(); // even if no sample decides it: the first stage is of samples alone
  for (Value tensor : op.getTensors()) {
    auto access = scope.accessOf(tensor);
    if (failed(access))
      return failure();
    step->stage = std::max(step->stage, scope.stageOf(tensor, op.getOnce()));
    step->inputs.push_back(std::move(*access));
  }
  if (Value guard = op.getGuard()) {
    FailureOr<int> slot = scope.slotOf(guard);
    if (failed(slot))
      return failure();
    step->guard = *slot;
  }
  for (Value result : op.getResults()) {
    const bool delivered = llvm::any_of(result.getUsers(), [&](Operation *user) {
      auto output = llvm::dyn_cast<pipe::OutputOp>(user);
      return output && output.getValue() == result;
    });
    FailureOr<int> buffer =
        scope.addBuffer(result, delivered ? plan::BufferKind::output : plan::BufferKind::temporary);
    if (failed(buffer))
      return failure();
    scope.stages[result] = step->stage;
    if (op.getOnce())
      scope.madeOnce.insert(result);
    plan.buffers[*buffer]->once = op.getOnce();
    step->outputs.push_back(*buffer);
  }
  plan.steps.push_back(std::move(step));
  return success();
}

/// Moves what a device runs into one stage, behind all of the host's.
static void putDeviceLast(plan::PlanT &plan) {
  int last = 0;
  for (const auto &step : plan.steps)
    last = step->device ? last : std::max(last, step->stage);
  for (const auto &step : plan.steps)
    step->stage = step->device ? last + 1 : step->stage;
}

FailureOr<std::vector<uint8_t>> codegen::buildPlan(ModuleOp module, StringRef compilerVersion) {
  PlanVisitor visitor(module);
  if (failed(visitor.build()))
    return failure();
  putDeviceLast(visitor.plan);
  shareMemory(visitor.plan);
  visitor.plan.compiler = compilerVersion.str();
  flatbuffers::FlatBufferBuilder buffer;
  plan::FinishPlanBuffer(buffer, plan::Plan::Pack(buffer, &visitor.plan));
  return std::vector<uint8_t>(buffer.GetBufferPointer(),
                              buffer.GetBufferPointer() + buffer.GetSize());
}
