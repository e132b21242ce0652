// SPDX-License-Identifier: Apache-2.0
//
// Kernels of which a GPU's block makes some rows.
#include "compiler/Schedules/Tiles.h"
#include "compiler/Analysis/InputBoxes.h"
#include "compiler/Analysis/RowRegions.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::inputBoxes;
using penstock::analysis::rowRegions;
using penstock::analysis::RowRegions;
using penstock::schedules::TileLimits;

/// Rows that have to fit, so that a tile of some height does, and those for which a tile has one
/// place of other axes.
static constexpr int64_t fewestStored = 24, wantedStored = 48;
/// An axis such as channels, of which a tile has all.
static constexpr int64_t shortest = 4;
/// Of shared memory, in percent, for inputs that a block copies.
static constexpr int64_t copyShare = 45;
/// Elements of a row that keep a block busy.
static constexpr int64_t fewestElements = 64;

static bool isStored(Operation *op) {
  return op->getAttr("schedule") == StringAttr::get(op->getContext(), "scratch");
}

/// Returns whether the kernel only computes elements where they are read, and stores some.
static bool storesElements(KernelOp kernel) {
  bool stores = false;
  for (Operation &op : kernel.getBody().front()) {
    if (llvm::none_of(op.getResults(),
                      [](Value value) { return llvm::isa<NamedTensorType>(value.getType()); }))
      continue;
    const bool isInline = op.getAttr("schedule") == StringAttr::get(op.getContext(), "inline");
    if (llvm::isa<ChooseOp, RepeatOp>(op) || (formOf(&op) != KernelForm::inlined && !isInline))
      return false;
    stores |= isStored(&op);
  }
  return stores;
}

/// Bytes of a row of all that is stored; null where only a sample knows.
static std::optional<int64_t> rowBytes(const RowRegions &rows, ArrayRef<RowRegions> others) {
  int64_t bytes = 0;
  for (auto [value, rowAxis] : rows.stored) {
    NamedTensorType type = tensorOf(value);
    int64_t row = scalarBytes(type.getElementType());
    for (auto [number, axis] : llvm::enumerate(type.getAxes())) {
      const auto isOne = [&](const RowRegions &other) {
        return other.stored.lookup(value) == static_cast<int64_t>(number);
      };
      if (static_cast<int64_t>(number) == rowAxis || llvm::any_of(others, isOne))
        continue;
      if (!axis.isStatic())
        return std::nullopt;
      row *= axis.extent;
    }
    bytes += row;
  }
  return bytes;
}

/// The elements of a row of an output; what only a sample knows counts as many.
static int64_t elementsOf(Value output, int64_t rowAxis, ArrayRef<RowRegions> others) {
  int64_t elements = 1;
  for (auto [number, axis] : llvm::enumerate(tensorOf(output).getAxes())) {
    const auto isOne = [&](const RowRegions &other) {
      return other.outputs.lookup(output) == static_cast<int64_t>(number);
    };
    if (static_cast<int64_t>(number) != rowAxis && llvm::none_of(others, isOne))
      elements *= axis.isStatic() ? axis.extent : fewestElements;
  }
  return elements;
}

/// Returns whether a thread makes several elements along the axis of some value.
static bool hasVectors(const RowRegions &regions) {
  auto isAlong = [](const auto &entry) {
    auto [value, axis] = entry;
    Operation *op = value.getDefiningOp();
    auto vector = op ? op->template getAttrOfType<DictionaryAttr>("vector") : DictionaryAttr();
    return vector && vector.contains(tensorOf(value).getAxes()[axis].name);
  };
  return llvm::any_of(regions.outputs, isAlong) || llvm::any_of(regions.stored, isAlong);
}

