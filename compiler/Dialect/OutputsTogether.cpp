// SPDX-License-Identifier: Apache-2.0
//
// Outputs that the same loops store.
#include "compiler/Dialect/OutputsTogether.h"
#include "compiler/Dialect/ScheduleDialect.h"

using namespace mlir;
using namespace penstock::pipe;

bool penstock::pipe::mayGoTogether(KernelOp kernel, ArrayRef<int64_t> numbers) {
  Operation *end = kernel.getBody().front().getTerminator();
  NamedTensorType axes;
  LoopsAttr loops;
  for (int64_t number : numbers) {
    if (number < 0 || number >= end->getNumOperands())
      return false;
    auto result = llvm::dyn_cast<OpResult>(end->getOperand(static_cast<unsigned>(number)));
    auto type = result ? llvm::dyn_cast<NamedTensorType>(result.getType()) : NamedTensorType();
    LoopsAttr own = result ? loopsOf(result) : LoopsAttr();
    if (!type || !type.isStatic() || type.getRank() == 0 || !own || own.getAcross())
      return false;
    if (axes && (type.getAxes() != axes.getAxes() || own != loops))
      return false;
    axes = type;
    loops = own;
  }
  return true;
}

bool penstock::pipe::areGroups(KernelOp kernel, Attribute together) {
  auto groups = llvm::dyn_cast<ArrayAttr>(together);
  llvm::SmallDenseSet<int64_t> taken;
  return groups && llvm::all_of(groups, [&](Attribute stated) {
           auto group = llvm::dyn_cast<DenseI64ArrayAttr>(stated);
           return group && group.size() > 1 && llvm::is_sorted(group.asArrayRef()) &&
                  llvm::all_of(group.asArrayRef(),
                               [&](int64_t n) { return taken.insert(n).second; }) &&
                  mayGoTogether(kernel, group.asArrayRef());
         });
}

llvm::SmallVector<int64_t> penstock::pipe::outputsWith(KernelOp kernel, int64_t number) {
  DictionaryAttr schedule = kernel.getSchedule().value_or(DictionaryAttr());
  if (auto groups = schedule ? schedule.getAs<ArrayAttr>("together") : ArrayAttr())
    for (auto group : groups.getAsRange<DenseI64ArrayAttr>())
      if (llvm::is_contained(group.asArrayRef(), number))
        return llvm::to_vector(group.asArrayRef());
  return {number};
}
