// SPDX-License-Identifier: Apache-2.0
//
// One batch, from inputs to outputs.
#include "stdlib/reference/Interpreter.h"
#include "mlir/IR/BuiltinOps.h"
#include "stdlib/reference/Machine.h"

using namespace penstock::reference;

Interpreter::Interpreter(mlir::ModuleOp module, const std::string &pipeline) {
  try {
    program = std::make_unique<Program>(module, pipeline);
  } catch (const Fault &found) {
    error = found.what();
  }
}

Interpreter::~Interpreter() = default;

BatchResult Interpreter::run(const BatchInputs &inputs) const {
  BatchResult result;
  result.error = error;
  if (!program)
    return result;
  try {
    Machine machine(*program, inputs);
    std::vector<Slot *> active;
    for (Slot &slot : machine.slots)
      active.push_back(&slot);
    if (program->pipeline.getSlots())
      runSplit(machine, active);
    else
      machine.run(program->body, active);
    for (Slot &slot : machine.slots)
      result.samples.push_back(std::move(slot.result));
  } catch (const Fault &found) {
    result.error = found.what();
  }
  return result;
}

//===--- the machine -------------------------------------------------------===//

Machine::Machine(const Program &program, const BatchInputs &inputs)
    : program(program), inputs(inputs), slots(inputs.positions.size()) {
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].number = inputs.firstSlot + static_cast<int64_t>(i);
    slots[i].position = inputs.positions[i];
    slots[i].values.resize(program.registers);
  }
}

int64_t Machine::sampleCount() const {
  return inputs.count ? inputs.count : static_cast<int64_t>(slots.size());
}

void Machine::run(const Block &block, llvm::ArrayRef<Slot *> active) {
  std::vector<Slot *> running(active.begin(), active.end());
  for (const Instruction &instruction : block.body) {
    std::erase_if(running, [](const Slot *slot) { return slot->failed(); });
    if (instruction.all) {
      instruction.all(*this, running, instruction);
      continue;
    }
    for (Slot *slot : running)
      instruction.one(*this, *slot, instruction);
  }
}

void Machine::run(const Block &block, Slot &slot) {
  for (const Instruction &instruction : block.body) {
    if (slot.failed())
      return;
    if (instruction.one) {
      instruction.one(*this, slot, instruction);
    } else {
      Slot *only = &slot;
      instruction.all(*this, only, instruction);
    }
  }
}

const Value &Machine::demand(Slot &slot, unsigned number, mlir::Operation *user) {
  if (slot.values[number].index() == 0) {
    const Instruction *definition = program.definition(number);
    if (!definition)
      fault(user, "reads a peer's value of an iteration that the peer does not make");
    for (unsigned operand : definition->operands)
      demand(slot, operand, user);
    // Values that its regions capture from outside.
    definition->op->walk([&](mlir::Operation *inner) {
      for (mlir::Value operand : inner->getOperands())
        if (!definition->op->isAncestor(operand.getParentRegion()->getParentOp()))
          demand(slot, program.numberOf(operand), user);
    });
    Slot *only = &slot;
    if (definition->one)
      definition->one(*this, slot, *definition);
    else
      definition->all(*this, only, *definition);
  }
  return slot.values[number];
}

void Machine::forget(const Block &block, llvm::ArrayRef<Slot *> active) {
  for (const Instruction &instruction : block.body) {
    for (unsigned result : instruction.results)
      for (Slot *slot : active)
        slot->values[result] = std::monostate();
    for (const Block &region : instruction.regions)
      forget(region, active);
  }
}

//===--- registers ---------------------------------------------------------===//

static void expectValue(mlir::Value of, bool present) {
  if (present)
    return;
  mlir::Operation *op = of.getDefiningOp();
  fault(op ? op : of.getParentBlock()->getParentOp(), "a value is read that was not computed");
}

const Scalar &Machine::scalar(const Slot &slot, mlir::Value of) const {
  const auto *found = std::get_if<Scalar>(&value(slot, of));
  expectValue(of, found);
  return *found;
}

const Tensor &Machine::tensor(const Slot &slot, mlir::Value of) const {
  const auto *found = std::get_if<TensorRef>(&value(slot, of));
  expectValue(of, found && *found);
  return **found;
}

Tensor Machine::blank(const Slot &slot, mlir::Value result) const {
  auto type = llvm::cast<pipe::NamedTensorType>(result.getType());
  std::vector<std::string> axes;
  std::vector<int64_t> extents;
  mlir::Operation *op = result.getDefiningOp();
  // Sizes stand in the order of the dynamic axes of all results.
  size_t size = 0;
  for (mlir::Value earlier : op->getResults()) {
    if (earlier == result)
      break;
    if (auto other = llvm::dyn_cast<pipe::NamedTensorType>(earlier.getType()))
      size += other.dynamicAxes().size();
  }
  for (const pipe::Axis &axis : type.getAxes()) {
    axes.push_back(axis.name);
    extents.push_back(
        axis.isStatic() ? axis.extent
                        : integer(slot, llvm::cast<pipe::SizedOpInterface>(op).getSizes()[size++]));
    if (extents.back() < 0)
      fault(op, "axis `" + axis.name + "` has the extent " + std::to_string(extents.back()));
    if (!axis.isStatic() && axis.bound >= 0 && extents.back() > axis.bound)
      fault(op, "axis `" + axis.name + "` has the extent " + std::to_string(extents.back()) +
                    " over its bound");
  }
  return Tensor(dtypeOf(type.getElementType()), std::move(axes), std::move(extents));
}

std::vector<int64_t> penstock::reference::axesOf(const Tensor &tensor, mlir::ArrayAttr names) {
  std::vector<int64_t> result;
  for (auto name : names.getAsRange<mlir::StringAttr>())
    result.push_back(tensor.axis(name.getValue().str()));
  return result;
}
