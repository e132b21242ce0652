// SPDX-License-Identifier: Apache-2.0
//
// Inputs of which a block copies what it reads into shared memory.
//
// Elements of 4 bytes or more are copied one by one and lie dense. Smaller ones go in words of 16
// bytes around each row, whose bytes keep their places within a word: a row begins as far behind a
// boundary of 16 as it does in the input, and so do strides.
#include "compiler/Conversion/KernelToGpu/GpuCopies.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using penstock::analysis::BoxStep;
using penstock::analysis::InputBoxes;

/// Bytes of a word; bytes that `pst_copy_rows` copies behind the last one, for `pst_take`.
static constexpr int64_t wordBytes = 16, bytesBehind = 28;

FailureOr<GpuCopies> GpuCopies::of(KernelOp kernel,
                                   llvm::function_ref<bool(Operation *)> isStored) {
  GpuCopies copies;
  auto stated = kernel.getSchedule()->getAs<DictionaryAttr>("copied");
  if (!stated)
    return copies;
  copies.room = stated.getAs<IntegerAttr>("bytes").getInt();
  llvm::DenseSet<Value> wanted;
  int64_t number = 0;
  for (Value argument : kernel.getBody().getArguments())
    if (holdsGpuTensor(argument) &&
        llvm::is_contained(stated.getAs<DenseI64ArrayAttr>("inputs").asArrayRef(), number++))
      wanted.insert(argument);
  llvm::DenseSet<Value> told;
  auto add = [&](Value value) {
    Reads reads;
    reads.boxes = analysis::inputBoxes(value, isStored);
    reads.boxes.inputs.remove_if([&](auto &entry) { return !wanted.contains(entry.first); });
    for (auto &[input, box] : reads.boxes.inputs)
      told.insert(input);
    if (!reads.boxes.inputs.empty())
      copies.readBy[value] = std::move(reads);
  };
  for (Operation &op : kernel.getBody().front())
    if (isStored(&op))
      add(op.getResult(0));
  for (Value value : llvm::cast<ReturnOp>(kernel.getBody().front().getTerminator()).getValues())
    if (value.getDefiningOp() && !isStored(value.getDefiningOp()))
      add(value);
  if (told.size() != wanted.size())
    return kernel.emitError(
        "has a schedule with `copied`, and nobody can tell which box of each of "
        "its `inputs` is read for what is stored");
  return copies;
}

bool GpuCopies::giveUp(int64_t bytes) {
  constexpr int64_t few = 8; // an eighth
  if (bytes * few > room)
    return false;
  room -= bytes;
  return true;
}

//===--- boxes ---------------------------------------------------------------===//

/// The places along an axis that are read; all where nothing else is known.
RowRange GpuCopies::rangeOf(const GpuSite &site, const InputBoxes &boxes, Value value, int64_t axis,
                            Ranges &known) {
  auto [ctx, b, x, s] = site.parts();
  if (auto found = known.find({value, axis}); found != known.end())
    return found->second;
  std::optional<RowRange> range;
  const RowRange all{x.constant(0), extent(site, value, axis)};
  for (const BoxStep &step : boxes.steps) {
    if (step.read != value)
      continue;
    RowRange read = all;
    if (const int64_t from = step.axes[axis]; from >= 0)
      read = rowsRead(site, {step.op, from, value, axis},
                      rangeOf(site, boxes, step.op->getResult(0), from, known));
    range = range ? RowRange{x.min(range->low, read.low), x.max(range->high, read.high)} : read;
  }
  return known[{value, axis}] = range.value_or(all);
}

static Value rounded(const GpuSite &site, Value number, int64_t to) {
  auto [ctx, b, x, s] = site.parts();
  if (auto known = IndexMath::constantOf(number))
    return x.constant(llvm::alignTo(*known, to));
  return movedBy(site, "pst_align", number, x.constant(to));
}

/// `number` of no negative number, computed once.
static Value remainder(const GpuSite &site, Value number, int64_t of) {
  auto [ctx, b, x, s] = site.parts();
  Value divisor = x.constant(of);
  const IndexMath::Key key{"remainder", number.getAsOpaquePointer(), divisor.getAsOpaquePointer()};
  if (Value known = x.find(key))
    return known;
  return x.remember(key, b.createOrFold<arith::RemUIOp>(site.loc, number, divisor));
}

