// SPDX-License-Identifier: Apache-2.0
//
// The kernels form.
#include "runtime/abi/kernel.h"
#include "stdlib/reference/Arithmetic.h"
#include "stdlib/reference/Machine.h"
#include <bit>

namespace penstock::reference {

void runExtent(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ExtentOp>(self.op);
  const Tensor &tensor = machine.tensor(slot, op.getTensor());
  const int64_t axis = tensor.axis(op.getAxis().str());
  if (axis < 0)
    fault(op, "the tensor has no such axis");
  slot.values[self.results[0]] = intScalar(tensor.extents[static_cast<size_t>(axis)]);
}

/// An entry of 8 bytes: integers extended, floats as the bits of f64.
static int64_t entryOf(const Scalar &value) {
  return isFloat(value.type) ? std::bit_cast<int64_t>(value.real) : value.integer;
}

static std::vector<Tensor> launchElsewhere(Machine &machine, Slot &slot, pipe::LaunchOp op) {
  std::vector<const Tensor *> inputs;
  for (mlir::Value tensor : op.getTensors())
    inputs.push_back(&machine.tensor(slot, tensor));
  std::vector<int64_t> scalars;
  for (mlir::Value scalar : op.getScalars())
    scalars.push_back(entryOf(machine.scalar(slot, scalar)));
  std::vector<Tensor> outputs;
  for (mlir::Value result : op.getResults())
    outputs.push_back(machine.blank(slot, result));
  slot.result.failure = machine.inputs.kernels->run(op.getKernel().str(), inputs, outputs, scalars);
  return outputs;
}

static std::vector<Tensor> launchHere(Machine &machine, Slot &slot, pipe::LaunchOp op) {
  const auto found = machine.program.kernels.find(op.getKernel());
  if (found == machine.program.kernels.end())
    fault(op, "no kernel `" + op.getKernel().str() + "`");
  const Block &block = found->second;
  std::vector<Value> arguments;
  for (mlir::Value tensor : op.getTensors()) {
    machine.tensor(slot, tensor);
    arguments.push_back(machine.value(slot, tensor));
  }
  for (mlir::Value scalar : op.getScalars())
    arguments.push_back(machine.scalar(slot, scalar));
  if (arguments.size() != block.arguments.size() || op.getNumResults() != block.results.size())
    fault(op, "the kernel has other arguments or results");
  for (size_t i = 0; i < arguments.size(); ++i)
    slot.values[block.arguments[i]] = arguments[i];
  machine.run(block, slot);
  std::vector<Tensor> outputs;
  if (!slot.failed())
    for (unsigned result : block.results)
      outputs.push_back(*std::get<TensorRef>(slot.values[result]));
  return outputs;
}

/// Returns whether somebody else's code runs for this launch. Codecs are nobody's code:
/// they ask the media.
static bool runsElsewhere(Machine &machine, pipe::LaunchOp op) {
  const auto found = machine.program.kernels.find(op.getKernel());
  const bool isCodec = found != machine.program.kernels.end() && !found->second.body.empty() &&
                       llvm::isa<pipe::EncodeOp, pipe::RecompressOp>(found->second.body[0].op);
  return machine.inputs.kernels && !isCodec;
}

void runLaunch(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::LaunchOp>(self.op);
  if (op.getGuard() && !machine.integer(slot, op.getGuard())) {
    for (unsigned result : self.results)
      slot.values[result] = std::monostate(); // nothing may read them
    return;
  }
  std::vector<Tensor> outputs = runsElsewhere(machine, op) ? launchElsewhere(machine, slot, op)
                                                           : launchHere(machine, slot, op);
  if (slot.failed())
    return;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const mlir::Value result = op.getResult(static_cast<unsigned>(i));
    const Tensor wanted = machine.blank(slot, result);
    if (outputs[i].type != wanted.type || outputs[i].extents != wanted.extents)
      fault(op, "result " + std::to_string(i) + " has another type or other extents");
    outputs[i].axes = wanted.axes;
    machine.set(slot, result, std::move(outputs[i]));
  }
}

void runSwitch(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::SwitchOp>(self.op);
  const auto arms = static_cast<int64_t>(op.getInputs().size());
  const int64_t index = std::clamp<int64_t>(scalarIn(slot, self.operands[0]).integer, 0, arms - 1);
  // Inside an arm that is not taken, no arm ran and nothing reads the result.
  slot.values[self.results[0]] = slot.values[self.operands[static_cast<size_t>(index) + 1]];
}

//===--- the parameter block -----------------------------------------------===//

static int64_t &entry(Slot &slot, const Instruction &self, int64_t index) {
  if (index < 0 || index >= static_cast<int64_t>(slot.block.size()))
    fault(self.op, "entry " + std::to_string(index) + " lies outside the parameter block");
  return slot.block[static_cast<size_t>(index)];
}

void runEntry(Machine &, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::EntryOp>(self.op);
  const int64_t bits = entry(slot, self, static_cast<int64_t>(op.getIndex()));
  const DType type = dtypeOf(op.getType());
  slot.values[self.results[0]] =
      cast(pipe::CastMode::value,
           isFloat(type) ? realScalar(std::bit_cast<double>(bits)) : intScalar(bits), type);
}

void runSetEntry(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::SetEntryOp>(self.op);
  // Only scalars have an entry of 8 bytes; a text parameter has none.
  entry(slot, self, static_cast<int64_t>(op.getIndex())) =
      entryOf(machine.scalar(slot, op.getValue()));
}

void runKeyNumbers(Machine &, Slot &slot, const Instruction &self) {
  const auto &key = std::get<random::Key>(slot.values[self.operands[0]]);
  const uint64_t numbers[] = {key.state, key.position, key.epoch, key.view};
  for (size_t i = 0; i < 4; ++i)
    slot.values[self.results[i]] = intScalar(static_cast<int64_t>(numbers[i]));
}

