// SPDX-License-Identifier: Apache-2.0
//
// What windows convert for every neighbour.
#include "compiler/Schedules/ConvertInputs.h"

using namespace mlir;
using namespace penstock::pipe;

/// Neighbours whose conversions cost more than to store and to read four bytes for each.
static constexpr int64_t manyNeighbours = 12;
/// A copy that a core's own cache holds.
static constexpr int64_t mostConverted = int64_t{1} << 20;

/// What all that a window does with its neighbours begins with; null where it does
/// something else with one, or reads few.
static CastOp commonCast(WindowOp op) {
  Block &body = op.getBody().front();
  auto input = llvm::cast<NamedTensorType>(op.getInput().getType());
  CastOp first;
  int64_t neighbours = 0;
  for (BlockArgument argument :
       body.getArguments().drop_back(static_cast<size_t>(input.getRank()))) {
    neighbours += !argument.use_empty();
    for (Operation *user : argument.getUsers()) {
      auto cast = llvm::dyn_cast<CastOp>(user);
      if (!cast || cast->getBlock() != &body)
        return {};
      first = first ? first : cast;
      if (cast.getType() != first.getType() || cast.getMode() != first.getMode())
        return {};
    }
  }
  return neighbours >= manyNeighbours ? first : CastOp();
}

SmallVector<MapOp> penstock::schedules::convertInputs(KernelOp kernel) {
  SmallVector<MapOp> made;
  for (auto op : kernel.getBody().front().getOps<WindowOp>()) {
    auto input = llvm::cast<NamedTensorType>(op.getInput().getType());
    if (!llvm::isa<IntegerType>(input.getElementType()) ||
        scalarBytes(input.getElementType()) > 2 || op.getFill() || !input.isStatic())
      continue;
    CastOp common = commonCast(op);
    if (!common || !common.getType().isF32() || 4 * input.numElements() > mostConverted)
      continue;
    OpBuilder b(op);
    const Type element = common.getType();
    auto map = b.create<MapOp>(op.getLoc(), NamedTensorType::get(element, input.getAxes()),
                               ValueRange(op.getInput()), ValueRange());
    SmallVector<Type> types{input.getElementType()};
    types.append(static_cast<size_t>(input.getRank()), b.getI64Type());
    Block *body =
        b.createBlock(&map.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
    Value converted = b.create<CastOp>(common.getLoc(), element, common.getMode(),
                                       body->getArgument(0), ValueRange());
    b.create<YieldOp>(op.getLoc(), converted);
    op.getInputMutable().set(map.getResult());
    for (BlockArgument argument :
         op.getBody().front().getArguments().drop_back(static_cast<size_t>(input.getRank()))) {
      argument.setType(element);
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
        user->getResult(0).replaceAllUsesWith(argument);
        user->erase();
      }
    }
    made.push_back(map);
  }
  return made;
}
