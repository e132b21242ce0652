// SPDX-License-Identifier: Apache-2.0
//
// Rows that are made when they are read.
#include "compiler/Dialect/RowStreams.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include <functional>

using namespace mlir;
using namespace penstock::pipe;

/// Channels of a pixel whose columns are taken together.
static constexpr int64_t mostChannels = 4;

/// Returns whether `tensor` is in memory where its elements are read.
static bool isInMemory(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (!op)
    return true;
  const auto where = op->getAttrOfType<StringAttr>("schedule");
  if (where && where == "inline")
    return false;
  return formOf(op) != KernelForm::inlined || llvm::isa<RepeatOp>(op) ||
         (where && where == "scratch");
}

/// Bytes between neighbours along each axis in memory, as far as the type tells.
static SmallVector<std::optional<int64_t>> bytesApart(Value tensor) {
  NamedTensorType type = tensorOf(tensor);
  SmallVector<std::optional<int64_t>> apart(type.getRank());
  std::optional<int64_t> bytes = scalarBytes(type.getElementType());
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    apart[axis] = bytes;
    const Axis &a = type.getAxes()[axis];
    bytes = bytes && a.isStatic() ? std::optional(*bytes * a.extent) : std::nullopt;
  }
  // The runtime says how far apart rows of an argument lie.
  if (!tensor.getDefiningOp() && type.getRank() > 1)
    apart[0].reset();
  return apart;
}

namespace {
/// How far something moves from one place to the next.
struct Step {
  bool isEven = true;               ///< the same everywhere
  std::optional<int64_t> bytes = 0; ///< or elements; null where a number of the sample decides

  bool stands() const { return isEven && bytes == 0; }
};
} // namespace

/// The number that a factor of a view's map is, if it is known.
static std::optional<int64_t> knownFactor(AffineExpr factor, ViewOp view) {
  if (auto constant = llvm::dyn_cast<AffineConstantExpr>(factor))
    return constant.getValue();
  if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(factor))
    if (auto known = view.getSymbols()[symbol.getPosition()].getDefiningOp<ConstantOp>())
      if (auto number = llvm::dyn_cast<IntegerAttr>(known.getValue()))
        return number.getInt();
  return std::nullopt;
}

/// How far `expr` moves where each dimension moves by `steps`.
static Step stepOf(AffineExpr expr, ArrayRef<Step> steps, ViewOp view) {
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr))
    return steps[dim.getPosition()];
  auto both = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (!both)
    return {};
  const Step low = stepOf(both.getLHS(), steps, view), high = stepOf(both.getRHS(), steps, view);
  if (low.stands() && high.stands())
    return {};
  auto together = [](const Step &a, const Step &b, auto combine) {
    return Step{a.isEven && b.isEven,
                a.bytes && b.bytes ? std::optional(combine(*a.bytes, *b.bytes)) : std::nullopt};
  };
  if (both.getKind() == AffineExprKind::Add)
    return together(low, high, std::plus<int64_t>());
  if (both.getKind() != AffineExprKind::Mul || !(low.stands() || high.stands()))
    return {false, std::nullopt};
  const Step factor{true, knownFactor(low.stands() ? both.getLHS() : both.getRHS(), view)};
  return together(low.stands() ? high : low, factor, std::multiplies<int64_t>());
}

/// Returns whether columns of `tensor` are `channels` bytes apart in memory, and channels one, and
/// rows lie equally far apart, in whichever direction.
static bool hasDenseRows(Value tensor, int64_t columns, int64_t channels) {
  const int64_t rank = tensorOf(tensor).getRank();
  SmallVector<SmallVector<Step>> steps(rank); // by axis that moves
  for (int64_t axis = 0; axis < rank; ++axis) {
    steps[axis].resize(rank);
    steps[axis][axis].bytes = 1;
  }
  while (!isInMemory(tensor)) {
    auto view = tensor.getDefiningOp<ViewOp>();
    if (!view)
      return false;
    for (auto &step : steps) {
      SmallVector<Step> inner;
      for (AffineExpr expr : view.getMap().getResults())
        inner.push_back(stepOf(expr, step, view));
      step = inner;
    }
    tensor = view.getInput();
  }
  if (!tensorOf(tensor).getElementType().isUnsignedInteger(8))
    return false;
  const auto apart = bytesApart(tensor);
  SmallVector<int64_t> bytes(rank, 0);
  for (int64_t moved = 0; moved < rank; ++moved)
    for (auto [step, distance] : llvm::zip(steps[moved], apart)) {
      if (!step.isEven || (moved >= columns && (!step.bytes || (*step.bytes && !distance))))
        return false;
      bytes[moved] += moved >= columns && *step.bytes ? *step.bytes * *distance : 0;
    }
  return bytes[columns] == channels && (rank == columns + 1 || bytes[columns + 1] == 1);
}

