// SPDX-License-Identifier: Apache-2.0
//
// How reductions go through results and elements.
//
// Lanes lie where elements do: along an axis that stays, as rows of results or as neighbours, or
// along a reduced one. Sums of floats have 32 partial sums whichever way they go (scalar.h), so it
// changes no result.
#include "compiler/Schedules/ReductionPlan.h"
#include "compiler/Analysis/RowPeriod.h"
#include "compiler/Dialect/RowStreams.h"
#include "compiler/Dialect/SmallReduction.h"
#include "runtime/abi/scalar.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

static constexpr int64_t partialSums = penstock::scalar::reductionLanes;
/// Elements of one axis from which on a sum of floats is a loop: their addresses fill no registers.
static constexpr int64_t longSum = 2 * partialSums;
/// Rows up to which a loop over results that has them all inside is as good.
static constexpr int64_t fewRows = 16;
/// Rows that are read side by side: the CPU fetches as many runs ahead. Half of them, of sums of
/// elements that take more operations than `cheap`: their code has the last rows twice.
static constexpr int64_t rowsTogether = 8, cheap = 8;
/// Elements of neighbouring lanes lie so far apart at most. Further, only elements that can be
/// selected one by one are taken apart in registers.
static constexpr int64_t nearEnough = 4, apartInRegisters = 16;
/// Registers that a block reads for such lanes, at most: LLVM's time goes with their third power.
static constexpr int64_t mostRegistersApart = 640;
/// Results along an axis from which on lanes go along it.
static constexpr int64_t fewestResults = 4;

namespace {
class ReductionPlanner {
public:
  ReductionPlanner(ReduceOp op, const StoredValues &stored, const penstock::lane::Features &has)
      : op(op), stored(stored), has(has), memory(stored.memory()) {}

  ReductionAttr plan() const;
  ReductionAttr planRows() const;
  /// Returns whether rows of the result, of so many axes, can be made one by one.
  bool goesByRows(int64_t inRow) const {
    return inRow == 1 ? laneAxisAcross() == axes.kept.back()
                      : penstock::analysis::isOneRun(
                            memory, op.getValue(),
                            {out.getAxes()[out.getRank() - 2].name, out.getAxes().back().name});
  }

private:
  bool is(std::initializer_list<ReduceKind> kinds) const {
    return llvm::is_contained(kinds, op.getKind());
  }
  std::optional<int64_t> apart(int64_t axis) const {
    return penstock::analysis::elementsApart(memory, op.getValue(), axis);
  }
  int64_t costOf(Value tensor) const;
  bool isUnrolled() const;
  std::optional<int64_t> piecesAlong(const penstock::analysis::InMemory &memory) const;
  bool hasPieces() const;
  int64_t mostApart() const;
  int64_t laneAxisAcross() const;
  int64_t lanesAcross() const { return penstock::schedules::lanesAcross(has, element); }
  int64_t axesOfRow() const;
  int64_t lanesByRows() const;
  ReductionAttr across(int64_t axis) const;
  ReductionAttr alongReduced() const;
  int64_t runOfReduced() const { return lastAxesInRun(op, memory); }
  ReductionAttr inLanes(int64_t run, StringAttr channels) const;
  int64_t sumsBeside(int64_t run) const;
  int64_t rowsSharing(int64_t beside, int64_t period) const;
  StringAttr name(int64_t axis) const {
    return StringAttr::get(op.getContext(), in.getAxes()[axis].name);
  }
  ReductionAttr single(int64_t run, bool unrolled, bool pieces) const {
    return ReductionAttr::get(op.getContext(), Way::single, StringAttr(), 1, StringAttr(), run, 1,
                              unrolled, pieces, 1, 1);
  }

  mutable ReduceOp op; // a handle
  const StoredValues &stored;
  const penstock::lane::Features &has;
  const penstock::analysis::InMemory memory;
  const NamedTensorType in = tensorOf(op.getValue()), out = tensorOf(op.getResult());
  const ReducedAxes axes = ReducedAxes(op);
  const std::optional<int64_t> count = reducedElements(op);
  const Type element = computedIn(in.getElementType());
  const bool isReal = llvm::isa<FloatType>(element), isSum = is({ReduceKind::sum}) && isReal,
             isArgument = is({ReduceKind::argmin, ReduceKind::argmax}),
             countsWords =
                 is({ReduceKind::count}) && has.signMask && comparesWords(op.getValue(), stored);
};
} // namespace

