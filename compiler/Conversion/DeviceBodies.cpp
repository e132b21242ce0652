// SPDX-License-Identifier: Apache-2.0
//
// Attributes in the bodies of functions for a GPU.
#include "compiler/Conversion/DeviceBodies.h"
#include "compiler/Conversion/KernelContract.h"

using namespace mlir;
using namespace penstock::conversion;

static constexpr StringLiteral axesName = "pipe.axes", workersName = "pipe.workers",
                               narrowName = "pipe.narrow", runName = "pipe.run",
                               deviceName = "pipe.name", registersName = "pipe.registers",
                               unrolledName = "pipe.unrolled", elementsName = "pipe.elements";

ThreadNest penstock::conversion::nestOf(scf::ParallelOp nest) {
  auto axes = nest->getAttrOfType<ArrayAttr>(axesName).getAsValueRange<StringAttr>();
  return {SmallVector<StringRef>(axes), nest->getAttrOfType<StringAttr>(workersName).getValue(),
          nest->hasAttr(narrowName)};
}

void penstock::conversion::setNest(scf::ParallelOp nest, const ThreadNest &note) {
  Builder b(nest.getContext());
  nest->setAttr(axesName, b.getStrArrayAttr(note.axes));
  nest->setAttr(workersName, b.getStringAttr(note.workers));
  if (note.isNarrow)
    nest->setAttr(narrowName, b.getUnitAttr());
}

/// A load says its place, the length, the run's number and the alignment; a store the first two.
static std::optional<RunAccess> runOf(Operation *op) {
  auto numbers = op->getAttrOfType<DenseI64ArrayAttr>(runName);
  if (!numbers)
    return std::nullopt;
  RunAccess run{numbers[0], numbers[1]};
  if (llvm::isa<memref::LoadOp>(op)) {
    run.number = numbers[2];
    run.alignment = numbers[3];
  }
  return run;
}
std::optional<RunAccess> penstock::conversion::runOf(memref::LoadOp load) {
  return ::runOf(load.getOperation());
}
std::optional<RunAccess> penstock::conversion::runOf(memref::StoreOp store) {
  return ::runOf(store.getOperation());
}
void penstock::conversion::setRun(memref::LoadOp load, const RunAccess &run) {
  load->setAttr(runName, DenseI64ArrayAttr::get(load.getContext(), {run.place, run.length,
                                                                    run.number, run.alignment}));
}
void penstock::conversion::setRun(memref::StoreOp store, const RunAccess &run) {
  store->setAttr(runName, DenseI64ArrayAttr::get(store.getContext(), {run.place, run.length}));
}

bool penstock::conversion::isInRegisters(memref::AllocaOp array) {
  return array->hasAttr(registersName);
}
void penstock::conversion::setInRegisters(memref::AllocaOp array) {
  array->setAttr(registersName, UnitAttr::get(array.getContext()));
}
std::optional<int64_t> penstock::conversion::unrolledBy(scf::ForOp loop) {
  auto turns = loop->getAttrOfType<IntegerAttr>(unrolledName);
  return turns ? std::optional(turns.getInt()) : std::nullopt;
}
void penstock::conversion::setUnrolled(scf::ForOp loop, int64_t turns) {
  loop->setAttr(unrolledName, Builder(loop.getContext()).getI64IntegerAttr(turns));
}

StringAttr penstock::conversion::deviceNameOf(Operation *function) {
  return function->getAttrOfType<StringAttr>(deviceName);
}
void penstock::conversion::setDeviceName(Operation *function, StringAttr name) {
  function->setAttr(deviceName, name);
}

DenseElementsAttr penstock::conversion::elementsOf(memref::GlobalOp table) {
  return table->getAttrOfType<DenseElementsAttr>(elementsName);
}
void penstock::conversion::setElements(memref::GlobalOp table, DenseElementsAttr elements) {
  table->setAttr(elementsName, elements);
}

//===--- from a text ---------------------------------------------------------===//

static bool isNest(scf::ParallelOp nest) {
  auto axes = nest->getAttrOfType<ArrayAttr>(axesName);
  auto workers = nest->getAttrOfType<StringAttr>(workersName);
  return axes && axes.size() == nest.getNumLoops() &&
         llvm::all_of(axes, llvm::IsaPred<StringAttr>) && workers &&
         llvm::is_contained({"threads", "warps", "blocks", "block"}, workers.getValue());
}

static bool isAccess(Operation *op) {
  auto numbers = op->getAttrOfType<DenseI64ArrayAttr>(runName);
  const bool hasForm =
      numbers && numbers.size() == (llvm::isa<memref::LoadOp>(op) ? 4 : 2) &&
      llvm::all_of(numbers.asArrayRef(), [](int64_t number) { return number >= 0; });
  return !op->hasAttr(runName) || (hasForm && numbers[0] < numbers[1]);
}

LogicalResult penstock::conversion::verifyDeviceBody(func::FuncOp function) {
  SymbolTable symbols(function->getParentOfType<ModuleOp>());
  auto fits = [&](Operation *op) {
    if (auto nest = llvm::dyn_cast<scf::ParallelOp>(op))
      return isNest(nest);
    if (auto call = llvm::dyn_cast<func::CallOp>(op)) {
      auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
      return callee && deviceNameOf(callee);
    }
    return !llvm::isa<memref::LoadOp, memref::StoreOp>(op) || isAccess(op);
  };
  const auto found = function.walk([&](Operation *op) {
    if (fits(op))
      return WalkResult::advance();
    op->emitError("does not say what a kernel of a GPU has to");
    return WalkResult::interrupt();
  });
  return failure(found.wasInterrupted());
}
