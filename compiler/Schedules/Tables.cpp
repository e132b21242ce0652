// SPDX-License-Identifier: Apache-2.0
//
// Parts of a body that tables hold, over some axes of what the body makes.
#include "compiler/Schedules/Tables.h"
#include <functional>

using namespace mlir;
using namespace penstock;

static constexpr int64_t fewestRepeats = 8, mostBytes = int64_t{1} << 16;

llvm::SetVector<Operation *> schedules::operationsFor(Block &body, Value value) {
  llvm::SetVector<Operation *> needed;
  std::function<void(Value)> add = [&](Value next) {
    Operation *inner = next.getDefiningOp();
    if (!inner || inner->getBlock() != &body || needed.contains(inner))
      return;
    inner->walk([&](Operation *part) { llvm::for_each(part->getOperands(), add); });
    needed.insert(inner);
  };
  add(value);
  return needed;
}

bool schedules::isWorthATable(pipe::NamedTensorType domain, const llvm::SmallBitVector &axes,
                              int64_t bytes) {
  int64_t repeats = 1, elements = 1;
  for (auto [number, axis] : llvm::enumerate(domain.getAxes())) {
    const bool has = axes.test(static_cast<unsigned>(number));
    if (has && !axis.isStatic())
      return false;
    (has ? elements : repeats) *= axis.isStatic() ? axis.extent : fewestRepeats;
  }
  return repeats >= fewestRepeats && elements * bytes <= mostBytes;
}
