// SPDX-License-Identifier: Apache-2.0
//
// Resampling along rows, a column for each thread.
//
// The taps of a column are the same in each row: a thread that makes a column reads its weights
// once for a tile, four taps at a time in three words, and goes through the rows. Four taps of a
// channel are then two products of 16 bits and one of bytes (dp2a, dp4a). It takes Pillow's
// integers, whose weights have 24 bits, and bytes that lie side by side in shared memory.
#include "compiler/Conversion/KernelToGpu/GpuColumns.h"
#include "compiler/Analysis/ViewSteps.h"
#include "compiler/Conversion/KernelToGpu/GpuBoxes.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static constexpr int64_t tapsTogether = 4, mostGroups = 2;

/// The tensor in memory of which neighbours along an axis, and channels, are neighbours in the same
/// order; null: there is none.
static Value readForward(const GpuSite &site, Value tensor, int64_t axis, int64_t channel) {
  while (!site.bufferOf(tensor)) {
    auto view = tensor.getDefiningOp<ViewOp>();
    if (!view)
      return {};
    for (int64_t *each : {&axis, &channel}) {
      if (*each < 0)
        continue;
      auto step = penstock::analysis::stepAlong(view, *each);
      if (!step || step->axis < 0 || step->step != getAffineConstantExpr(1, view.getContext()))
        return {};
      *each = step->axis;
    }
    tensor = view.getInput();
  }
  return tensor;
}

/// Returns whether what is read forward lies in shared memory, and may be read behind its last
/// element.
static bool isCopied(const GpuSite &site, Value tensor) {
  const GpuBuffer &buffer = *site.bufferOf(tensor);
  return buffer.hasSlack && !buffer.inRegisters &&
         llvm::cast<MemRefType>(buffer.memory.getType()).getMemorySpace();
}

std::optional<Columns> penstock::conversion::columnsOf(const GpuSite &site, Value tensor,
                                                       const GpuPart &part) {
  auto op = tensor.getDefiningOp<ResampleOp>();
  if (!op || op.getNumerics() != Numerics::pillow || part.count.empty() || part.isSingle)
    return std::nullopt;
  NamedTensorType type = typeOf(tensor);
  auto isByte = [](Type element) { return isUnsigned(element) && element.isInteger(8); };
  const SmallVector<int64_t> box = vectorOf(tensor);
  Columns columns{op, type.axisIndex(op.getAxis()), -1, product(box), 0, -1, {}};
  const GpuBuffer *weights = site.bufferOf(op.getWeights());
  if (!weights || IndexMath::constantOf(weights->strides[1]) != 1 ||
      !isByte(type.getElementType()) || !isByte(typeOf(op.getInput()).getElementType()) ||
      !type.getAxes()[columns.across].isStatic())
    return std::nullopt;
  columns.width = type.getAxes()[columns.across].extent;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const bool isWhole = type.getAxes()[axis].extent == box[axis];
    if (box[axis] > 1 && isWhole && axis == type.getRank() - 1)
      columns.channel = axis;
    else if (box[axis] > 1)
      return std::nullopt;
    else if (axis == columns.across ||
             (part.count[axis] && IndexMath::constantOf(part.count[axis]) == 1))
      continue;
    else if (columns.down >= 0 || !part.count[axis])
      return std::nullopt;
    else
      columns.down = axis;
  }
  if (columns.down < 0 || columns.channels > tapsTogether)
    return std::nullopt;
  columns.read = readForward(site, op.getInput(), columns.across, columns.channel);
  if (!columns.read)
    return std::nullopt;
  return columns;
}

/// Those of a group of taps; what lies behind the last one weighs nothing.
static ColumnTaps tapsOf(const GpuSite &site, const GpuBuffer &buffer, Value column, int64_t group,
                         Value count) {
  auto [ctx, b, x, s] = site.parts();
  Value at = elementOffset(site, buffer, {column, x.constant(0)});
  SmallVector<Value> weights;
  for (int64_t tap = 0; tap < tapsTogether; ++tap)
    weights.push_back(call(site, "pst_tap", b.getI32Type(),
                           {buffer.memory, at, x.constant(group * tapsTogether + tap), count}));
  auto packed = [&](StringRef name) { return call(site, name, b.getI32Type(), weights); };
  return {packed("pst_first_halves"), packed("pst_last_halves"), packed("pst_high_bytes")};
}

