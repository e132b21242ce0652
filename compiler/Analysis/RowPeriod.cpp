// SPDX-License-Identifier: Apache-2.0
#include "compiler/Analysis/RowPeriod.h"
#include "compiler/Dialect/ScalarBuilder.h"

namespace penstock::pipe {

std::optional<int64_t> rowPeriod(ReduceOp op, int64_t axis) {
  auto map = op.getValue().getDefiningOp<MapOp>();
  if (!map)
    return std::nullopt;
  mlir::Value index = map.getBody().getArgument(map.getInputs().size() + axis);
  for (mlir::Operation *user : index.getUsers()) {
    auto rest = llvm::dyn_cast<BinaryOp>(user);
    if (!rest || rest.getKind() != BinaryKind::rem || rest.getLhs() != index)
      continue;
    const bool isPlace = llvm::any_of(rest.getResult().getUsers(), [&](mlir::Operation *reader) {
      auto load = llvm::dyn_cast<LoadOp>(reader);
      return load && llvm::is_contained(load.getIndices(), rest.getResult());
    });
    const auto period = constantOf(rest.getRhs());
    if (isPlace && period && *period > 1)
      return period;
  }
  return std::nullopt;
}

} // namespace penstock::pipe
