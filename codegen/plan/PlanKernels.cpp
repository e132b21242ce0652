// SPDX-License-Identifier: Apache-2.0
//
// Kernels, codecs and checks as entries of the plan.
#include "codegen/plan/PlanKernels.h"
#include "codegen/cuda/Printer.h"
#include "compiler/Conversion/KernelContract.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;
using namespace penstock::conversion;

static plan::RecordValue recordValue(ArgumentSource source) {
  switch (source) {
  case ArgumentSource::data:
    return plan::RecordValue::data;
  case ArgumentSource::extent:
    return plan::RecordValue::extent;
  case ArgumentSource::stride:
    return plan::RecordValue::stride;
  case ArgumentSource::scalar:
    return plan::RecordValue::scalar;
  case ArgumentSource::part:
    return plan::RecordValue::part;
  case ArgumentSource::scratch:
    break;
  }
  return plan::RecordValue::scratch;
}

std::vector<plan::RecordField> codegen::recordOf(func::FuncOp function) {
  std::vector<plan::RecordField> record{{plan::RecordValue::entry, 0, 0, 0}};
  llvm::SmallDenseMap<int64_t, uint8_t> bytes; // of a tensor's elements; its address comes first
  for (const KernelArgument &argument : argumentsOf(function)) {
    if (argument.bytes)
      bytes[*argument.number] = static_cast<uint8_t>(*argument.bytes);
    record.emplace_back(recordValue(argument.source),
                        static_cast<uint8_t>(argument.axis.value_or(0)),
                        argument.number ? bytes.lookup(*argument.number) : 0,
                        static_cast<uint16_t>(argument.number.value_or(0)));
  }
  return record;
}

/// A kernel's entry without scratch, by its function.
std::unique_ptr<plan::KernelT> PlanKernels::entryOf(func::FuncOp function) const {
  auto entry = std::make_unique<plan::KernelT>();
  if (const auto launch = launchOf(function)) {
    entry->device = std::make_unique<plan::DeviceKernelT>();
    entry->device->name = cudaKernelName({plan.name, {}}, function.getSymName());
    entry->device->threads = static_cast<uint32_t>(launch->threads);
    entry->device->one_block = launch->isOneBlock();
    if (launch->shared)
      entry->device->shared = static_cast<uint32_t>(*launch->shared);
    if (launch->blocks)
      entry->device->blocks = static_cast<uint32_t>(*launch->blocks);
    entry->device->held.assign(launch->held.begin(), launch->held.end());
    entry->device->record = recordOf(function);
  }
  entry->name = function.getSymName().str();
  entry->scratch_fixed = scratchOf(function).fixed;
  return entry;
}

LogicalResult PlanKernels::addKernels() {
  if (failed(verifyContracts(module)))
    return failure();
  auto launches = joinedLaunches(module);
  if (failed(launches))
    return failure();
  joined = std::move(*launches);
  for (const auto &[group, launch] : joined) {
    auto entry = std::make_unique<plan::JoinT>();
    entry->name = cudaKernelName({plan.name, {}}, launch.name);
    entry->threads = static_cast<uint32_t>(launch.threads);
    entry->shared = static_cast<uint32_t>(launch.shared);
    entry->chains = static_cast<uint32_t>(launch.chains());
    entry->room = static_cast<uint32_t>(launch.room());
    plan.joins.push_back(std::move(entry));
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    StringAttr kind = kindOf(function);
    if (!kind)
      continue; // a helper
    functions[function.getSymName()] = function;
    addDrawsAndChecks(function);
    if (kind != "rows" && kind != "select" && kind != "setup")
      continue; // entered by its launches, which know the sizes
    int32_t &entry = kind == "rows"     ? plan.rows_kernel
                     : kind == "select" ? plan.select
                                        : plan.setup;
    entry = static_cast<int>(plan.kernels.size());
    plan.kernels.push_back(entryOf(function));
  }
  return success();
}

void PlanKernels::addDrawsAndChecks(func::FuncOp function) {
  for (const KeptDraw &kept : drawsOf(function)) {
    auto draw = std::make_unique<plan::DrawT>();
    draw->path = kept.path.str();
    draw->slot = static_cast<int>(kept.slot);
    draw->type = planType(kept.type);
    plan.draws.push_back(std::move(draw));
  }
  for (const KeptCheck &kept : checksOf(function)) {
    auto check = std::make_unique<plan::CheckT>();
    check->id = static_cast<int>(plan.checks.size()) + 1;
    check->message = kept.message.str();
    check->file = kept.file.str();
    check->line = static_cast<int>(kept.line);
    check->column = static_cast<int>(kept.column);
    plan.checks.push_back(std::move(check));
  }
}