bool penstock::pipe::canStreamRows(ResampleOp op) {
  NamedTensorType type = tensorOf(op.getResult());
  const int64_t columns = type.axisIndex(op.getAxis()), behind = type.getRank() - 1 - columns;
  if (op.getNumerics() != Numerics::pillow || columns < 1 || behind > 1)
    return false;
  const Axis &row = type.getAxes()[columns];
  const int64_t channels = behind == 1 ? type.getAxes()[columns + 1].extent : 1;
  return row.isStatic() && row.extent >= 1 && channels >= 1 && channels <= mostChannels &&
         hasDenseRows(op.getInput(), columns, channels);
}

bool penstock::pipe::canReadRows(ResampleOp op) {
  auto along = op.getInput().getDefiningOp<ResampleOp>();
  NamedTensorType type = tensorOf(op.getResult());
  const int64_t rows = type.axisIndex(op.getAxis());
  return along && op.getNumerics() == Numerics::pillow &&
         rows + 1 == type.axisIndex(along.getAxis()) && type.getAxes()[rows].isStatic() &&
         type.getAxes()[rows].extent >= 1;
}

//===--- of reductions ------------------------------------------------------------------===//

/// The only op that reads `value`; null for several.
static Operation *onlyReader(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

StoredByRows penstock::pipe::storedByRows(ReduceOp op) {
  auto rows = tensorOf(op.getResult());
  auto view = llvm::dyn_cast_if_present<ViewOp>(onlyReader(op.getResult()));
  if (!view || rows.getRank() < 2)
    return {};
  auto reader = llvm::dyn_cast_if_present<ReduceOp>(onlyReader(view.getResult()));
  auto axes = tensorOf(reader ? reader.getResult() : view.getResult()).getAxes();
  auto read = tensorOf(view.getResult()).getAxes();
  if (axes.size() != rows.getAxes().size() || axes != read.take_front(axes.size()))
    return {};
  auto isSame = [&](int64_t axis) {
    return rows.getAxes()[axis] == axes[axis] &&
           view.getMap().getResult(static_cast<unsigned>(axis)) ==
               getAffineDimExpr(static_cast<unsigned>(axis), op.getContext());
  };
  // Channels that stay are part of the row.
  const int64_t rank = rows.getRank(),
                inRow = rank > 2 && rows.isStatic() && isSame(rank - 1) ? 2 : 1;
  for (int64_t axis = 0; axis < rank - inRow; ++axis)
    if (!isSame(axis))
      return {};
  Value stored = reader ? reader.getResult() : view.getResult();
  if (reader && reader->getAttr("schedule") != StringAttr::get(op.getContext(), "inline"))
    return {stored, inRow};
  for (Operation *next = onlyReader(stored);; next = onlyReader(stored)) {
    if (llvm::isa_and_present<ReturnOp>(next))
      return {stored, inRow};
    if (inputAccessOf(next) != InputAccess::own || tensorOf(next->getResult(0)).getAxes() != axes)
      return {};
    stored = next->getResult(0);
    if (next->hasAttr("schedule"))
      return {stored, inRow};
  }
}

/// Returns whether lanes go along the last axis of what is stored; of rows of `inRow` axes along
/// both.
static bool goesAlongRows(Value stored, int64_t inRow) {
  NamedTensorType type = tensorOf(stored);
  const int64_t last = type.getRank() - 1;
  auto reduce = stored.getDefiningOp<ReduceOp>();
  if (reduce && inRow == 2)
    return reduce->getAttr("schedule") == StringAttr::get(reduce.getContext(), "ring") &&
           canMakeRows(reduce);
  if (reduce && reduce->getAttr("schedule") != StringAttr::get(reduce.getContext(), "inline"))
    return isAxis(reductionOf(reduce).getAlong(), type.getAxes()[last]);
  auto result = llvm::dyn_cast<OpResult>(stored);
  const LoopsAttr loops = result ? loopsOf(result) : LoopsAttr();
  if (inRow == 1)
    return !loops || !loops.getAlong() || isAxis(loops.getAlong(), type.getAxes()[last]);
  return loops && isAxis(loops.getAlong(), type.getAxes()[last - 1]) &&
         isAxis(loops.getUnroll(), type.getAxes()[last]);
}

bool penstock::pipe::canMakeRows(ReduceOp op) {
  auto [stored, inRow] = storedByRows(op);
  return stored && op->getBlock() == stored.getParentBlock() &&
         isAxis(reductionOf(op).getAlong(), tensorOf(op.getResult()).getAxes().back()) &&
         goesAlongRows(stored, inRow);
}
