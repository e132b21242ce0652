// SPDX-License-Identifier: Apache-2.0
//
// Values of expressions during import.
#include "compiler/Import/Values/Scope.h"

using namespace penstock::importer;

mlir::Type penstock::importer::elementType(const Val &value) {
  if (value.is(Kind::Number))
    return value.ir.getType();
  if (value.is(Kind::Tensor))
    return value.tensorType().getElementType();
  if (value.is(Kind::Neighbours))
    return elementType(value.parts.front());
  return {};
}

void penstock::importer::forEachPlace(llvm::ArrayRef<Val::GridAxis> grid,
                                      const std::function<void(llvm::ArrayRef<int64_t>)> &body) {
  std::vector<int64_t> at(grid.size(), 0);
  int64_t count = 1;
  for (const Val::GridAxis &axis : grid)
    count *= axis.extent;
  for (int64_t i = 0; i < count; ++i) {
    body(at);
    for (size_t k = grid.size(); k-- > 0;) {
      if (++at[k] < grid[k].extent)
        break;
      at[k] = 0;
    }
  }
}

size_t penstock::importer::placeIn(llvm::ArrayRef<Val::GridAxis> grid, llvm::ArrayRef<int64_t> at) {
  int64_t place = 0;
  for (size_t k = 0; k < grid.size(); ++k)
    place = place * grid[k].extent + at[k];
  return static_cast<size_t>(place);
}

Val penstock::importer::wordOf(std::string text) {
  Val word;
  word.kind = Kind::Word;
  word.word = std::move(text);
  return word;
}

llvm::ArrayRef<llvm::StringRef> penstock::importer::wordsOf(llvm::StringRef type) {
  static constexpr llvm::StringRef filters[] = {"nearest", "box",     "bilinear",
                                                "hamming", "bicubic", "lanczos"};
  static constexpr llvm::StringRef interpolations[] = {"nearest", "linear", "cubic"};
  static constexpr llvm::StringRef borders[] = {"constant", "edge", "reflect", "symmetric", "wrap"};
  using Words = llvm::ArrayRef<llvm::StringRef>;
  return type == "filter"          ? Words(filters)
         : type == "interpolation" ? Words(interpolations)
         : type == "border"        ? Words(borders)
                                   : Words();
}

const char *penstock::importer::ownUnit(dsl::UnitKind kind) {
  switch (kind) {
  case dsl::UnitKind::Angle:
    return "deg";
  case dsl::UnitKind::Duration:
    return "ms";
  case dsl::UnitKind::Frequency:
    return "Hz";
  default:
    return "m";
  }
}

void penstock::importer::flatten(Val &value, std::vector<Val *> &leaves) {
  if (value.is(Kind::Poison))
    throw Abort{};
  if (!value.is(Kind::Record) && !value.is(Kind::Range) && !value.is(Kind::List) &&
      !value.is(Kind::Grouped) && !value.is(Kind::Neighbours)) {
    leaves.push_back(&value);
    return;
  }
  for (Val &part : value.parts)
    flatten(part, leaves);
}

mlir::Operation *penstock::importer::behind(mlir::Value value,
                                            llvm::function_ref<bool(mlir::Operation *)> is) {
  llvm::SetVector<mlir::Operation *> open;
  auto add = [&](mlir::Value operand) {
    if (mlir::Operation *op = operand.getDefiningOp())
      open.insert(op);
  };
  add(value);
  mlir::Operation *found = nullptr;
  for (size_t i = 0; i < open.size() && !found; ++i)
    open[i]->walk([&](mlir::Operation *op) {
      if (!found && is(op))
        found = op;
      llvm::for_each(op->getOperands(), add);
    });
  return found;
}