/// The number of the kernel that a launch runs. Launches of one function whose
/// scratch follows from different slots are different kernels of the plan.
FailureOr<int> PlanKernels::kernelOf(pipe::LaunchOp op) {
  func::FuncOp function = functions.lookup(op.getKernel());
  if (!function)
    return op.emitOpError() << "runs `" << op.getKernel() << "`, which is no kernel";
  auto entry = entryOf(function);
  const ScratchNeed need = scratchOf(function);
  if (need.terms.empty()) {
    if (auto known = sharedKernels.find(op.getKernel()); known != sharedKernels.end())
      return known->second;
    sharedKernels[op.getKernel()] = static_cast<int>(plan.kernels.size());
  } else {
    for (const ScratchTerm &term : need.terms) {
      auto result = std::make_unique<plan::ScratchTermT>();
      result->bytes = term.bytes;
      for (const ArgumentExtent &extent : term.extents) {
        auto dim = scratchDim(op, extent);
        if (failed(dim))
          return failure();
        result->dims.push_back(std::move(*dim));
      }
      entry->scratch.push_back(std::move(result));
    }
  }
  plan.kernels.push_back(std::move(entry));
  return static_cast<int>(plan.kernels.size()) - 1;
}

int PlanKernels::planesKernel(StringRef name) {
  func::FuncOp function = functions.lookup(name);
  if (!function || !launchOf(function))
    return -1;
  auto [known, fresh] = sharedKernels.try_emplace(name, static_cast<int>(plan.kernels.size()));
  if (fresh)
    plan.kernels.push_back(entryOf(function));
  return known->second;
}

FailureOr<std::unique_ptr<plan::DimT>>
PlanKernels::scratchDim(pipe::LaunchOp op, const conversion::ArgumentExtent &extent) {
  auto dim = std::make_unique<plan::DimT>();
  if (extent.kind == ArgumentExtent::Kind::number) {
    dim->extent = extent.value;
    return dim;
  }
  const auto number = static_cast<size_t>(extent.value);
  const bool isTensor = extent.kind == ArgumentExtent::Kind::tensor;
  if (number >= (isTensor ? op.getTensors().size() : op.getScalars().size()))
    return op.emitOpError("lacks an argument that the kernel's scratch memory depends on");
  if (isTensor) {
    auto dims = scope.dimsOf(op.getTensors()[number]);
    if (failed(dims))
      return failure();
    if (static_cast<size_t>(extent.axis) >= dims->size())
      return op.emitOpError("lacks an axis that the kernel's scratch memory depends on");
    return std::move((*dims)[static_cast<size_t>(extent.axis)]);
  }
  FailureOr<int> slot = scope.slotOf(op.getScalars()[number]);
  if (failed(slot))
    return failure();
  dim->slot = *slot;
  return dim;
}

static plan::Codec codecNamed(StringRef name) {
  return name == "jpeg"  ? plan::Codec::jpeg
         : name == "png" ? plan::Codec::png
                         : plan::Codec::recompress;
}

LogicalResult PlanKernels::setCode(pipe::LaunchOp op, plan::StepT &step) {
  SmallVector<Value> scalars(op.getScalars());
  func::FuncOp function = functions.lookup(op.getKernel());
  if (const auto call = function ? codecCallOf(function) : std::nullopt) {
    step.codec = codecNamed(call->codec);
    if (call->quality && static_cast<size_t>(*call->quality) >= scalars.size())
      return op.emitOpError("lacks the quality of the file that the kernel makes");
    if (call->quality)
      scalars = {scalars[static_cast<size_t>(*call->quality)]};
    else
      scalars.clear(); // the rest are extents, which the buffers have
  } else {
    FailureOr<int> kernel = kernelOf(op);
    if (failed(kernel))
      return failure();
    step.kernel = *kernel;
    step.device = plan.kernels[static_cast<size_t>(*kernel)]->device != nullptr;
    if (const auto group = op.getGroup()) {
      const auto launch = joined.find(static_cast<int64_t>(*group));
      const auto body = llvm::find(launch->second.bodies, function.getOperation());
      step.join = static_cast<int>(launch - joined.begin());
      step.body = static_cast<uint16_t>(body - launch->second.bodies.begin());
      if (op.getChain())
        step.chain = static_cast<int>(*op.getChain());
      step.parts = static_cast<uint32_t>(partsOf(op, function));
    }
  }
  for (Value scalar : scalars) {
    FailureOr<int> slot = scope.slotOf(scalar);
    if (failed(slot))
      return failure();
    step.scalars.push_back(*slot);
  }
  return success();
}