int64_t penstock::schedules::lanesAcross(const lane::Features &has, Type element) {
  return std::min<int64_t>(32, std::max<int64_t>(2 * has.registerBytes / scalarBytes(element), 2));
}

/// Operations that make one element of `tensor`, as far as stored values.
int64_t ReductionPlanner::costOf(Value tensor) const {
  Operation *op = tensor.getDefiningOp();
  if (!op || stored.inMemory.contains(tensor))
    return 1;
  int64_t cost = 1;
  op->walk([&](Operation *inner) { cost += inner != op; });
  if (auto window = llvm::dyn_cast<WindowOp>(op))
    cost += static_cast<int64_t>(window.getBody().front().getNumArguments());
  for (Value operand : op->getOperands())
    if (llvm::isa<NamedTensorType>(operand.getType()) && cost < mostElementsUnrolled)
      cost += costOf(operand);
  return cost;
}

/// Returns whether it has no loop over elements, and so needs no memory.
bool ReductionPlanner::isUnrolled() const {
  if (count && isSum && *count > longSum && op.getOver().size() == 1)
    return false;
  return count && *count > 0 && *count * costOf(op.getValue()) <= mostElementsUnrolled;
}

/// Where the innermost reduced axis lies inside of one that stays, such as the columns of tiles,
/// both together are one run of elements: the one that stays.
std::optional<int64_t>
ReductionPlanner::piecesAlong(const penstock::analysis::InMemory &memory) const {
  if (!count || *count < 1 || axes.over.empty() || isArgument)
    return std::nullopt;
  const int64_t reduced = axes.over.back(), size = in.getAxes()[reduced].extent;
  const auto apart = penstock::analysis::elementsApart(memory, op.getValue(), reduced);
  if (!apart || *apart < 1 || *apart > nearEnough || size < 2 || size > partialSums ||
      !llvm::isPowerOf2_64(static_cast<uint64_t>(size)) || *count / size > partialSums ||
      *count / size * costOf(op.getValue()) > mostElementsUnrolled)
    return std::nullopt;
  for (int64_t kept : axes.kept)
    if (extentInCode(op, kept) &&
        penstock::analysis::elementsApart(memory, op.getValue(), kept) == *apart * size)
      return kept;
  return std::nullopt;
}

/// An input's rows are dense in loops that are written for that.
bool ReductionPlanner::hasPieces() const {
  return piecesAlong(memory) || piecesAlong(stored.memory(/*denseInputs=*/true));
}

/// How far elements of neighbouring lanes may lie apart.
int64_t ReductionPlanner::mostApart() const {
  Value root = op.getValue();
  while (Operation *inner = root.getDefiningOp()) {
    if (!llvm::isa<CastOp, ViewOp>(inner) || memory.stridesOf(root))
      break;
    root = inner->getOperand(0);
  }
  const int64_t bytes = memory.stridesOf(root) ? scalarBytes(tensorOf(root).getElementType()) : 0;
  const bool whole = 2 * has.registerBytes / scalarBytes(element) * bytes >= has.registerBytes;
  return has.selects(bytes) && whole && isUnrolled() ? apartInRegisters : nearEnough;
}

/// The axis of the operand that stays and along which lanes read runs of elements; -1: none. Sums
/// for fewer results than lanes are not worth it where what is added up is runs itself.
int64_t ReductionPlanner::laneAxisAcross() const {
  const auto length = axes.over.empty() ? std::nullopt : extentInCode(op, axes.over.back());
  const bool areRuns = is({ReduceKind::sum}) && length && *length >= partialSums;
  auto isTooShort = [&](int64_t axis) {
    const auto extent = extentInCode(op, axis);
    const bool isOutside = areRuns && axes.over.back() > axis;
    return extent && *extent < (isOutside ? lanesAcross() : fewestResults);
  };
  if (auto kept = piecesAlong(memory); kept && !isTooShort(*kept))
    return *kept;
  int64_t best = -1, distance = mostApart() + 1;
  for (int64_t axis : axes.kept) {
    const auto here = apart(axis);
    if (!here || *here < 1 || *here >= distance || isTooShort(axis))
      continue;
    best = axis;
    distance = *here;
  }
  return best;
}

/// Numbers of elements have four bytes, in as many lanes as these; counts are numbers that fit 32
/// bits.
int64_t ReductionPlanner::lanesByRows() const {
  if (countsWords)
    return has.lanesOf(4);
  const int64_t bytes = is({ReduceKind::count}) ? 4 : scalarBytes(element);
  return 2 * has.registerBytes / std::max<int64_t>(bytes, isArgument ? 4 : 1);
}

