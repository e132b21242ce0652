// SPDX-License-Identifier: Apache-2.0
#include "compiler/Schedules/LaunchChains.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::schedules::LaunchChains;

StackOp penstock::schedules::partsOf(KernelOp kernel) {
  auto outputs = kernel.getBody().front().getTerminator()->getOperands();
  auto schedule = kernel.getSchedule();
  if (outputs.size() != 1 ||
      schedule->get("mapping") != StringAttr::get(kernel.getContext(), "grid"))
    return {};
  NamedTensorType type = tensorOf(outputs[0]);
  for (Value value = outputs[0];;) {
    Operation *op = value.getDefiningOp();
    if (auto stack = llvm::dyn_cast_if_present<StackOp>(op)) {
      auto vector = outputs[0].getDefiningOp()->getAttrOfType<DictionaryAttr>("vector");
      return vector && vector.contains(type.getAxes().front().name) ? StackOp() : stack;
    }
    if (auto cast = llvm::dyn_cast_if_present<CastOp>(op)) {
      value = cast.getValue();
      continue;
    }
    if (auto view = llvm::dyn_cast_if_present<ViewOp>(op)) {
      if (view.getMap().getResult(0) != getAffineDimExpr(0, kernel.getContext()))
        return {};
      value = view.getInput();
      continue;
    }
    auto map = llvm::dyn_cast_if_present<MapOp>(op);
    if (!map)
      return {};
    Value stacked; // of its inputs, the one that is no table
    for (Value input : map.getInputs())
      if (tensorOf(input).getRank() == type.getRank())
        stacked = stacked ? Value() : input;
    if (!stacked || tensorOf(stacked).getAxes().front().name != type.getAxes().front().name)
      return {};
    value = stacked;
  }
}

llvm::SetVector<int64_t> penstock::schedules::argumentsBehind(Value value) {
  llvm::SetVector<int64_t> found;
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t next = 0; next < reached.size(); ++next) {
    if (auto argument = llvm::dyn_cast<BlockArgument>(reached[next])) {
      if (llvm::isa<KernelOp>(argument.getOwner()->getParentOp()))
        found.insert(argument.getArgNumber());
      continue;
    }
    reached[next].getDefiningOp()->walk([&](Operation *op) {
      for (Value operand : op->getOperands())
        if (llvm::isa<NamedTensorType>(operand.getType()))
          reached.insert(operand);
    });
  }
  return found;
}

llvm::SetVector<Operation *> penstock::schedules::readersOf(ValueRange values) {
  llvm::SetVector<Operation *> readers;
  llvm::SetVector<Value> reached;
  reached.insert(values.begin(), values.end());
  for (size_t next = 0; next < reached.size(); ++next)
    for (Operation *user : reached[next].getUsers())
      if (auto chosen = llvm::dyn_cast<SwitchOp>(user))
        reached.insert(chosen.getResult());
      else
        readers.insert(user);
  return readers;
}

LaunchChains::LaunchChains(ArrayRef<LaunchOp> launches, const SymbolTable &symbols)
    : launches(launches) {
  for (LaunchOp launch : launches) {
    kernels.push_back(symbols.lookup<KernelOp>(launch.getKernel()));
    members.insert(launch);
  }
}

/// Launches of the group that may have made a tensor.
llvm::SetVector<Operation *> LaunchChains::makersOf(Value tensor) const {
  llvm::SetVector<Operation *> makers;
  llvm::SetVector<Value> reached;
  reached.insert(tensor);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next].getDefiningOp();
    if (members.contains(op))
      makers.insert(op);
    if (auto chosen = llvm::dyn_cast_if_present<SwitchOp>(op))
      reached.insert(chosen.getInputs().begin(), chosen.getInputs().end());
  }
  return makers;
}

llvm::SetVector<Operation *> LaunchChains::makersOfPart(LaunchOp launch, Value part) const {
  llvm::SetVector<Operation *> makers;
  for (int64_t argument : argumentsBehind(part))
    makers.set_union(makersOf(launch.getTensors()[static_cast<size_t>(argument)]));
  return makers;
}

