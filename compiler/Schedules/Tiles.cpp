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

/// Rows that have to fit where only a sample knows how many a tile reads.
static constexpr int64_t fewestStored = 24;
/// An axis such as channels, of which a tile has all.
static constexpr int64_t shortest = 4;
/// Bytes of a table that is copied because bodies load elements of it.
static constexpr int64_t largestTable = 2048;
/// Of shared memory, in percent, for inputs that a block copies.
static constexpr int64_t copyShare = 45;
/// Elements of a row that keep a block busy.
static constexpr int64_t fewestElements = 64;

static bool isStored(Operation *op) {
  return op->getAttr("schedule") == StringAttr::get(op->getContext(), "scratch");
}

/// Returns whether all that arms of a choice compute is computed where it is read.
static bool isInlined(ChooseOp choose) {
  const auto other = choose->walk([&](Operation *op) {
    const bool isTensor = op != choose && llvm::any_of(op->getResultTypes(), [](Type type) {
                            return llvm::isa<NamedTensorType>(type);
                          });
    return isTensor && (isStored(op) || formOf(op) != KernelForm::inlined) ? WalkResult::interrupt()
                                                                           : WalkResult::advance();
  });
  return choose->getNumResults() == 1 && !other.wasInterrupted();
}

/// Returns whether the kernel only computes elements where they are read, and stores some.
static bool storesElements(KernelOp kernel) {
  bool stores = false;
  for (Operation &op : kernel.getBody().front()) {
    if (llvm::none_of(op.getResults(),
                      [](Value value) { return llvm::isa<NamedTensorType>(value.getType()); }))
      continue;
    const bool isInline = op.getAttr("schedule") == StringAttr::get(op.getContext(), "inline");
    if (auto choose = llvm::dyn_cast<ChooseOp>(op); choose && isInlined(choose))
      continue;
    if (llvm::isa<ChooseOp, RepeatOp>(op) || (formOf(&op) != KernelForm::inlined && !isInline))
      return false;
    stores |= isStored(&op);
  }
  return stores;
}

/// Bytes of a row of what is stored; null where only a sample knows.
static std::optional<int64_t> rowBytes(Value value, int64_t rowAxis, ArrayRef<RowRegions> others) {
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
  return row;
}

namespace {
/// Rows of outputs in a tile, and rows of each value that is stored there is room for: of those
/// that a tile reads row by row, as many as it has.
struct Heights {
  int64_t tile, stored;
};
} // namespace

