// SPDX-License-Identifier: Apache-2.0
//
// Branches, loops, views, the batch.
#include "stdlib/reference/Machine.h"

namespace penstock::reference {

static void copyResults(Slot &slot, const std::vector<unsigned> &from,
                        const std::vector<unsigned> &to) {
  std::vector<Value> values;
  for (unsigned number : from)
    values.push_back(slot.values[number]);
  for (size_t i = 0; i < to.size(); ++i)
    slot.values[to[i]] = values[i];
}

static void dropFailed(std::vector<Slot *> &slots) {
  std::erase_if(slots, [](const Slot *slot) { return slot->failed(); });
}

void runChoose(Machine &machine, llvm::ArrayRef<Slot *> active, const Instruction &self) {
  const auto arms = static_cast<int64_t>(self.regions.size());
  // A peer may ask for a value of an arm that it did not take this time.
  std::vector<Slot *> all;
  if (active.size() > 1)
    for (Slot &slot : machine.slots)
      all.push_back(&slot);
  for (int64_t arm = 0; arm < arms; ++arm) {
    const Block &block = self.regions[static_cast<size_t>(arm)];
    machine.forget(block, all);
    std::vector<Slot *> takers;
    for (Slot *slot : active)
      if (std::clamp<int64_t>(scalarIn(*slot, self.operands[0]).integer, 0, arms - 1) == arm)
        takers.push_back(slot);
    machine.run(block, takers);
    dropFailed(takers);
    for (Slot *slot : takers)
      copyResults(*slot, block.results, self.results);
  }
}

void runRepeat(Machine &machine, llvm::ArrayRef<Slot *> active, const Instruction &self) {
  auto op = llvm::cast<pipe::RepeatOp>(self.op);
  const Block &block = self.regions[0];
  const std::vector<unsigned> carried(block.arguments.begin() + 1, block.arguments.end());
  const std::vector<unsigned> inits(
      self.operands.begin() + 1, self.operands.begin() + 1 + static_cast<int64_t>(carried.size()));
  for (Slot *slot : active)
    copyResults(*slot, inits, self.results);
  for (int64_t i = 0; i < static_cast<int64_t>(op.getBound()); ++i) {
    std::vector<Slot *> running;
    for (Slot *slot : active)
      if (!slot->failed() && i < machine.integer(*slot, op.getCount()))
        running.push_back(slot);
    for (Slot *slot : running) {
      slot->values[block.arguments[0]] = intScalar(i);
      copyResults(*slot, self.results, carried);
    }
    machine.run(block, running);
    dropFailed(running);
    for (Slot *slot : running)
      copyResults(*slot, block.results, self.results);
  }
}

void runSearch(Machine &machine, llvm::ArrayRef<Slot *> active, const Instruction &self) {
  auto op = llvm::cast<pipe::SearchOp>(self.op);
  const Block &body = self.regions[0], &otherwise = self.regions[1];
  for (Slot *slot : active) {
    bool accepted = false;
    for (int64_t i = 0; i < static_cast<int64_t>(op.getTries()) && !accepted; ++i) {
      slot->values[body.arguments[0]] = intScalar(i);
      machine.run(body, *slot);
      if (slot->failed())
        break;
      accepted = scalarIn(*slot, body.results[0]).integer != 0;
      if (accepted)
        copyResults(*slot, {body.results.begin() + 1, body.results.end()}, self.results);
    }
    if (accepted || slot->failed())
      continue;
    machine.run(otherwise, *slot);
    if (!slot->failed())
      copyResults(*slot, otherwise.results, self.results);
  }
}

void runEach(Machine &machine, llvm::ArrayRef<Slot *> active, const Instruction &self) {
  auto op = llvm::cast<pipe::EachOp>(self.op);
  const Block &block = self.regions[0];
  std::vector<Slot *> running(active.begin(), active.end());
  std::vector<std::vector<Tensor>> stacked;
  for (Slot *slot : active) {
    stacked.emplace_back();
    for (mlir::Value result : op.getResults())
      stacked.back().push_back(machine.blank(*slot, result));
  }
  for (int64_t view = 0; view < static_cast<int64_t>(op.getViews()); ++view) {
    for (Slot *slot : running)
      slot->values[block.arguments[0]] = intScalar(view);
    machine.run(block, running);
    dropFailed(running);
    for (size_t s = 0; s < active.size(); ++s) {
      if (active[s]->failed())
        continue;
      for (size_t r = 0; r < stacked[s].size(); ++r) {
        const Tensor &part = *std::get<TensorRef>(active[s]->values[block.results[r]]);
        Tensor &whole = stacked[s][r];
        if (!std::equal(part.extents.begin(), part.extents.end(), whole.extents.begin() + 1,
                        whole.extents.end()))
          fault(op, "the views have different extents");
        for (int64_t i = 0; i < part.count(); ++i)
          whole.store(view * part.count() + i, part.load(i));
      }
    }
  }
  for (size_t s = 0; s < active.size(); ++s)
    if (!active[s]->failed())
      for (size_t r = 0; r < stacked[s].size(); ++r)
        machine.set(*active[s], op.getResult(static_cast<unsigned>(r)), std::move(stacked[s][r]));
}

//===--- the batch ---------------------------------------------------------===//

void runBatch(Machine &machine, llvm::ArrayRef<Slot *> active, const Instruction &self) {
  machine.run(self.regions[0], active);
}

void runPeer(Machine &machine, llvm::ArrayRef<Slot *> active, const Instruction &self) {
  for (Slot *slot : active) {
    const int64_t wanted = std::clamp<int64_t>(scalarIn(*slot, self.operands[1]).integer, 0,
                                               machine.sampleCount() - 1) -
                           machine.inputs.firstSlot;
    if (wanted < 0 || wanted >= static_cast<int64_t>(machine.slots.size()))
      fault(self.op, "reads a sample of the batch that is not interpreted");
    Slot &other = machine.slots[static_cast<size_t>(wanted)];
    if (!other.failed())
      slot->values[self.results[0]] = machine.demand(other, self.operands[0], self.op);
    if (other.failed())
      slot->result.failure = Failure{"reads a bad sample of the batch", wanted, 0};
  }
}

void runPeers(Machine &machine, llvm::ArrayRef<Slot *> active, const Instruction &self) {
  auto op = llvm::cast<pipe::PeersOp>(self.op);
  if (active.empty())
    return;
  if (static_cast<int64_t>(machine.slots.size()) != machine.sampleCount())
    fault(self.op, "reads samples of the batch that are not interpreted");
  Tensor all = machine.blank(*active.front(), op.getResult());
  if (all.extents[0] != machine.sampleCount())
    fault(self.op, "is made for " + std::to_string(all.extents[0]) + " samples, and there are " +
                       std::to_string(machine.sampleCount()));
  int64_t element = 0;
  for (Slot &slot : machine.slots) {
    if (!slot.failed())
      machine.demand(slot, self.operands[0], self.op);
    if (slot.failed()) {
      for (Slot *reader : active)
        if (!reader->failed())
          reader->result.failure = Failure{"reads a bad sample of the batch", slot.number, 0};
      return;
    }
    const Tensor &one = machine.tensor(slot, op.getValue());
    for (int64_t i = 0; i < one.count(); ++i)
      all.store(element++, one.load(i));
  }
  const auto shared = std::make_shared<const Tensor>(std::move(all));
  for (Slot *slot : active)
    machine.set(*slot, op.getResult(), Value(shared));
}

/// `tensor` with its axes in the order of `names`, which `n` is not part of.
static Tensor inOrder(const Tensor &tensor, mlir::ArrayAttr names) {
  std::vector<std::string> axes;
  std::vector<int64_t> extents;
  std::vector<size_t> places;
  for (auto name : names.getAsRange<mlir::StringAttr>())
    if (const int64_t axis = tensor.axis(name.str()); axis >= 0) {
      axes.push_back(name.str());
      places.push_back(static_cast<size_t>(axis));
      extents.push_back(tensor.extents[places.back()]);
    }
  if (places.size() != tensor.axes.size())
    return tensor; // names of the user's, by position
  Tensor result(tensor.type, axes, extents);
  int64_t element = 0;
  std::vector<int64_t> from(places.size());
  forEachIndex(extents, [&](const std::vector<int64_t> &index) {
    for (size_t i = 0; i < places.size(); ++i)
      from[places[i]] = index[i];
    result.store(element++, tensor.load(tensor.offset(from)));
  });
  return result;
}

/// The first `count` elements of a ragged output's leading axis.
static void cutTo(Output &output, const std::string &axis, int64_t count) {
  Tensor tensor = *std::get<TensorRef>(output.value);
  if (tensor.axes.empty() || tensor.axes.front() != axis || tensor.extents.front() < count)
    return;
  tensor.extents.front() = output.ragged = count;
  tensor.bytes.resize(static_cast<size_t>(tensor.count() * bytesOf(tensor.type)));
  output.value = std::make_shared<const Tensor>(std::move(tensor));
}

void runOutput(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::OutputOp>(self.op);
  Output output;
  output.name = op.getName().str();
  if (const auto *number = std::get_if<Scalar>(&machine.value(slot, op.getValue()))) {
    output.value = *number;
  } else {
    const Tensor &tensor = machine.tensor(slot, op.getValue());
    output.value = std::make_shared<const Tensor>(inOrder(tensor, op.getAxes()));
    if (op.getRagged()) {
      auto type = llvm::cast<pipe::NamedTensorType>(op.getValue().getType());
      const auto dynamic = type.dynamicAxes();
      output.ragged = dynamic.empty() ? tensor.extents.front()
                                      : tensor.extents[static_cast<size_t>(dynamic.front())];
      // The declared length must be the tensor's.
      for (size_t i = 0; i < dynamic.size(); ++i)
        if (machine.integer(slot, op.getSizes()[static_cast<unsigned>(i)]) !=
            tensor.extents[static_cast<size_t>(dynamic[i])])
          fault(op, "the sizes differ from the value's extents");
    }
  }
  for (auto [i, value] : llvm::enumerate(op.getCounts())) {
    const int64_t count = machine.tensor(slot, value).load(0).integer, limit = (*op.getLimits())[i];
    if (count > limit) {
      slot.result.failure =
          Failure{llvm::cast<mlir::StringAttr>((*op.getMessages())[i]).str(), count, limit};
      return;
    }
    if (op.getRagged())
      cutTo(output, llvm::cast<mlir::StringAttr>((*op.getCounted())[i]).str(), count);
  }
  slot.result.outputs.push_back(std::move(output));
}

} // namespace penstock::reference