/// Neighbours that are copied in words: the places of the last axis, and of those before it as long
/// as all behind are whole. Null `counts` are not known yet; neighbours are none then, and where
/// they are less than a word each time, as one channel of pixels.
GpuCopies::Row GpuCopies::rowOf(const GpuSite &site, Value input, ArrayRef<Value> counts) {
  auto [ctx, b, x, s] = site.parts();
  const GpuBuffer &from = ctx.buffers.find(input)->second;
  const int64_t bytes = scalarBytes(typeOf(input).getElementType());
  Row row{counts.size(), {}, {}};
  if (bytes >= 4 || counts.empty() || IndexMath::constantOf(from.strides.back()) != 1)
    return row;
  Value neighbours = x.constant(1);
  auto isBehind = [&](size_t axis) {
    auto known = IndexMath::constantOf(neighbours);
    return known && known == IndexMath::constantOf(from.strides[axis]);
  };
  while (row.outer > 0 && isBehind(row.outer - 1)) {
    if (!counts[--row.outer])
      return row;
    neighbours = x.mul(neighbours, counts[row.outer]);
  }
  auto known = IndexMath::constantOf(neighbours);
  if (known && *known * bytes < wordBytes && row.outer > 0)
    return {counts.size(), {}, {}};
  row.neighbours = neighbours;
  row.size = x.add(neighbours, x.constant((bytesBehind + 2 * (wordBytes - 1)) / bytes));
  if (row.outer > 0)
    row.stride = strideOf(site, input, row.outer - 1, row.size);
  return row;
}

/// From one place along an axis to the next, where a place takes `size` elements.
Value GpuCopies::strideOf(const GpuSite &site, Value input, size_t axis, Value size) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t word = wordBytes / scalarBytes(typeOf(input).getElementType());
  return x.add(rounded(site, size, word),
               remainder(site, ctx.buffers.find(input)->second.strides[axis], word));
}

/// Where a box lies that begins `begin` bytes into the room for copies, a multiple of 16.
GpuCopies::Copy GpuCopies::layOut(const GpuSite &site, Value input, ArrayRef<RowRange> box,
                                  Value begin) {
  auto [ctx, b, x, s] = site.parts();
  const GpuBuffer &from = ctx.buffers.find(input)->second;
  Copy copy{input, {}, {}, {0, {}, {}}, from.strides, begin, {}};
  for (const RowRange &range : box) {
    copy.low.push_back(range.low);
    copy.count.push_back(x.sub(range.high, range.low));
  }
  copy.row = rowOf(site, input, copy.count);
  Value size = copy.isWide() ? copy.row.size : x.constant(1);
  for (size_t axis = copy.row.outer; axis-- > 0;) {
    if (!copy.isWide())
      copy.strides[axis] = size;
    else if (axis + 1 == copy.row.outer)
      copy.strides[axis] = copy.row.stride;
    else
      copy.strides[axis] = strideOf(site, input, axis, size);
    size = x.mul(copy.isWide() ? copy.strides[axis] : size, copy.count[axis]);
  }
  const int64_t bytes = scalarBytes(typeOf(input).getElementType());
  copy.end = x.add(copy.begin, x.mul(size, x.constant(bytes)));
  return copy;
}

/// Lays out the rows that `part` of a value reads, behind the tables.
SmallVector<GpuCopies::Copy> GpuCopies::layOutRows(const GpuSite &site, const Reads &reads,
                                                   Value value, const GpuPart &part) const {
  auto [ctx, b, x, s] = site.parts();
  Ranges known = reads.same;
  for (auto [axis, count] : llvm::enumerate(part.count))
    if (count)
      known[{value, static_cast<int64_t>(axis)}] = {part.low[axis], x.add(part.low[axis], count)};
  SmallVector<Copy> copies;
  for (Value input : reads.rows) {
    SmallVector<RowRange> box;
    for (int64_t axis = 0; axis < typeOf(input).getRank(); ++axis)
      box.push_back(rangeOf(site, reads.boxes, input, axis, known));
    copies.push_back(
        layOut(site, input, box,
               copies.empty() ? tablesEnd : rounded(site, copies.back().end, wordBytes)));
  }
  return copies;
}

Value GpuCopies::fits(const GpuSite &site, Value end) const {
  auto [ctx, b, x, s] = site.parts();
  return x.compare(arith::CmpIPredicate::sle, end, x.constant(room));
}

//===--- copying -------------------------------------------------------------===//

GpuBuffer GpuCopies::place(const GpuSite &site, const Copy &copy) const {
  auto [ctx, b, x, s] = site.parts();
  auto [memory, firstByte] = shared;
  const GpuBuffer &from = ctx.buffers.find(copy.input)->second;
  auto type = MemRefType::get({ShapedType::kDynamic}, typeOf(copy.input).getElementType(),
                              MemRefLayoutAttrInterface(),
                              llvm::cast<MemRefType>(memory.getType()).getMemorySpace());
  Value at = x.add(copy.begin, x.constant(firstByte));
  if (copy.isWide())
    at = x.add(at, call(site, "pst_behind_word", b.getIndexType(),
                        {from.memory, elementOffset(site, from, copy.low)}));
  GpuBuffer to;
  to.memory = b.create<memref::ViewOp>(site.loc, type, memory, at, copy.end);
  to.strides = copy.strides;
  to.origin = copy.low;
  to.hasSlack = copy.isWide();
  return to;
}