/// The highest tile whose rows fit into so many bytes, in a sample that makes pictures a little
/// smaller.
static std::optional<Heights> fit(const RowRegions &rows, ArrayRef<RowRegions> others,
                                  const TileLimits &limits, int64_t bytes) {
  int64_t same = 0, moved = 0;
  for (auto [value, axis] : rows.stored) {
    auto row = rowBytes(value, axis, others);
    if (!row)
      return std::nullopt;
    (rows.same.contains(value) ? same : moved) += *row;
  }
  for (int64_t tile = limits.rows; tile >= 2; tile /= 2) {
    const int64_t left = bytes - tile * same, read = tile + rows.around;
    if (left < 0)
      continue;
    const int64_t room = moved > 0 ? left / moved : tile;
    if (limits.everywhere && room >= 1)
      return Heights{tile, room};
    if (room >= (rows.isKnown ? read : std::max(fewestStored, read)))
      return Heights{tile, rows.isKnown ? std::min(room, read) : room};
  }
  return std::nullopt;
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

/// Of an input; more than any table has where only a sample knows.
static int64_t bytesOf(Value input) {
  int64_t bytes = scalarBytes(tensorOf(input).getElementType());
  for (const Axis &axis : tensorOf(input).getAxes()) {
    if (!axis.isStatic() || axis.extent > largestTable)
      return largestTable + 1;
    bytes = std::min(bytes * axis.extent, largestTable + 1);
  }
  return bytes;
}

namespace {
struct Copied {
  SmallVector<int64_t> inputs; ///< numbers of tensors
  int64_t bytes = 0;
};
} // namespace

/// Inputs of which each element is read several times for what is stored, and small tables; a share
/// of `shared` bytes, or what those tables take if there is nothing else.
static Copied inputsReadOften(KernelOp kernel, int64_t shared) {
  llvm::DenseSet<Value> often;
  llvm::DenseSet<Value> tables;
  auto add = [&](Value value, bool isOutput) {
    for (auto &[input, box] : inputBoxes(value, isStored).inputs)
      if (box.isTable ? bytesOf(input) <= largestTable : box.isReadOften && !isOutput) {
        often.insert(input);
        if (box.isTable)
          tables.insert(input);
      }
  };
  for (Operation &op : kernel.getBody().front())
    if (isStored(&op))
      add(op.getResult(0), false);
  for (Value value : llvm::cast<ReturnOp>(kernel.getBody().front().getTerminator()).getValues())
    if (value.getDefiningOp() && !isStored(value.getDefiningOp()))
      add(value, true);
  Copied copied;
  int64_t number = 0;
  for (Value argument : kernel.getBody().getArguments())
    if (llvm::isa<NamedTensorType>(argument.getType()) && ++number && often.contains(argument)) {
      copied.inputs.push_back(number - 1);
      copied.bytes += llvm::alignTo(bytesOf(argument), 16);
    }
  if (tables.size() < often.size())
    copied.bytes = shared * copyShare / 100 / 16 * 16;
  return copied;
}

/// Outer axes of which a tile has one place, where its rows do not fit otherwise: long ones first.
static SmallVector<RowRegions> singleAxes(KernelOp kernel, Value output, const Axis &axis) {
  SmallVector<RowRegions> axes;
  for (bool isShort : {false, true})
    for (const Axis &outer : tensorOf(output).getAxes()) {
      if (outer.name == axis.name || (outer.isStatic() && outer.extent <= shortest) != isShort)
        continue;
      auto regions = rowRegions(kernel, outer.name, isStored);
      if (regions && regions->isSame && !hasVectors(*regions))
        axes.push_back(std::move(*regions));
    }
  return axes;
}

/// Says where everything is that a tile stores.
static DictionaryAttr state(const RowRegions &rows, ArrayRef<RowRegions> others, StringRef axis,
                            Heights heights, int64_t copyBytes, ArrayRef<int64_t> copied) {
  Builder builder(rows.outputs.front().first.getContext());
  auto number = [&](StringRef name, int64_t value) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(value));
  };
  SmallVector<NamedAttribute> tile{number(axis, heights.tile)};
  for (const RowRegions &other : others) {
    auto [output, place] = other.outputs.front();
    tile.push_back(number(tensorOf(output).getAxes()[place].name, 1));
  }
  for (auto [value, rowAxis] : rows.stored) {
    value.getDefiningOp()->setAttr("schedule", builder.getStringAttr("shared"));
    if (rows.same.contains(value) && heights.stored != heights.tile)
      value.getDefiningOp()->setAttr("rows", builder.getI64IntegerAttr(heights.tile));
  }
  SmallVector<NamedAttribute> stated{builder.getNamedAttr("tile", builder.getDictionaryAttr(tile)),
                                     number("rows", heights.stored)};
  if (copyBytes > 0)
    stated.push_back(builder.getNamedAttr(
        "copied", builder.getDictionaryAttr(
                      {number("bytes", copyBytes),
                       builder.getNamedAttr("inputs", builder.getDenseI64ArrayAttr(copied))})));
  return builder.getDictionaryAttr(stated);
}

/// With rows along `axis`, and one place of as many outer axes as make tiles highest; with room
/// for copies if that is possible.
static DictionaryAttr tileAlong(KernelOp kernel, Value output, const Axis &axis,
                                const TileLimits &limits) {
  auto rows = rowRegions(kernel, axis.name, isStored);
  if (!rows || rows->stored.empty() || !rows->outputs.contains(output) || hasVectors(*rows))
    return {};
  const Copied copied = inputsReadOften(kernel, limits.sharedBytes);
  const auto singles = singleAxes(kernel, output, axis);
  for (int64_t copyBytes : {copied.bytes, int64_t{0}}) {
    Heights best = {};
    ArrayRef<RowRegions> bestOthers;
    for (size_t count = 0; count <= singles.size(); ++count) {
      auto others = ArrayRef(singles).take_front(count);
      auto heights = fit(*rows, others, limits, limits.sharedBytes - copyBytes);
      const bool isBusy = limits.everywhere || elementsOf(output, rows->outputs.lookup(output),
                                                          others) >= fewestElements;
      if (heights && isBusy && heights->tile > best.tile) {
        best = *heights;
        bestOthers = others;
      }
    }
    if (best.tile > 0)
      return state(*rows, bestOthers, axis.name, best, copyBytes, copied.inputs);
  }
  return {};
}

DictionaryAttr penstock::schedules::chooseTile(KernelOp kernel, const TileLimits &limits) {
  if (!storesElements(kernel))
    return {};
  DictionaryAttr chosen;
  for (Value output : llvm::cast<ReturnOp>(kernel.getBody().front().getTerminator()).getValues())
    for (const Axis &axis : tensorOf(output).getAxes())
      if (!chosen && (!axis.isStatic() || axis.extent > shortest))
        chosen = tileAlong(kernel, output, axis, limits);
  return chosen;
}
