//===- Coverage.cpp - what the generated pipelines contained --------------===//

#include "test/differential/Coverage.h"
#include "stdlib/reference/Value.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

static size_t typeIndex(Type element) {
  for (int i = 0; i <= static_cast<int>(reference::DType::boolean); ++i)
    if (scalarName(element) == llvm::StringRef(reference::nameOf(static_cast<reference::DType>(i))))
      return static_cast<size_t>(i);
  return 0;
}

static size_t extentClass(NamedTensorType type) {
  if (!type.isStatic())
    return 5;
  const auto axes = type.getAxes();
  if (llvm::all_of(axes, [](const Axis &axis) { return axis.extent == 1; }))
    return 0;
  if (llvm::any_of(axes, [](const Axis &axis) { return axis.extent > 4096; }))
    return 4;
  if (axes.front().extent == 1)
    return 1;
  const int64_t last = axes.back().extent;
  if (last > 6 && (last % 8 == 1 || last % 8 == 7))
    return 3;
  return last % 2 == 1 ? 2 : 6;
}

void Coverage::count(ModuleOp module) {
  module.walk([&](Operation *op) {
    for (Value result : op->getResults()) {
      auto type = llvm::dyn_cast<NamedTensorType>(result.getType());
      if (!type)
        continue;
      Row &row = rows[op->getName().stripDialect().str()];
      ++row.byType[typeIndex(type.getElementType())];
      ++row.byExtent[extentClass(type)];
    }
  });
}

void Coverage::print(llvm::raw_ostream &stream) const {
  stream << llvm::left_justify("op", 12);
  for (size_t i = 0; i < types; ++i)
    stream << llvm::right_justify(
        llvm::StringRef(reference::nameOf(static_cast<reference::DType>(i))), 5);
  stream << " |";
  for (const char *name : {"1x1", "1xN", "odd", "vec", ">4096", "?", "other"})
    stream << llvm::right_justify(name, 6);
  stream << "\n";
  for (const auto &[name, row] : rows) {
    stream << llvm::left_justify(name, 12);
    for (const int64_t count : row.byType)
      stream << llvm::format("%5lld", static_cast<long long>(count));
    stream << " |";
    for (const int64_t count : row.byExtent)
      stream << llvm::format("%6lld", static_cast<long long>(count));
    stream << "\n";
  }
}

} // namespace penstock::differential