/// Inputs of which each element is read several times for what is stored, by their numbers.
static SmallVector<int64_t> inputsReadOften(KernelOp kernel) {
  llvm::DenseSet<Value> often;
  for (Operation &op : kernel.getBody().front())
    if (isStored(&op))
      for (auto &[input, box] : inputBoxes(op.getResult(0), isStored).inputs)
        if (box.isReadOften)
          often.insert(input);
  SmallVector<int64_t> numbers;
  int64_t number = 0;
  for (Value argument : kernel.getBody().getArguments())
    if (llvm::isa<NamedTensorType>(argument.getType()) && ++number && often.contains(argument))
      numbers.push_back(number - 1);
  return numbers;
}

/// With rows along `axis`, and one place of as many outer axes as it takes.
static DictionaryAttr tileAlong(KernelOp kernel, Value output, const Axis &axis,
                                const TileLimits &limits) {
  const int64_t wanted = limits.everywhere ? 1 : wantedStored,
                fewest = limits.everywhere ? 1 : fewestStored;
  auto rows = rowRegions(kernel, axis.name, isStored);
  if (!rows || rows->stored.empty() || !rows->outputs.contains(output) || hasVectors(*rows))
    return {};
  Builder builder(kernel.getContext());
  std::vector<RowRegions> others;
  SmallVector<NamedAttribute> tile;
  for (const Axis &outer : tensorOf(output).getAxes()) {
    auto bytes = rowBytes(*rows, others);
    if (bytes && limits.sharedBytes / *bytes >= wanted)
      break;
    if (outer.name == axis.name || (outer.isStatic() && outer.extent <= shortest))
      continue;
    auto regions = rowRegions(kernel, outer.name, isStored);
    if (!regions || !regions->isSame || hasVectors(*regions))
      continue;
    others.push_back(std::move(*regions));
    tile.push_back(builder.getNamedAttr(outer.name, builder.getI64IntegerAttr(1)));
  }
  auto bytes = rowBytes(*rows, others);
  const SmallVector<int64_t> copied = inputsReadOften(kernel);
  int64_t copyBytes = copied.empty() ? 0 : limits.sharedBytes * copyShare / 100 / 16 * 16;
  if (bytes && (limits.sharedBytes - copyBytes) / *bytes < fewest)
    copyBytes = 0;
  const int64_t stored = bytes ? (limits.sharedBytes - copyBytes) / *bytes : 0;
  if (stored < fewest || (!limits.everywhere && elementsOf(output, rows->outputs.lookup(output),
                                                           others) < fewestElements))
    return {};
  tile.push_back(builder.getNamedAttr(
      axis.name, builder.getI64IntegerAttr(std::clamp<int64_t>(stored / 2, 2, limits.rows))));
  SmallVector<NamedAttribute> chosen{
      builder.getNamedAttr("tile", builder.getDictionaryAttr(tile)),
      builder.getNamedAttr("rows", builder.getI64IntegerAttr(stored))};
  if (copyBytes > 0)
    chosen.push_back(builder.getNamedAttr(
        "copied", builder.getDictionaryAttr(
                      {builder.getNamedAttr("bytes", builder.getI64IntegerAttr(copyBytes)),
                       builder.getNamedAttr("inputs", builder.getDenseI64ArrayAttr(copied))})));
  return builder.getDictionaryAttr(chosen);
}

DictionaryAttr penstock::schedules::chooseTile(KernelOp kernel, const TileLimits &limits) {
  if (!storesElements(kernel))
    return {};
  DictionaryAttr chosen;
  for (Value output : llvm::cast<ReturnOp>(kernel.getBody().front().getTerminator()).getValues())
    for (const Axis &axis : tensorOf(output).getAxes())
      if (!chosen && (!axis.isStatic() || axis.extent > shortest))
        chosen = tileAlong(kernel, output, axis, limits);
  if (!chosen)
    return {};
  for (Operation &op : kernel.getBody().front())
    if (isStored(&op))
      op.setAttr("schedule", StringAttr::get(op.getContext(), "shared"));
  return chosen;
}
