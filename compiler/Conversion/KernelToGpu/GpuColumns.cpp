// SPDX-License-Identifier: Apache-2.0
//
// Resampling along rows, a column for each thread.
//
// The taps of a column are the same in each row: a thread that makes a column reads its weights
// once, as bytes of four taps each, and goes through the rows. Four taps of a channel are then
// three products of four bytes each (dp4a). It takes Pillow's integers, whose weights have 24 bits,
// and bytes that lie side by side in shared memory.
#include "compiler/Analysis/ViewSteps.h"
#include "compiler/Conversion/KernelToGpu/GpuBoxes.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
constexpr int64_t tapsTogether = 4, mostGroups = 2;

/// The columns of pixels to make, each of so many channels.
struct Columns {
  ResampleOp op;
  int64_t across, down; ///< axes: along which it is resampled, and the other one
  int64_t channels, width;
};

/// The weights of four taps, by their bytes.
struct Taps {
  Value low, middle, high;
};
} // namespace

/// Returns whether neighbours along an axis, and channels, are neighbours in the same order in
/// memory that may be read behind its last element.
static bool liesForward(const GpuSite &site, Value tensor, int64_t axis, int64_t channel) {
  while (!site.bufferOf(tensor)) {
    auto view = tensor.getDefiningOp<ViewOp>();
    if (!view)
      return false;
    for (int64_t *each : {&axis, &channel}) {
      if (*each < 0)
        continue;
      auto step = penstock::analysis::stepAlong(view, *each);
      if (!step || step->axis < 0 || step->step != getAffineConstantExpr(1, view.getContext()))
        return false;
      *each = step->axis;
    }
    tensor = view.getInput();
  }
  const GpuBuffer &buffer = *site.bufferOf(tensor);
  return buffer.hasSlack && !buffer.inRegisters &&
         llvm::cast<MemRefType>(buffer.memory.getType()).getMemorySpace();
}

static std::optional<Columns> columnsOf(const GpuSite &site, Value tensor, const GpuPart &part) {
  auto op = tensor.getDefiningOp<ResampleOp>();
  if (!op || op.getNumerics() != Numerics::pillow || part.count.empty() || part.isSingle)
    return std::nullopt;
  NamedTensorType type = typeOf(tensor);
  auto isByte = [](Type element) { return isUnsigned(element) && element.isInteger(8); };
  const SmallVector<int64_t> box = vectorOf(tensor);
  Columns columns{op, type.axisIndex(op.getAxis()), -1, product(box), 0};
  if (!isByte(type.getElementType()) || !isByte(typeOf(op.getInput()).getElementType()) ||
      !type.getAxes()[columns.across].isStatic())
    return std::nullopt;
  columns.width = type.getAxes()[columns.across].extent;
  int64_t channel = -1;
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const bool isWhole = type.getAxes()[axis].extent == box[axis];
    if (box[axis] > 1 && isWhole && axis == type.getRank() - 1)
      channel = axis;
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
  if (columns.down < 0 || columns.channels > tapsTogether ||
      !liesForward(site, op.getInput(), columns.across, channel))
    return std::nullopt;
  return columns;
}

/// Those of a group of taps; what lies behind the last one weighs nothing.
static Taps tapsOf(const GpuSite &site, ResampleOp op, Value column, int64_t group, Value count) {
  auto [ctx, b, x, s] = site.parts();
  SmallVector<Value> weights;
  for (int64_t tap = 0; tap < tapsTogether; ++tap) {
    Value k = x.constant(group * tapsTogether + tap);
    Value inside = x.compare(CmpIPredicate::slt, k, count);
    Value last = x.max(x.sub(count, x.constant(1)), x.constant(0));
    Value weight = element(site, op.getWeights(), {column, x.min(k, last)});
    weights.push_back(s.select(inside, weight, s.zero(weight.getType())));
  }
  auto bytes = [&](StringRef name) { return call(site, name, b.getI32Type(), weights); };
  return {bytes("pst_low_bytes"), bytes("pst_middle_bytes"), bytes("pst_high_bytes")};
}

/// The nest whose columns have at most so many groups of taps.
static void fillColumns(const GpuSite &site, const Columns &columns, const GpuBuffer &to,
                        const GpuPart &part, int64_t groups) {
  auto [ctx, b, x, s] = site.parts();
  ResampleOp op = columns.op;
  NamedTensorType type = typeOf(op.getResult());
  Value taps = extent(site, op.getWeights(), 1);
  // Narrow pictures have rows for all threads.
  const int64_t sharers = std::max<int64_t>(1, ctx.launch.threads / columns.width);
  auto nameOf = [&](int64_t axis) { return type.getAxes()[axis].name; };
  SmallVector<std::string> axes{nameOf(columns.across)};
  SmallVector<Value> extents{x.constant(columns.width)};
  if (sharers > 1) {
    axes.insert(axes.begin(), nameOf(columns.down));
    extents.insert(extents.begin(), x.constant(sharers));
  }
  nest(site, axes, extents, "block", [&](GpuIndices numbers) {
    Value column = numbers.back(), first = sharers > 1 ? numbers[0] : x.constant(0);
    SmallVector<Taps> weights;
    for (int64_t group = 0; group < groups; ++group)
      weights.push_back(tapsOf(site, op, column, group, taps));
    Value start = x.toIndex(s.cast(element(site, op.getStart(), column), b.getI64Type()));
    loop(site, first, part.count[columns.down], sharers, {}, [&](Value row, ValueRange) {
      SmallVector<Value> at;
      for (int64_t axis = 0; axis < type.getRank(); ++axis)
        at.push_back(part.low[axis] ? part.low[axis] : x.constant(0));
      at[columns.down] = x.add(at[columns.down], row);
      SmallVector<Value> inner(at);
      at[columns.across] = column;
      SmallVector<int64_t> counts = vectorOf(op.getResult()), box(counts);
      box[columns.across] = tapsTogether;
      SmallVector<Value> sums(static_cast<size_t>(columns.channels), s.zero(b.getI32Type()));
      for (auto [group, each] : llvm::enumerate(weights)) {
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
                     {sum, each.low, each.middle, each.high, bytes});
        }
      }
      for (Value &sum : sums)
        sum = call(site, "pst_pillow", type.getElementType(), sum);
      save(site, sums, to, at, counts);
      return SmallVector<Value>();
    });
  });
}

bool penstock::conversion::fillColumns(const GpuSite &site, Value tensor, const GpuBuffer &to,
                                       const GpuPart &part, llvm::function_ref<void()> byElements) {
  auto columns = columnsOf(site, tensor, part);
  if (!columns)
    return false;
  auto [ctx, b, x, s] = site.parts();
  Value taps = extent(site, columns->op.getWeights(), 1);
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
      ::fillColumns(site, *columns, to, part, groups);
    }
    IndexMath::Scope scope(x);
    b.setInsertionPointToStart(doesFit.elseBlock());
    upTo(groups + 1);
  };
  upTo(1);
  return true;
}