static Value startOf(const GpuSite &site, ResampleOp op, Value column) {
  auto [ctx, b, x, s] = site.parts();
  return x.toIndex(s.cast(element(site, op.getStart(), column), b.getI64Type()));
}

//===--- what a thread holds -------------------------------------------------===//

bool penstock::conversion::isHeld(const GpuSite &site, const Columns &columns) {
  return columns.width <= site.ctx.launch.threads;
}

Value penstock::conversion::hasManyTaps(const GpuSite &site, const Columns &columns) {
  auto [ctx, b, x, s] = site.parts();
  ResampleOp op = columns.op;
  return x.compare(CmpIPredicate::sgt, extent(site, op.getWeights(), 1),
                   x.constant(mostGroups * tapsTogether));
}

/// Threads that have a column in common: narrow pictures have rows for all.
static int64_t sharersOf(const GpuSite &site, const Columns &columns) {
  return std::max<int64_t>(1, site.ctx.launch.threads / columns.width);
}

/// Copies the taps that threads hold to where rows will lie, so that each word is read once, from
/// neighbours' sectors too; nothing where there is no room.
static std::optional<GpuBuffer> copyTaps(const GpuSite &site, const Columns &columns,
                                         const GpuBuffer &to, Value count) {
  auto [ctx, b, x, s] = site.parts();
  auto rows = to.memory.getDefiningOp<memref::ViewOp>();
  const int64_t most = columns.width * mostGroups * tapsTogether;
  constexpr int64_t wordsAround = 2 * 16, weightBytes = 4;
  auto bytes = rows ? IndexMath::constantOf(rows.getSizes()[0]) : std::nullopt;
  if (!bytes || *bytes < most * weightBytes + wordsAround)
    return std::nullopt;
  const GpuBuffer &from = *site.bufferOf(ResampleOp(columns.op).getWeights());
  Value first = elementOffset(site, from, {x.constant(0), x.constant(0)});
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI32Type(), MemRefLayoutAttrInterface(),
                              llvm::cast<MemRefType>(to.memory.getType()).getMemorySpace());
  Value behind = call(site, "pst_behind_word", b.getIndexType(), {from.memory, first});
  GpuBuffer taps;
  taps.memory = b.create<memref::ViewOp>(site.loc, type, rows.getSource(),
                                         x.add(behind, rows.getByteShift()), x.constant(most));
  taps.strides = {count, x.constant(1)};
  call(site, "pst_copy_table", {},
       {taps.memory, from.memory, first, x.constant(columns.width), count, from.strides[0]});
  barrier(site); // for whoever reads the taps
  return taps;
}

bool penstock::conversion::holdTaps(const GpuSite &site, Columns &columns, const GpuBuffer &to) {
  auto [ctx, b, x, s] = site.parts();
  ResampleOp op = columns.op;
  Value thread = b.create<gpu::ThreadIdOp>(site.loc, gpu::Dimension::x),
        width = x.constant(columns.width),
        taken = x.constant(sharersOf(site, columns) * columns.width);
  if (sharersOf(site, columns) * columns.width < ctx.launch.threads)
    columns.isTaken = x.compare(CmpIPredicate::slt, thread, taken);
  if (sharersOf(site, columns) > 1) {
    columns.column = b.create<arith::RemUIOp>(site.loc, thread, width);
    columns.first = b.create<arith::DivUIOp>(site.loc, thread, width);
  } else {
    columns.column = columns.isTaken ? x.min(thread, x.constant(columns.width - 1)) : thread;
    columns.first = x.constant(0);
  }
  // With many taps, which are read element by element, none.
  Value count = b.create<arith::SelectOp>(site.loc, hasManyTaps(site, columns), x.constant(0),
                                          extent(site, op.getWeights(), 1));
  columns.start = startOf(site, op, columns.column);
  auto copied = copyTaps(site, columns, to, count);
  const GpuBuffer &from = copied ? *copied : *site.bufferOf(op.getWeights());
  for (int64_t group = 0; group < mostGroups; ++group)
    columns.taps.push_back(tapsOf(site, from, columns.column, group, count));
  return copied.has_value();
}

//===--- columns -------------------------------------------------------------===//

