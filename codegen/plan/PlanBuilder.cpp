//===- PlanBuilder.cpp - the pipeline op after the split, as a plan
//--------===//
//
// One visit per op of the pipeline body, in order; no decisions are taken
// here. What is left of a pipeline after the split maps one to one to tables
// of the plan.
//
//===----------------------------------------------------------------------===//

#include "codegen/plan/PlanBuilder.h"
#include "codegen/plan/PlanScope.h"
#include "codegen/plan/SharedPlaces.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/abi/kernel.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::codegen;

namespace {

class PlanVisitor {
public:
  explicit PlanVisitor(ModuleOp module) : module(module), scope(plan) {}

  LogicalResult build();
  plan::PlanT plan;

private:
  LogicalResult addKernels();
  FailureOr<int> kernelOf(pipe::LaunchOp op);
  /// What runs for a launch, and its scalars: a kernel's code, or a codec.
  LogicalResult setCode(pipe::LaunchOp op, plan::StepT &step);
  FailureOr<std::unique_ptr<plan::DimT>> scratchDim(pipe::LaunchOp op, ArrayRef<int64_t> place);
  LogicalResult visitBody(Block &body);
  LogicalResult visit(pipe::ParamOp op);
  LogicalResult visit(pipe::SourceOp op);
  LogicalResult visit(pipe::RowOp op);
  LogicalResult visit(pipe::AdmitOp op);
  LogicalResult visit(pipe::PickOp op);
  LogicalResult visit(pipe::ProbeOp op);
  LogicalResult visit(pipe::SetSlotOp op);
  LogicalResult visit(pipe::DecodeOp op);
  LogicalResult visit(pipe::LaunchOp op);
  LogicalResult visit(pipe::BatchOp op);
  LogicalResult visit(pipe::OutputOp op);
  LogicalResult addCounts(pipe::OutputOp op, plan::OutputT &output);
  void addDrawsAndChecks(func::FuncOp function);

  ModuleOp module;
  PlanScope scope;
  llvm::StringMap<func::FuncOp> functions;
  llvm::StringMap<int> sharedKernels; ///< those without scratch of dynamic size
};

} // namespace

LogicalResult PlanVisitor::build() {
  auto pipelines = module.getOps<pipe::PipelineOp>();
  if (pipelines.empty())
    return module.emitError("holds no pipeline");
  pipe::PipelineOp pipeline = *pipelines.begin();
  if (!pipeline.getSlots())
    return pipeline.emitError("has not been split: its parameter block has no size");
  plan.abi = PST_KERNEL_ABI_VERSION;
  plan.name = pipeline.getSymName().str();
  plan.hash = static_cast<uint64_t>(pipeline.getHash().value_or(0));
  plan.seed = static_cast<int64_t>(pipeline.getSeed());
  plan.substitute = pipeline.getSubstitute().convertToDouble();
  plan.slots = static_cast<int>(*pipeline.getSlots());
  if (failed(addKernels()))
    return failure();
  return visitBody(pipeline.getBody().front());
}

/// A kernel's entry without scratch, by its function.
static std::unique_ptr<plan::KernelT> entryOf(func::FuncOp function) {
  auto entry = std::make_unique<plan::KernelT>();
  entry->name = function.getSymName().str();
  if (auto fixed = function->getAttrOfType<IntegerAttr>("pipe.scratch_fixed"))
    entry->scratch_fixed = fixed.getInt();
  return entry;
}

LogicalResult PlanVisitor::addKernels() {
  for (auto function : module.getOps<func::FuncOp>()) {
    auto kind = function->getAttrOfType<StringAttr>("pipe.kind");
    if (!kind)
      continue; // a helper
    functions[function.getSymName()] = function;
    addDrawsAndChecks(function);
    if (kind != "rows" && kind != "select" && kind != "setup")
      continue; // entered by its launches, which know the sizes
    if (auto terms = function->getAttrOfType<ArrayAttr>("pipe.scratch"); terms && !terms.empty())
      return function.emitError("needs scratch of a size that depends on the sample");
    int32_t &entry = kind == "rows"     ? plan.rows_kernel
                     : kind == "select" ? plan.select
                                        : plan.setup;
    entry = static_cast<int>(plan.kernels.size());
    plan.kernels.push_back(entryOf(function));
  }
  return success();
}