/// How many of the last axes of a long reduction's result make rows that are read as they lie; 0
/// where what is read for neighbours lies apart in memory, or there are too few.
int64_t ReductionPlanner::axesOfRow() const {
  const bool suits = ((isArgument || is({ReduceKind::count})) && count && *count <= INT32_MAX) ||
                     is({ReduceKind::sum, ReduceKind::min, ReduceKind::max});
  if (!suits || (!is({ReduceKind::count}) && element.isInteger(1)) || axes.kept.empty() || !count ||
      (isSum ? isUnrolled() || *count < partialSums : *count <= fewRows) ||
      apart(axes.kept.back()) != 1)
    return 0;
  // Those of pixels go through their channels.
  int64_t last = 0;
  while (last < out.getRank() && axes.kept[out.getRank() - 1 - last] == in.getRank() - 1 - last)
    ++last;
  last = out.isStatic()
             ? std::max<int64_t>(
                   std::min(last, penstock::analysis::axesInRun(memory, op.getValue())), 1)
             : 1;
  int64_t extent = 1;
  for (int64_t axis : ArrayRef(axes.kept).take_back(static_cast<size_t>(last)))
    extent *= extentInCode(op, axis).value_or(0);
  return extent < lanesByRows() ? 0 : last;
}

ReductionAttr ReductionPlanner::across(int64_t axis) const {
  int64_t lanes = lanesAcross();
  const int64_t distance = apart(axis).value_or(1);
  if (distance > nearEnough)
    lanes /= 2; // 32 partial sums, and what they come from
  const Axis &last = out.getAxes().back();
  const bool ofChannels = axes.kept.size() > 1 && axes.kept[axes.kept.size() - 2] == axis &&
                          last.isStatic() && last.extent > 0 &&
                          last.extent <= penstock::analysis::mostChannels;
  const int64_t read = count.value_or(0) * lanes * distance * (ofChannels ? last.extent : 1);
  const bool isMuch = read * scalarBytes(element) > mostRegistersApart * has.registerBytes;
  const bool unrolled = isUnrolled() && !(distance > 1 && isMuch);
  // Partial sums that are carried side by side do not wait: one register for each.
  if (!unrolled && isSum)
    lanes = std::max<int64_t>(lanes / 2, 2);
  return ReductionAttr::get(op.getContext(), Way::across, name(axis), lanes,
                            ofChannels ? name(axes.kept.back()) : StringAttr(), 1, 1, unrolled,
                            hasPieces(), 1, 1);
}

/// Results of which the partial sums fit the registers; twice as many where these go from one
/// element to the next in no loop. Additions to a partial sum wait for each other.
int64_t ReductionPlanner::sumsBeside(int64_t run) const {
  if (axes.kept.empty())
    return 1;
  const bool isShort =
      axes.over.size() == static_cast<size_t>(run) && *lengthOfRun(op, run) < 2 * partialSums;
  int64_t rows =
      std::max<int64_t>(has.registerBytes / (isShort ? 8 : 16) * 4 / scalarBytes(element), 1);
  if (hasShortRows(op, run)) // folded one after the other
    rows = std::max<int64_t>(has.lanesOf(scalarBytes(element)) / 2, 1);
  if (auto results = extentInCode(op, axes.kept.back()))
    while (rows > std::max<int64_t>(*results, 1))
      rows /= 2;
  return rows;
}

/// Rows a period apart that are made at once: what is read of the table needs registers once.
int64_t ReductionPlanner::rowsSharing(int64_t beside, int64_t period) const {
  int64_t rows = 2 * beside;
  if (auto results = extentInCode(op, axes.kept.back()))
    while (rows > 1 && *results < rows * period)
      rows /= 2;
  return rows;
}