/// All threads of the block copy.
void GpuCopies::copyInto(const GpuSite &site, const Copy &copy, const GpuBuffer &to) const {
  auto [ctx, b, x, s] = site.parts();
  if (!copy.isWide())
    return conversion::fill(site, copy.input, to, {copy.low, copy.count, false});
  const GpuBuffer from = ctx.buffers.find(copy.input)->second;
  // A loop for each axis outside of rows, of which there are few.
  std::function<void(size_t, Value, Value)> planes = [&](size_t axis, Value there, Value here) {
    if (axis + 1 < copy.row.outer) {
      loop(site, x.constant(0), copy.count[axis], 1, {}, [&](Value k, ValueRange) {
        planes(axis + 1, x.add(there, x.mul(k, copy.strides[axis])),
               x.add(here, x.mul(k, from.strides[axis])));
        return SmallVector<Value>();
      });
      return;
    }
    const bool hasRows = copy.row.outer > 0;
    Value none = x.constant(0);
    call(site, "pst_copy_rows", {},
         {to.memory, there, from.memory, here, hasRows ? copy.count[axis] : x.constant(1),
          copy.row.neighbours, hasRows ? copy.strides[axis] : none,
          hasRows ? from.strides[axis] : none});
  };
  planes(0, x.constant(0), elementOffset(site, from, copy.low));
}

/// What does not fit is left out, and what is not wanted.
void GpuCopies::copyTable(const GpuSite &site, Reads &reads, Value input, ArrayRef<RowRange> box,
                          Value isWanted) {
  auto [ctx, b, x, s] = site.parts();
  const Copy table = layOut(site, input, box, tablesEnd);
  reads.tables[input] = place(site, table);
  const GpuBuffer &to = reads.tables[input];
  Value isCopied = fits(site, table.end);
  if (isWanted) {
    reads.ofManyTaps.insert(input);
    isCopied = x.both(isWanted, isCopied);
  }
  if (auto known = IndexMath::constantOf(isCopied); !known)
    when(site, isCopied, [&] { copyInto(site, table, to); });
  else if (*known)
    copyInto(site, table, to);
  Value end = rounded(site, table.end, wordBytes);
  tablesEnd = isWanted ? b.create<arith::SelectOp>(site.loc, isWanted, end, tablesEnd) : end;
}

/// Whether threads hold their columns' taps while rows of the value are made.
static std::optional<Columns> columnsOfTiles(const GpuSite &site, Value value,
                                             ArrayRef<int64_t> tiled) {
  auto [ctx, b, x, s] = site.parts();
  GpuPart some = {};
  some.low.resize(typeOf(value).getRank());
  some.count.resize(typeOf(value).getRank());
  for (auto [number, axis] : llvm::enumerate(tiled)) {
    some.low[axis] = x.constant(0);
    some.count[axis] = x.constant(number == 0 ? 2 : 1); // rows first
  }
  auto columns = columnsOf(site, value, some);
  return columns && isHeld(site, *columns) ? columns : std::nullopt;
}

void GpuCopies::copyTables(const GpuSite &site, Value value, ArrayRef<int64_t> tiled) {
  auto [ctx, b, x, s] = site.parts();
  if (!tablesEnd)
    tablesEnd = x.constant(0);
  auto found = readBy.find(value);
  if (found == readBy.end())
    return;
  Reads &reads = found->second;
  auto columns = columnsOfTiles(site, value, tiled);
  Ranges known;
  Row row{0, {}, {}};
  for (auto &[input, box] : reads.boxes.inputs) {
    SmallVector<RowRange> ranges;
    SmallVector<Value> counts(box.movesWith.size());
    for (auto [axis, movesWith] : llvm::enumerate(box.movesWith)) {
      if (llvm::any_of(tiled, [&](int64_t own) { return movesWith[own]; }))
        continue;
      ranges.push_back(rangeOf(site, reads.boxes, input, axis, known));
      reads.same[{input, static_cast<int64_t>(axis)}] = ranges.back();
      counts[axis] = x.sub(ranges.back().high, ranges.back().low);
    }
    if (ranges.size() < box.movesWith.size()) {
      reads.rows.push_back(input);
      row = rowOf(site, input, counts); // is known to all tiles then
      continue;
    }
    const bool isOfTaps =
        columns && (input == columns->op.getWeights() || input == columns->op.getStart());
    copyTable(site, reads, input, ranges, isOfTaps ? hasManyTaps(site, *columns) : Value());
  }
  // One input, of rows that lie a stride apart.
  if (reads.rows.size() == 1 && row.stride && row.outer == 1)
    reads.rowBytes =
        x.mul(row.stride, x.constant(scalarBytes(typeOf(reads.rows.front()).getElementType())));
}

void GpuCopies::endTables(const GpuSite &site) {
  auto [ctx, b, x, s] = site.parts();
  for (auto &[value, reads] : readBy)
    if (reads.rowBytes)
      reads.together =
          movedBy(site.of(value), "pst_times", x.sub(x.constant(room), tablesEnd), reads.rowBytes);
}