void runKeyOf(Machine &, Slot &slot, const Instruction &self) {
  auto number = [&](size_t i) {
    return static_cast<uint64_t>(scalarIn(slot, self.operands[i]).integer);
  };
  slot.values[self.results[0]] = random::Key{number(0), number(1), static_cast<uint32_t>(number(2)),
                                             static_cast<uint16_t>(number(3))};
}

//===--- the order of a split pipeline -------------------------------------===//

static void fillKnownEntries(Machine &machine, Slot &slot) {
  pipe::PipelineOp pipeline = machine.program.pipeline;
  slot.block.resize(static_cast<size_t>(*pipeline.getSlots()));
  auto put = [&](int index, int64_t value) {
    if (static_cast<size_t>(index) < slot.block.size())
      slot.block[static_cast<size_t>(index)] = value;
  };
  put(PST_ENTRY_SEED, static_cast<int64_t>(machine.inputs.seed));
  put(PST_ENTRY_EPOCH, machine.inputs.epoch);
  put(PST_ENTRY_POSITION, static_cast<int64_t>(slot.position));
  put(PST_ENTRY_BATCH_POSITION, static_cast<int64_t>(machine.inputs.batchPosition));
  put(PST_ENTRY_SLOT, slot.number);
  put(PST_ENTRY_COUNT, machine.sampleCount());
}

namespace {
/// What is known of a sample, one after the other.
enum class Known { session, place, rows };
} // namespace

/// Returns whether an op only reads parameters, tables and metadata that are known then.
static bool isLeaf(mlir::Operation *op, Known known) {
  if (auto set = llvm::dyn_cast<pipe::SetEntryOp>(op)) {
    mlir::Operation *source = set.getValue().getDefiningOp();
    return source && !llvm::isa<pipe::EntryOp>(source) && isLeaf(source, known);
  }
  if (llvm::isa<pipe::ParamOp, pipe::SourceOp, pipe::LengthOp, pipe::ConstantOp>(op))
    return true;
  auto place = llvm::dyn_cast<pipe::RowIndexOp>(op);
  if (place && place.getRow().getDefiningOp<pipe::PickOp>())
    return known == Known::rows;
  if (place || llvm::isa<pipe::RowOp>(op))
    return known != Known::session;
  if (auto field = llvm::dyn_cast<pipe::FieldOp>(op))
    return known == Known::rows && field.getSizes().empty();
  return known == Known::rows && llvm::isa<pipe::PickOp, pipe::FieldExtentOp, pipe::ProbeOp>(op);
}

static void runLeaves(Machine &machine, llvm::ArrayRef<Slot *> active, Known known) {
  for (const Instruction &instruction : machine.program.body.body) {
    const bool feedsPick = known == Known::rows && llvm::isa<pipe::EntryOp>(instruction.op) &&
                           llvm::any_of(instruction.op->getUsers(), [](mlir::Operation *user) {
                             return llvm::isa<pipe::PickOp>(user);
                           });
    if (!feedsPick && !isLeaf(instruction.op, known))
      continue;
    for (Slot *slot : active) {
      if (slot->failed())
        continue;
      if (instruction.one)
        instruction.one(machine, *slot, instruction);
      else
        instruction.all(machine, slot, instruction);
      if (llvm::isa<pipe::SourceOp>(instruction.op)) {
        const auto &table = std::get<std::shared_ptr<Table>>(slot->values[instruction.results[0]]);
        auto source = instruction.op->getResult(0);
        // The table of `for` is the one that the pipeline's row comes from.
        for (mlir::Operation *user : source.getUsers())
          if (llvm::isa<pipe::RowOp>(user) &&
              slot->block.size() > static_cast<size_t>(PST_ENTRY_TABLE_LENGTH))
            slot->block[PST_ENTRY_TABLE_LENGTH] = table->length();
      }
    }
  }
}

std::optional<Failure> runEarlyKernel(Machine &machine, Slot &slot, const std::string &kernel,
                                      llvm::StringRef kind) {
  const Block &block = machine.program.kernels.find(kernel)->second;
  std::vector<const Tensor *> inputs;
  pipe::PipelineOp pipeline = machine.program.pipeline;
  if (!block.arguments.empty())
    for (auto op : pipeline.getBody().getOps<pipe::FieldsOp>())
      for (mlir::Value field : op.getFields())
        if (op.getKind() == kind) {
          const Value &value = machine.demand(slot, machine.program.numberOf(field), op);
          slot.values[block.arguments[inputs.size()]] = value;
          inputs.push_back(std::get<TensorRef>(value).get());
        }
  std::vector<Tensor> none;
  if (machine.inputs.kernels)
    return machine.inputs.kernels->run(kernel, inputs, none, slot.block);
  machine.run(block, slot);
  return slot.result.failure;
}

void runSplit(Machine &machine, llvm::ArrayRef<Slot *> active) {
  for (Slot *slot : active)
    fillKnownEntries(machine, *slot);
  auto runKernels = [&](const std::vector<std::string> &kernels, llvm::StringRef kind) {
    for (const std::string &kernel : kernels)
      for (Slot *slot : active) {
        if (!slot->failed())
          slot->result.failure = runEarlyKernel(machine, *slot, kernel, kind);
      }
  };
  runLeaves(machine, active, Known::session);
  runLeaves(machine, active, Known::place);
  runKernels(machine.program.select, "select");
  runLeaves(machine, active, Known::rows);
  runKernels(machine.program.setup, "setup");
  machine.run(machine.program.body, active);
}

} // namespace penstock::reference