void PlanVisitor::addDrawsAndChecks(func::FuncOp function) {
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
FailureOr<int> PlanVisitor::kernelOf(pipe::LaunchOp op) {
  auto found = functions.find(op.getKernel());
  if (found == functions.end())
    return op.emitOpError() << "runs `" << op.getKernel() << "`, which has no code";
  auto entry = entryOf(found->second);
  auto terms = found->second->getAttrOfType<ArrayAttr>("pipe.scratch");
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
FailureOr<std::unique_ptr<plan::DimT>> PlanVisitor::scratchDim(pipe::LaunchOp op,
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

LogicalResult PlanVisitor::visitBody(Block &body) {
  for (Operation &op : body) {
    LogicalResult result =
        llvm::TypeSwitch<Operation *, LogicalResult>(&op)
            .Case<pipe::ParamOp, pipe::SourceOp, pipe::RowOp, pipe::AdmitOp, pipe::PickOp,
                  pipe::ProbeOp, pipe::SetSlotOp, pipe::DecodeOp, pipe::LaunchOp, pipe::BatchOp,
                  pipe::OutputOp>([&](auto typed) { return visit(typed); })
            // Read where they are used.
            .Case<pipe::FieldOp, pipe::FieldExtentOp, pipe::SlotOp, pipe::ConstantOp,
                  pipe::LengthOp, pipe::PeerOp, pipe::SwitchOp>([](auto) { return success(); })
            .Default([](Operation *other) {
              return other->emitOpError("is left in the pipeline after the split");
            });
    if (failed(result))
      return failure();
  }
  return success();
}

//===--- parameters, sources, rows, metadata
//-------------------------------===//

LogicalResult PlanVisitor::visit(pipe::ParamOp op) {
  auto param = std::make_unique<plan::ParamT>();
  param->name = op.getName().str();
  // Values are given, and stand in slots, as the widest type of their kind.
  param->type = llvm::isa<FloatType>(op.getType()) ? plan::DType::f64 : planType(op.getType());
  if (op.getType().isIntOrIndex() && !op.getType().isInteger(1))
    param->type = plan::DType::i64;
  if (std::optional<Attribute> value = op.getDefaultValue()) {
    Literal literal = literalOf(*value);
    param->integer = literal.integer;
    param->number = literal.number;
    param->text = literal.text;
  } else {
    param->required = true;
  }
  if (op.getDoc())
    param->doc = op.getDoc()->str();
  scope.params[op.getResult()] = static_cast<int>(plan.params.size());
  plan.params.push_back(std::move(param));
  return success();
}

LogicalResult PlanVisitor::visit(pipe::SourceOp op) {
  auto source = std::make_unique<plan::SourceT>();
  source->kind = op.getKind().str();
  for (auto [value, name] : llvm::zip(op.getArgs(), op.getArgNames().getAsRange<StringAttr>())) {
    auto argument = std::make_unique<plan::ArgumentT>();
    argument->name = name.str();
    argument->type = planType(value.getType());
    if (auto param = scope.params.find(value); param != scope.params.end()) {
      argument->param = param->second;
    } else if (auto constant = value.getDefiningOp<pipe::ConstantOp>()) {
      Literal literal = literalOf(constant.getValue());
      argument->integer = literal.integer;
      argument->number = literal.number;
      argument->text = literal.text;
    } else {
      return op.emitOpError() << "has an argument `" << name.strref()
                              << "` that is neither a parameter nor a constant";
    }
    source->arguments.push_back(std::move(argument));
  }
  if (auto settings = op->getAttrOfType<DictionaryAttr>("settings"))
    for (NamedAttribute setting : settings) {
      auto argument = std::make_unique<plan::ArgumentT>();
      argument->name = setting.getName().str();
      argument->type = plan::DType::i64;
      if (auto text = llvm::dyn_cast<StringAttr>(setting.getValue())) {
        argument->type = plan::DType::text;
        argument->text = text.getValue().str();
      } else {
        argument->integer = llvm::cast<IntegerAttr>(setting.getValue()).getInt();
      }
      source->arguments.push_back(std::move(argument));
    }
  for (NamedAttribute column : op.getColumns()) {
    auto entry = std::make_unique<plan::ColumnT>();
    Type type = llvm::cast<TypeAttr>(column.getValue()).getValue();
    entry->name = column.getName().str();
    entry->type = planType(type);
    if (auto tensor = llvm::dyn_cast<pipe::NamedTensorType>(type))
      for (const pipe::Axis &axis : tensor.getAxes()) {
        auto dim = std::make_unique<plan::DimT>();
        dim->extent = axis.extent;
        dim->bound = axis.bound;
        entry->dims.push_back(std::move(dim));
        entry->axes.push_back(axis.name);
      }
    source->columns.push_back(std::move(entry));
  }
  scope.sources[op.getResult()] = static_cast<int>(plan.sources.size());
  plan.sources.push_back(std::move(source));
  return success();
}

LogicalResult PlanVisitor::visit(pipe::RowOp op) {
  if (!plan.rows.empty())
    return op.emitOpError("is the second one");
  switch (op.getOrder()) {
  case pipe::OrderKind::sequential:
    plan.order = plan::Order::sequential;
    break;
  case pipe::OrderKind::shuffled:
    plan.order = plan::Order::shuffled;
    break;
  case pipe::OrderKind::weighted:
    plan.order = plan::Order::weighted;
    break;
  case pipe::OrderKind::listed:
    plan.order = plan::Order::listed;
    break;
  }
  if (Value list = op.getList()) {
    auto constant = list.getDefiningOp<pipe::ConstantOp>();
    if (!constant)
      return op.emitOpError("has a list that is not constant");
    for (const APInt &row : llvm::cast<DenseElementsAttr>(constant.getValue()).getValues<APInt>())
      plan.order_list.push_back(row.getSExtValue());
  }
  auto row = std::make_unique<plan::RowT>();
  row->source = scope.sources.lookup(op.getTable());
  scope.rows[op.getResult()] = 0;
  plan.rows.push_back(std::move(row));
  return success();
}

LogicalResult PlanVisitor::visit(pipe::AdmitOp op) {
  for (auto [value, slot] : {std::pair<Value, int32_t *>(op.getCondition(), &plan.keep_slot),
                             std::pair<Value, int32_t *>(op.getWeight(), &plan.weight_slot)}) {
    if (!value)
      continue;
    FailureOr<int> number = scope.slotOf(value);
    if (failed(number))
      return failure();
    *slot = *number;
  }
  return success();
}

LogicalResult PlanVisitor::visit(pipe::PickOp op) {
  FailureOr<int> slot = scope.slotOf(op.getIndex());
  if (failed(slot))
    return failure();
  auto row = std::make_unique<plan::RowT>();
  row->source = scope.sources.lookup(op.getTable());
  row->slot = *slot;
  scope.rows[op.getResult()] = static_cast<int>(plan.rows.size());
  plan.rows.push_back(std::move(row));
  return success();
}

LogicalResult PlanVisitor::visit(pipe::ProbeOp op) {
  return scope.mediaOf(op.getData(), op.getMedia());
}

LogicalResult PlanVisitor::visit(pipe::SetSlotOp op) {
  const int slot = static_cast<int>(op.getIndex());
  Value value = op.getValue();
  if (auto param = scope.params.find(value); param != scope.params.end()) {
    plan.params[static_cast<size_t>(param->second)]->slot = slot;
    return success();
  }
  Operation *leaf = value.getDefiningOp();
  if (auto probe = llvm::dyn_cast_or_null<pipe::ProbeOp>(leaf)) {
    FailureOr<int> media = scope.mediaOf(probe.getData(), probe.getMedia());
    if (failed(media))
      return failure();
    plan::MediaT &entry = *plan.media[static_cast<size_t>(*media)];
    int32_t &target = value == probe.getHeight()  ? entry.height_slot
                      : value == probe.getWidth() ? entry.width_slot
                                                  : entry.orientation_slot;
    if (target >= 0 && target != slot)
      return op.emitOpError("is the second slot for one number of a header; CSE has not run");
    target = slot;
    return success();
  }
  auto entry = std::make_unique<plan::FieldSlotT>();
  entry->slot = slot;
  Value rowValue;
  StringRef name;
  if (auto field = llvm::dyn_cast_or_null<pipe::FieldOp>(leaf)) {
    rowValue = field.getRow();
    name = field.getName();
  } else if (auto extent = llvm::dyn_cast_or_null<pipe::FieldExtentOp>(leaf)) {
    rowValue = extent.getRow();
    name = extent.getName();
  } else {
    return op.emitOpError("fills a slot with what is no parameter, field or header value");
  }
  FailureOr<int> row = scope.rowOf(rowValue);
  if (failed(row))
    return failure();
  entry->row = *row;
  entry->column = scope.columnOf(rowValue, name);
  if (entry->column < 0)
    return op.emitOpError() << "reads column `" << name << "`, which the source does not have";
  if (auto extent = llvm::dyn_cast<pipe::FieldExtentOp>(leaf)) {
    const plan::SourceT &source =
        *plan.sources[static_cast<size_t>(plan.rows[static_cast<size_t>(*row)]->source)];
    const auto &axes = source.columns[static_cast<size_t>(entry->column)]->axes;
    entry->axis = static_cast<int>(llvm::find(axes, extent.getAxis()) - axes.begin());
  }
  plan.fields.push_back(std::move(entry));
  return success();
}

//===--- decodes, steps, outputs
//-------------------------------------------===//

LogicalResult PlanVisitor::visit(pipe::DecodeOp op) {
  FailureOr<int> media = scope.mediaOf(op.getData(), op.getMedia());
  FailureOr<int> buffer = scope.addBuffer(op.getResult(), plan::BufferKind::media);
  if (failed(media) || failed(buffer))
    return failure();
  auto decode = std::make_unique<plan::DecodeT>();
  decode->media = *media;
  decode->buffer = *buffer;
  decode->format = op.getFormat().str();
  decode->orient = op.getOrient();
  SmallVector<int32_t *> region = {&decode->top, &decode->left, &decode->bottom, &decode->right};
  if (op.getMedia() == "video")
    region.insert(region.begin(), {&decode->first, &decode->step});
  for (auto [value, target] : llvm::zip(op.getRegion(), region)) {
    FailureOr<int> slot = scope.slotOf(value);
    if (failed(slot))
      return failure();
    *target = *slot;
  }
  plan.decodes.push_back(std::move(decode));
  return success();
}

static plan::Codec codecNamed(StringRef name) {
  return name == "jpeg"  ? plan::Codec::jpeg
         : name == "png" ? plan::Codec::png
                         : plan::Codec::recompress;
}

LogicalResult PlanVisitor::setCode(pipe::LaunchOp op, plan::StepT &step) {
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
  }
  for (Value scalar : scalars) {
    FailureOr<int> slot = scope.slotOf(scalar);
    if (failed(slot))
      return failure();
    step.scalars.push_back(*slot);
  }
  return success();
}

LogicalResult PlanVisitor::visit(pipe::LaunchOp op) {
  auto step = std::make_unique<plan::StepT>();
  if (failed(setCode(op, *step)))
    return failure();
  for (Value tensor : op.getTensors()) {
    auto access = scope.accessOf(tensor);
    if (failed(access))
      return failure();
    step->stage = std::max(step->stage, scope.stageOf(tensor));
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
    step->outputs.push_back(*buffer);
  }
  plan.steps.push_back(std::move(step));
  return success();
}

LogicalResult PlanVisitor::visit(pipe::BatchOp op) {
  plan.batch = std::make_unique<plan::BatchT>();
  plan.batch->global = op.getGlobal();
  plan.batch->keep_last = op.getLast() == pipe::LastBatch::keep;
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
    if (auto place = op.getLoc()->findInstanceOf<FileLineColLoc>()) {
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

FailureOr<std::vector<uint8_t>> codegen::buildPlan(ModuleOp module, StringRef compilerVersion) {
  PlanVisitor visitor(module);
  if (failed(visitor.build()))
    return failure();
  shareMemory(visitor.plan);
  visitor.plan.compiler = compilerVersion.str();
  flatbuffers::FlatBufferBuilder buffer;
  plan::FinishPlanBuffer(buffer, plan::Plan::Pack(buffer, &visitor.plan));
  return std::vector<uint8_t>(buffer.GetBufferPointer(),
                              buffer.GetBufferPointer() + buffer.GetSize());
}
