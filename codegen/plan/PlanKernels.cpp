// SPDX-License-Identifier: Apache-2.0
//
// What runs, as entries of the plan.
#include "codegen/plan/PlanKernels.h"
#include "codegen/cuda/Printer.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;

std::vector<plan::RecordField> codegen::recordOf(func::FuncOp function) {
  std::vector<plan::RecordField> record{{plan::RecordValue::entry, 0, 0, 0}};
  llvm::SmallDenseMap<int64_t, uint8_t> bytes; // of a tensor's elements; its address comes first
  for (auto note :
       function->getAttrOfType<ArrayAttr>("pipe.arguments").getAsRange<DictionaryAttr>()) {
    const auto value =
        llvm::StringSwitch<plan::RecordValue>(note.getAs<StringAttr>("pipe.from").getValue())
            .Case("data", plan::RecordValue::data)
            .Case("extent", plan::RecordValue::extent)
            .Case("stride", plan::RecordValue::stride)
            .Case("scalar", plan::RecordValue::scalar)
            .Default(plan::RecordValue::scratch);
    auto number = note.getAs<IntegerAttr>("pipe.number"),
         axis = note.getAs<IntegerAttr>("pipe.axis");
    if (auto size = note.getAs<IntegerAttr>("pipe.bytes"))
      bytes[number.getInt()] = static_cast<uint8_t>(size.getInt());
    record.emplace_back(value, axis ? static_cast<uint8_t>(axis.getInt()) : 0,
                        number ? bytes.lookup(number.getInt()) : 0,
                        number ? static_cast<uint16_t>(number.getInt()) : 0);
  }
  return record;
}

/// A kernel's entry without scratch, by its function.
std::unique_ptr<plan::KernelT> PlanKernels::entryOf(func::FuncOp function) const {
  auto entry = std::make_unique<plan::KernelT>();
  if (auto threads = function->getAttrOfType<IntegerAttr>("pipe.threads")) {
    entry->device = std::make_unique<plan::DeviceKernelT>();
    entry->device->name = cudaKernelName({plan.name, {}}, function.getSymName());
    entry->device->threads = static_cast<uint32_t>(threads.getInt());
    entry->device->one_block =
        function->getAttrOfType<StringAttr>("pipe.mapping").getValue() == "block";
    if (auto shared = function->getAttrOfType<IntegerAttr>("pipe.shared"))
      entry->device->shared = static_cast<uint32_t>(shared.getInt());
    if (auto blocks = function->getAttrOfType<IntegerAttr>("pipe.blocks"))
      entry->device->blocks = static_cast<uint32_t>(blocks.getInt());
    entry->device->record = recordOf(function);
  }
  entry->name = function.getSymName().str();
  if (auto fixed = function->getAttrOfType<IntegerAttr>("pipe.scratch_fixed"))
    entry->scratch_fixed = fixed.getInt();
  return entry;
}

LogicalResult PlanKernels::addKernels() {
  for (auto function : module.getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>("pipe.kind");
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
  auto entries = [&](StringRef name) {
    auto list = function->getAttrOfType<ArrayAttr>(name);
    return list ? list : ArrayAttr::get(module.getContext(), {});
  };
  auto text = [](DictionaryAttr entry, StringRef key) {
    return llvm::cast<StringAttr>(entry.get(key)).str();
  };
  auto number = [](DictionaryAttr entry, StringRef key) {
    return static_cast<int>(llvm::cast<IntegerAttr>(entry.get(key)).getInt());
  };
  for (auto entry : entries("pipe.draws").getAsRange<DictionaryAttr>()) {
    auto draw = std::make_unique<plan::DrawT>();
    draw->path = text(entry, "path");
    draw->slot = number(entry, "slot");
    draw->type = planType(llvm::cast<TypeAttr>(entry.get("type")).getValue());
    plan.draws.push_back(std::move(draw));
  }
  for (auto entry : entries("pipe.checks").getAsRange<DictionaryAttr>()) {
    auto check = std::make_unique<plan::CheckT>();
    check->id = static_cast<int>(plan.checks.size()) + 1;
    check->message = text(entry, "message");
    check->file = text(entry, "file");
    check->line = number(entry, "line");
    check->column = number(entry, "column");
    plan.checks.push_back(std::move(check));
  }
}

/// The number of the kernel that a launch runs. Launches of one function whose
/// scratch follows from different slots are different kernels of the plan.
FailureOr<int> PlanKernels::kernelOf(pipe::LaunchOp op) {
  func::FuncOp function = functions.lookup(op.getKernel());
  auto entry = entryOf(function);
  auto terms = function->getAttrOfType<ArrayAttr>("pipe.scratch");
  if (!terms || terms.empty()) {
    if (auto known = sharedKernels.find(op.getKernel()); known != sharedKernels.end())
      return known->second;
    sharedKernels[op.getKernel()] = static_cast<int>(plan.kernels.size());
  } else {
    for (auto term : terms.getAsRange<DictionaryAttr>()) {
      auto result = std::make_unique<plan::ScratchTermT>();
      result->bytes = llvm::cast<IntegerAttr>(term.get("bytes")).getInt();
      for (Attribute place : llvm::cast<ArrayAttr>(term.get("dims"))) {
        auto dim = scratchDim(op, llvm::cast<DenseI64ArrayAttr>(place).asArrayRef());
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

/// {0, scalar argument}, {1, tensor argument, axis} or {2, number}, as
/// compiler/Conversion leaves it.
FailureOr<std::unique_ptr<plan::DimT>> PlanKernels::scratchDim(pipe::LaunchOp op,
                                                               ArrayRef<int64_t> place) {
  auto dim = std::make_unique<plan::DimT>();
  if (place[0] == 2) {
    dim->extent = place[1];
    return dim;
  }
  if (place[0] == 1) {
    auto dims = scope.dimsOf(op.getTensors()[static_cast<unsigned>(place[1])]);
    if (failed(dims))
      return failure();
    return std::move((*dims)[static_cast<size_t>(place[2])]);
  }
  FailureOr<int> slot = scope.slotOf(op.getScalars()[static_cast<unsigned>(place[1])]);
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
  if (auto codec = function ? function->getAttrOfType<StringAttr>("pipe.codec") : StringAttr()) {
    step.codec = codecNamed(codec);
    auto quality = function->getAttrOfType<IntegerAttr>("pipe.quality");
    if (quality)
      scalars = {scalars[static_cast<size_t>(quality.getInt())]};
    else
      scalars.clear(); // what is left are extents, which the buffers have
  } else {
    FailureOr<int> kernel = kernelOf(op);
    if (failed(kernel))
      return failure();
    step.kernel = *kernel;
    step.device = plan.kernels[static_cast<size_t>(*kernel)]->device != nullptr;
  }
  for (Value scalar : scalars) {
    FailureOr<int> slot = scope.slotOf(scalar);
    if (failed(slot))
      return failure();
    step.scalars.push_back(*slot);
  }
  return success();
}