/// With lanes along the last reduced axis. `channels` lie side by side.
ReductionAttr ReductionPlanner::inLanes(int64_t run, StringAttr channels) const {
  int64_t lanes = std::min<int64_t>(has.registerBytes, 32), beside = 1;
  if (isSum) {
    lanes = partialSums;
    beside = !channels && (fillsVectors(op, run) || hasShortRows(op, run)) ? sumsBeside(run) : 1;
    // Channels that lie side by side are added as they lie, and told apart at the end.
    if (channels && tensorOf(op.getValue()).getAxes().back().extent > 1 &&
        (*lengthOfRun(op, 1) % partialSums == 0 || hasShortRows(op, 1)) &&
        penstock::analysis::isOneRun(memory, op.getValue(),
                                     {in.getAxes()[axes.over.back()].name, channels.getValue()}))
      run = 2;
  } else if (isArgument) { // two registers of numbers
    lanes = has.registerBytes / std::max<int64_t>(scalarBytes(element), 4) * 2;
  } else if (countsWords) {
    lanes = has.lanesOf(4);
  } else if (is({ReduceKind::sum, ReduceKind::min, ReduceKind::max})) {
    // The last vector overlaps the one before.
    const auto length = static_cast<uint64_t>(lengthOfRun(op, run).value_or(lanes));
    lanes = std::min(lanes, std::max(int64_t(llvm::bit_floor(length)), int64_t{2}));
  }
  const int64_t period = beside > 1 ? rowPeriod(op, axes.kept.back()).value_or(1) : 1;
  const int64_t sharing = period > 1 ? rowsSharing(beside, period) : 1;
  return ReductionAttr::get(op.getContext(), Way::lanes, StringAttr(), lanes, channels, run, beside,
                            false, false, sharing > 1 ? period : 1, sharing);
}

/// All kinds but sums of floats are exact in any order: lanes along the last reduced axis, where
/// it is the tensor's last but for channels, which go side by side.
ReductionAttr ReductionPlanner::alongReduced() const {
  if (axes.over.empty())
    return single(1, false, false);
  const int64_t run = runOfReduced(), last = axes.over.back();
  const bool alongLast = last == in.getRank() - 1, fills = isSum && fillsVectors(op, run);
  const Axis &inner = in.getAxes().back();
  const bool channels = ((!isSum && !isArgument) || fills) && last == in.getRank() - 2 &&
                        inner.isStatic() && inner.extent > 0 &&
                        inner.extent <= penstock::analysis::mostChannels;
  const auto length = lengthOfRun(op, run);
  if (count && *count > 0 && (!(alongLast || channels) || (length && *length < partialSums)) &&
      isUnrolled())
    return single(1, true, false);
  if (channels)
    return inLanes(1, name(in.getRank() - 1));
  if (!alongLast)
    return single(1, false, false);
  ReductionAttr lanes = inLanes(run, {});
  const bool fits = length && *length >= lanes.getLanes() && count && *count <= INT32_MAX;
  return isArgument && !fits ? single(run, false, false) : lanes;
}

ReductionAttr ReductionPlanner::plan() const {
  if (op->getAttr("schedule") == StringAttr::get(op.getContext(), "inline"))
    return single(1, true, hasPieces());
  const int64_t last = in.getRank() - 1;
  const int64_t rows = isSum && costOf(op.getValue()) > cheap ? rowsTogether / 2 : rowsTogether;
  if (const int64_t run = axesOfRow())
    return ReductionAttr::get(op.getContext(), Way::rows, StringAttr(), lanesByRows(), StringAttr(),
                              run, rows, false, false, 1, 1);
  if (penstock::schedules::goesByShortRows(op, memory)) // perhaps one run with their channels
    return inLanes(runOfReduced(), last == axes.over.back() ? StringAttr() : name(last));
  const int64_t axis = laneAxisAcross();
  return axis < 0 ? alongReduced() : across(axis);
}

/// With lanes along the result's last axis.
ReductionAttr ReductionPlanner::planRows() const {
  int64_t lanes = lanesAcross();
  // Twice as many share what follows a minimum or maximum, unless more of them overlap.
  if (const auto columns = extentInCode(op, axes.kept.back());
      isReal && is({ReduceKind::min, ReduceKind::max}) && columns && *columns >= 2 * lanes &&
      (*columns + lanes - 1) / lanes % 2 == 0)
    lanes *= 2;
  return ReductionAttr::get(op.getContext(), Way::across, name(axes.kept.back()), lanes,
                            StringAttr(), 1, 1, isUnrolled(), hasPieces(), 1, 1);
}

ReductionAttr penstock::schedules::reductionFor(ReduceOp op, const StoredValues &stored,
                                                const lane::Features &has) {
  return withSums(op, ReductionPlanner(op, stored, has).plan());
}

ReductionAttr penstock::schedules::rowsFor(ReduceOp op, const StoredValues &stored,
                                           const lane::Features &has) {
  return withSums(op, ReductionPlanner(op, stored, has).planRows());
}

bool penstock::schedules::goesByRows(ReduceOp op, int64_t inRow, const StoredValues &stored,
                                     const lane::Features &has) {
  return ReductionPlanner(op, stored, has).goesByRows(inRow);
}
