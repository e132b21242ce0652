// SPDX-License-Identifier: Apache-2.0
//
// Kernels that go by tiles of rows.
#include "compiler/Schedules/RowTiles.h"
#include "compiler/Dialect/CheapOps.h"
#include "compiler/Dialect/Rows.h"
#include "compiler/Dialect/SmallReduction.h"

using namespace mlir;
using namespace penstock::pipe;

/// Of what is read for a tile: half of a first cache, but four rows at least, since their sums go
/// side by side, as long as a second cache holds them.
static constexpr int64_t nearBytes = 16 << 10, farBytes = 128 << 10, sideBySide = 4;

static NamedTensorType typeOf(Value value) {
  return llvm::dyn_cast<NamedTensorType>(value.getType());
}

/// Returns whether an element of `value` takes a few operations, out of the kernel's inputs.
static bool isAtHand(Value value, int64_t rank) {
  Operation *op = value.getDefiningOp();
  if (!op || typeOf(value).getRank() < rank)
    return true; // what is repeated is small, and stored
  return (isCheap(op) || llvm::isa<ViewOp>(op)) &&
         llvm::all_of(op->getOperands(),
                      [&](Value operand) { return !typeOf(operand) || isAtHand(operand, rank); });
}

/// Returns whether something of a row waits for all of the row.
static bool joinsPasses(KernelOp kernel) {
  return llvm::any_of(kernel.getBody().front().getOps<ReduceOp>(), [](ReduceOp op) {
    return !isSmallReduction(op) &&
           !llvm::all_of(op->getUsers(), [](Operation *user) { return llvm::isa<ReturnOp>(user); });
  });
}

void penstock::schedules::keepCheapMapsApart(KernelOp kernel) {
  if (!joinsPasses(kernel) || !rowsOf(kernel))
    return;
  for (auto map : kernel.getBody().front().getOps<MapOp>())
    if (isCheap(map) && isAtHand(map.getResult(), typeOf(map.getResult()).getRank()))
      map->removeAttr("schedule");
}

std::optional<int64_t> penstock::schedules::rowTileOf(KernelOp kernel) {
  if (!joinsPasses(kernel))
    return std::nullopt;
  const auto rows = rowsOf(kernel);
  if (!rows)
    return std::nullopt;
  int64_t rowBytes = 0;
  for (BlockArgument argument : kernel.getBody().getArguments())
    if (NamedTensorType type = typeOf(argument); type && type.axisIndex(rows->name) == 0)
      rowBytes += type.numElements() / rows->extent * scalarBytes(type.getElementType());
  if (rowBytes == 0)
    return std::nullopt;
  int64_t tile = nearBytes / rowBytes / sideBySide * sideBySide;
  if (tile == 0)
    tile = sideBySide * rowBytes <= farBytes ? sideBySide : 1;
  return tile < rows->extent ? std::optional(tile) : std::nullopt;
}