bool LaunchChains::keeps(LaunchOp launch) {
  return llvm::all_of(readersOf(launch->getResults()), [&](Operation *reader) {
    return parts.contains(reader) ||
           (members.contains(reader) && leaderOf(reader) == leaderOf(launch));
  });
}

bool LaunchChains::find() {
  connect();
  return numberParts();
}

/// Those, and what they are made of.
llvm::SetVector<Operation *> LaunchChains::madeOf(llvm::SetVector<Operation *> launches) const {
  for (size_t next = 0; next < launches.size(); ++next)
    for (Value tensor : llvm::cast<LaunchOp>(launches[next]).getTensors())
      launches.set_union(makersOf(tensor));
  return launches;
}

bool LaunchChains::isRead(LaunchOp launch) const {
  return llvm::any_of(readersOf(launch->getResults()),
                      [&](Operation *reader) { return members.contains(reader); });
}

SmallVector<LaunchOp> LaunchChains::sharedByParts() const {
  llvm::DenseMap<Operation *, size_t> readers;
  for (auto [number, launch] : llvm::enumerate(launches))
    if (StackOp stack = partsOf(kernels[number]); stack && !isRead(launch)) {
      llvm::DenseMap<Operation *, size_t> own;
      for (Value part : stack.getInputs())
        for (Operation *maker : madeOf(makersOfPart(launch, part)))
          ++own[maker];
      for (auto [maker, count] : own)
        readers[maker] = std::max(readers[maker], count);
    }
  SmallVector<LaunchOp> shared;
  llvm::copy_if(launches, std::back_inserter(shared),
                [&](LaunchOp launch) { return readers.lookup(launch) > 1; });
  return shared;
}

/// What reads what another launch makes goes into its chain, but for launches whose elements are
/// made of parts: what each of these is made of is a chain.
void LaunchChains::connect() {
  for (LaunchOp launch : launches)
    chains.insert(launch);
  for (auto [number, launch] : llvm::enumerate(launches)) {
    if (StackOp stack = partsOf(kernels[number]); stack && !isRead(launch)) {
      parts.insert(launch);
      for (Value part : stack.getInputs())
        for (const auto makers = makersOfPart(launch, part); Operation * maker : makers)
          chains.unionSets(makers.front(), maker);
      continue;
    }
    for (Value tensor : launch.getTensors())
      for (Operation *maker : makersOf(tensor))
        chains.unionSets(launch, maker);
  }
}

bool LaunchChains::numberParts() {
  for (auto [number, launch] : llvm::enumerate(launches))
    if (parts.contains(launch) && !numberParts(launch, partsOf(kernels[number])))
      return false;
  SmallVector<bool> taken;
  for (const auto &[leader, number] : numbers) {
    taken.resize(std::max<size_t>(taken.size(), static_cast<size_t>(number) + 1));
    if (std::exchange(taken[static_cast<size_t>(number)], true))
      return false;
  }
  if (!llvm::all_of(taken, [](bool is) { return is; }))
    return false;
  for (LaunchOp launch : launches)
    if (!parts.contains(launch))
      numbers.insert({leaderOf(launch), static_cast<int64_t>(numbers.size())});
  return true;
}

/// False where a part is made of several chains, or of none, or where all parts read one.
bool LaunchChains::numberParts(LaunchOp launch, StackOp stack) {
  llvm::SetVector<int64_t> ofParts;
  for (auto [part, value] : llvm::enumerate(stack.getInputs())) {
    const auto makers = makersOfPart(launch, value);
    ofParts.set_union(argumentsBehind(value));
    if (makers.empty())
      return false;
    for (Operation *maker : makers) {
      auto [known, isNew] = numbers.insert({leaderOf(maker), static_cast<int64_t>(part)});
      if (known->second != static_cast<int64_t>(part))
        return false;
    }
  }
  for (auto [argument, tensor] : llvm::enumerate(launch.getTensors()))
    if (!ofParts.contains(static_cast<int64_t>(argument)) && !makersOf(tensor).empty())
      return false;
  return true;
}