/// The rows of a column from `first` on.
static void fillColumn(const GpuSite &site, const Columns &columns, const GpuBuffer &to,
                       const GpuPart &part, Value column, Value first, Value start,
                       ArrayRef<ColumnTaps> taps) {
  auto [ctx, b, x, s] = site.parts();
  ResampleOp op = columns.op;
  NamedTensorType type = typeOf(op.getResult());
  loop(site, first, part.count[columns.down], sharersOf(site, columns), {},
       [&](Value row, ValueRange) {
         SmallVector<Value> at;
         for (int64_t axis = 0; axis < type.getRank(); ++axis)
           at.push_back(part.low[axis] ? part.low[axis] : x.constant(0));
         at[columns.down] = x.add(at[columns.down], row);
         SmallVector<Value> inner(at);
         at[columns.across] = column;
         SmallVector<int64_t> counts = vectorOf(op.getResult()), box(counts);
         box[columns.across] = tapsTogether;
         SmallVector<Value> sums(static_cast<size_t>(columns.channels), pillowSum(site));
         for (auto [group, each] : llvm::enumerate(taps)) {
           inner[columns.across] =
               x.add(start, x.constant(static_cast<int64_t>(group) * tapsTogether));
           const SmallVector<Value> read = elements(site, op.getInput(), inner, box);
           for (int64_t channel = 0; channel < columns.channels; ++channel) {
             SmallVector<Value> four;
             for (int64_t tap = 0; tap < tapsTogether; ++tap)
               four.push_back(read[static_cast<size_t>(tap * columns.channels + channel)]);
             Value bytes = call(site, "pst_bytes", b.getI32Type(), four);
             Value &sum = sums[static_cast<size_t>(channel)];
             sum = call(site, "pst_weigh", b.getI32Type(),
                        {sum, each.first, each.last, each.high, bytes});
           }
         }
         for (Value &sum : sums)
           sum = call(site, "pst_pillow", type.getElementType(), sum);
         save(site, sums, to, at, counts);
         return SmallVector<Value>();
       });
}

/// Columns that have at most so many groups of taps.
static void fillGroups(const GpuSite &site, const Columns &columns, const GpuBuffer &to,
                       const GpuPart &part, int64_t groups) {
  auto [ctx, b, x, s] = site.parts();
  ResampleOp op = columns.op;
  if (!columns.taps.empty()) {
    auto body = [&] {
      fillColumn(site, columns, to, part, columns.column, columns.first, columns.start,
                 ArrayRef(columns.taps).take_front(static_cast<size_t>(groups)));
    };
    return columns.isTaken ? when(site, columns.isTaken, body) : body();
  }
  const std::string name = typeOf(op.getResult()).getAxes()[columns.across].name;
  Value count = extent(site, op.getWeights(), 1);
  nest(site, {name}, {x.constant(columns.width)}, "block", [&](GpuIndices numbers) {
    SmallVector<ColumnTaps> taps;
    for (int64_t group = 0; group < groups; ++group)
      taps.push_back(tapsOf(site, *site.bufferOf(op.getWeights()), numbers[0], group, count));
    fillColumn(site, columns, to, part, numbers[0], x.constant(0), startOf(site, op, numbers[0]),
               taps);
  });
}

bool penstock::conversion::fillColumns(const GpuSite &site, const Columns &columns,
                                       const GpuBuffer &to, const GpuPart &part,
                                       llvm::function_ref<void()> byElements) {
  ResampleOp op = columns.op;
  if (!isCopied(site, columns.read))
    return false;
  auto [ctx, b, x, s] = site.parts();
  Value taps = extent(site, op.getWeights(), 1);
  std::function<void(int64_t)> upTo = [&](int64_t groups) {
    if (groups > mostGroups)
      return byElements();
    auto doesFit = b.create<scf::IfOp>(
        site.loc, x.compare(CmpIPredicate::sle, taps, x.constant(groups * tapsTogether)),
        /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    {
      IndexMath::Scope scope(x);
      b.setInsertionPointToStart(doesFit.thenBlock());
      fillGroups(site, columns, to, part, groups);
    }
    IndexMath::Scope scope(x);
    b.setInsertionPointToStart(doesFit.elseBlock());
    upTo(groups + 1);
  };
  upTo(1);
  return true;
}
