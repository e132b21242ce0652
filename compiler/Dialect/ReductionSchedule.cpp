// SPDX-License-Identifier: Apache-2.0
//
// Which ways to reduce are open.
#include "compiler/Dialect/Rows.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "compiler/Dialect/SmallReduction.h"
#include "runtime/abi/scalar.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;

static constexpr int64_t partialSums = penstock::scalar::reductionLanes;
/// Channels that are reduced side by side.
static constexpr int64_t mostChannels = 4;
/// Elements in short rows that are unrolled.
static constexpr int64_t mostInShortRows = 1024;

ReducedAxes::ReducedAxes(ReduceOp op) {
  NamedTensorType in = tensorOf(op.getValue()), out = tensorOf(op.getResult());
  for (int64_t axis = 0; axis < in.getRank(); ++axis)
    (out.axisIndex(in.getAxes()[axis].name) >= 0 ? kept : over).push_back(axis);
}

static bool isScheduled(ReduceOp op, StringRef as) {
  return op->getAttr("schedule") == StringAttr::get(op.getContext(), as);
}

static bool isArgument(ReduceOp op) {
  return op.getKind() == ReduceKind::argmin || op.getKind() == ReduceKind::argmax;
}
static bool isFloatSum(ReduceOp op) {
  return op.getKind() == ReduceKind::sum &&
         llvm::isa<FloatType>(tensorOf(op.getValue()).getElementType());
}

ReductionAttr penstock::pipe::reductionOf(ReduceOp op) {
  if (auto stated = op->getAttrOfType<ReductionAttr>("reduction"))
    return stated;
  const bool isRing = isScheduled(op, "ring");
  const auto way = ReductionAttr::get(
      op.getContext(), isRing ? Way::across : Way::single,
      isRing ? StringAttr::get(op.getContext(), tensorOf(op.getResult()).getAxes().back().name)
             : StringAttr(),
      1, StringAttr(), 1, 1, isScheduled(op, "inline"), false, 1, 1);
  return isRing && isFloatSum(op) ? way.withSums(ReductionSums::memory) : way;
}

std::optional<int64_t> penstock::pipe::extentInCode(Operation *op, int64_t axis) {
  const Axis &a = tensorOf(op->getOperand(0)).getAxes()[axis];
  auto kernel = op->getParentOfType<KernelOp>();
  auto tile = kernel && kernel.getSchedule() ? kernel.getSchedule()->getAs<IntegerAttr>("row_tile")
                                             : IntegerAttr();
  if (tile && axis == 0)
    return tile.getInt();
  return a.isStatic() ? std::optional<int64_t>(a.extent) : std::nullopt;
}

std::optional<int64_t> penstock::pipe::lengthOfRun(ReduceOp op, int64_t run) {
  const ReducedAxes axes(op);
  int64_t length = 1;
  for (int64_t axis : ArrayRef(axes.over).take_back(static_cast<size_t>(run))) {
    auto extent = extentInCode(op, axis);
    if (!extent)
      return std::nullopt;
    length *= *extent;
  }
  return length;
}

bool penstock::pipe::fillsVectors(ReduceOp op, int64_t run) {
  const auto last = lengthOfRun(op, run);
  return last && *last >= partialSums && (*last % partialSums == 0 || reducedElements(op));
}

bool penstock::pipe::hasShortRows(ReduceOp op, int64_t run) {
  const auto last = lengthOfRun(op, run), count = reducedElements(op);
  return last && count && *last > 1 && *last < partialSums && *count > 0 &&
         *count <= mostInShortRows && *count / *last <= partialSums;
}

/// Numbers of elements have 32 bits.
static bool hasSmallNumbers(ReduceOp op) {
  const auto count = reducedElements(op);
  return count && *count <= INT32_MAX;
}

static std::string whyNoRows(ReduceOp op, ReductionAttr reduction) {
  const ReduceKind kind = op.getKind();
  const auto count = reducedElements(op);
  if (llvm::is_contained({ReduceKind::any, ReduceKind::all}, kind) ||
      (kind != ReduceKind::count && tensorOf(op.getValue()).getElementType().isInteger(1)) ||
      ((isArgument(op) || kind == ReduceKind::count) && !hasSmallNumbers(op)))
    return "C12: rows are for sums, counts, minima and maxima and their places, of numbers";
  if (!count || *count < (isFloatSum(op) ? partialSums : 1))
    return "C12: rows are of as many elements as are known when compiling, 32 or more for a sum of "
           "floats";
  const ReducedAxes axes(op);
  const auto run = static_cast<size_t>(reduction.getRun());
  if (run > axes.kept.size())
    return "C12: so many axes are no part of the result";
  int64_t length = 1;
  for (int64_t axis : ArrayRef(axes.kept).take_back(run))
    length *= extentInCode(op, axis).value_or(0);
  if (reduction.getLanes() < 2)
    return "C12: rows go by two lanes or more";
  return length < reduction.getLanes() ? "C12: a row has fewer results than there are lanes" : "";
}

/// Of an element that lies some whole turns of 32 further it is known where it lies along each
/// axis.
static bool goesByTurns(ReduceOp op) {
  NamedTensorType in = tensorOf(op.getValue());
  const ReducedAxes axes(op);
  int64_t inside = 1;
  for (int64_t axis : ArrayRef(axes.over).drop_front())
    inside *= in.getAxes()[axis].extent;
  return partialSums % inside == 0 ||
         (inside % partialSums == 0 && in.getAxes()[axes.over.back()].extent % partialSums == 0);
}

/// Where partial sums may live.
static std::string whyNotThere(ReduceOp op, ReductionAttr reduction) {
  const bool isLanes = reduction.getWay() == Way::lanes,
             isAcross = reduction.getWay() == Way::across && !reduction.getUnrolled();
  if (reduction.getSums() == ReductionSums::memory)
    return !isFloatSum(op) || reduction.getBeside() > 1 || (isLanes && reduction.getUnroll())
               ? "C24: partial sums in memory are of a sum of floats, of one result at a time"
               : "";
  if (!isFloatSum(op) || !(isLanes || isAcross))
    return "";
  const auto count = reducedElements(op);
  const int64_t run = isLanes && reduction.getUnroll() ? 1 : reduction.getRun();
  const bool isShort = hasShortRows(op, run) && (!reduction.getUnroll() || reduction.getRun() > 1);
  const bool canLive = isLanes ? isShort || fillsVectors(op, run)
                               : count && *count >= partialSums && goesByTurns(op);
  return canLive ? ""
                 : "C24: partial sums in registers are of few short rows, or of 32 elements or "
                   "more, of which it is known when compiling where each one goes";
}

/// Elements of channels, which lie in the operand's last axis, are reduced side by side.
static std::string whyNoChannels(ReduceOp op, ReductionAttr reduction) {
  NamedTensorType in = tensorOf(op.getValue());
  const Axis &last = in.getAxes().back();
  const ReducedAxes axes(op);
  if (axes.over.back() != in.getRank() - 2 || isArgument(op) || !last.isStatic() ||
      last.extent < 1 || last.extent > mostChannels || !isAxis(reduction.getUnroll(), last))
    return "C13: lanes lie along the operand's last axis, or the one before 1 to 4 channels, which "
           "`unroll` names; places have no channels";
  if (reduction.getBeside() > 1)
    return "C13: channels are what lies side by side";
  if (isFloatSum(op) && !fillsVectors(op, 1) && !hasShortRows(op, 1))
    return "C13: 32 partial sums are not filled by rows of known length";
  const bool isWhole =
      isFloatSum(op) && (*lengthOfRun(op, 1) % partialSums == 0 || hasShortRows(op, 1));
  return reduction.getRun() > (isWhole ? 2 : 1) ? "C13: a run with channels is for rows of whole "
                                                  "vectors, or few short ones, of a sum of floats"
                                                : "";
}

static std::string whyNoRun(ReduceOp op, ReductionAttr reduction) {
  const ReducedAxes axes(op);
  const auto count = reducedElements(op);
  const auto run = static_cast<size_t>(reduction.getRun());
  return run > 1 && (run > axes.over.size() || !count || *count < 1 ||
                     axes.over.back() != tensorOf(op.getValue()).getRank() - 1)
             ? "C13: a run is of reduced axes, the operand's last ones, of known extents"
             : "";
}

static std::string whyNoLanes(ReduceOp op, ReductionAttr reduction) {
  NamedTensorType in = tensorOf(op.getValue());
  const ReducedAxes axes(op);
  if (axes.over.empty())
    return "C13: there is no reduced axis for lanes";
  if (reduction.getLanes() < 2)
    return "C13: along a reduced axis there are 2 lanes or more";
  if (isFloatSum(op) && reduction.getLanes() != partialSums)
    return "C13: a sum of floats has 32 lanes along a reduced axis";
  if (reduction.getUnroll() || axes.over.back() != in.getRank() - 1)
    return whyNoChannels(op, reduction);
  if (std::string why = whyNoRun(op, reduction); !why.empty())
    return why;
  const auto last = lengthOfRun(op, reduction.getRun());
  if (isArgument(op) && (!last || *last < reduction.getLanes() || !hasSmallNumbers(op)))
    return "C13: rows of places have fewer elements than lanes, or nobody knows how many";
  if (reduction.getBeside() == 1)
    return "";
  const bool isKnown = fillsVectors(op, reduction.getRun()) || hasShortRows(op, reduction.getRun());
  if (!isFloatSum(op) || !isKnown || axes.kept.empty())
    return "C13: what lies side by side are sums of floats, whose 32 partial sums are filled by "
           "rows of known length, or take few short ones";
  const auto results = extentInCode(op, axes.kept.back());
  const int64_t most = std::max(reduction.getBeside(), reduction.getSharing());
  return results && (*results < most || *results / reduction.getSharing() < reduction.getPeriod())
             ? "C13: there are fewer results side by side"
             : "";
}

/// Returns whether code stands where `op` does: it is stored, or begins what is.
static bool isStored(Operation *op) {
  if (llvm::none_of(op->getResultTypes(), llvm::IsaPred<NamedTensorType>))
    return false;
  return formOf(op) != KernelForm::inlined || op->hasAttr("schedule") ||
         llvm::isa<ChooseOp, RepeatOp, ResampleOp>(op);
}

ReduceOp penstock::pipe::reductionBefore(ReduceOp op) {
  for (Operation *before = op->getPrevNode(); before; before = before->getPrevNode()) {
    auto reduce = llvm::dyn_cast<ReduceOp>(before);
    if (reduce && isScheduled(reduce, "inline"))
      continue;
    if (isStored(before))
      return reduce && !isScheduled(reduce, "ring") ? reduce : ReduceOp();
  }
  return {};
}

/// Returns whether elements of `value` depend on one of `results`, all of one kernel.
static bool dependsOn(Value value, const llvm::SmallDenseSet<Value> &results) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t next = 0; next < reached.size(); ++next) {
    if (results.contains(reached[next]))
      return true;
    if (Operation *op = reached[next].getDefiningOp())
      op->walk(
          [&](Operation *inner) { reached.insert(inner->operand_begin(), inner->operand_end()); });
  }
  return false;
}

static std::string whyNotJoined(ReduceOp op, ReductionAttr reduction) {
  static constexpr const char *why =
      "C29: what is joined stands behind a reduction of the same elements, for the same results, "
      "which goes alike and is not unrolled; nothing is stored between, and it takes nothing of it";
  auto general = [](ReductionAttr of) {
    return of.withJoined(false).withSmall(0).withSums(ReductionSums::registers);
  };
  ReduceOp before = reductionBefore(op);
  if (!before || reduction.getUnrolled() || isScheduled(op, "inline") || isScheduled(op, "ring") ||
      general(reductionOf(before)) != general(reduction) ||
      tensorOf(before.getValue()).getAxes() != tensorOf(op.getValue()).getAxes() ||
      tensorOf(before.getResult()).getAxes() != tensorOf(op.getResult()).getAxes())
    return why;
  llvm::SmallDenseSet<Value> results;
  for (ReduceOp one = before; one;
       one = reductionOf(one).getJoined() ? reductionBefore(one) : ReduceOp())
    results.insert(one.getResult());
  return dependsOn(op.getValue(), results) ? why : "";
}

std::string penstock::pipe::whyNot(ReduceOp op, ReductionAttr reduction) {
  NamedTensorType out = tensorOf(op.getResult());
  const auto count = reducedElements(op);
  if (StringAttr along = reduction.getAlong(); along && out.axisIndex(along) < 0)
    return "C10: `along` names an axis of the result";
  if (StringAttr unroll = reduction.getUnroll()) {
    const int64_t axis = out.axisIndex(unroll);
    if (axis < 0 || unroll == reduction.getAlong() || !out.getAxes()[axis].isStatic() ||
        out.getAxes()[axis].extent > mostSideBySide)
      return "C10: `unroll` names another axis of the result, of at most 16 elements, known when "
             "compiling";
  }
  if (reduction.getUnrolled() && (!count || *count < 1 || *count > mostElementsUnrolled))
    return "C11: what is unrolled has 1 to 256 elements, known when compiling";
  if (isScheduled(op, "inline") && (!reduction.getUnrolled() || reduction.getWay() != Way::single))
    return "C11: what is computed where it is read is \"single\" and unrolled";
  const bool isCount = op.getKind() == ReduceKind::count;
  if (reduction.getSmall() > 0 &&
      !(isCount || (op.getKind() == ReduceKind::sum &&
                    tensorOf(op.getValue()).getElementType().isSignlessInteger(64))))
    return "C25: `small` stands with sums of i64, and counts";
  std::string why;
  if (reduction.getWay() == Way::rows)
    why = whyNoRows(op, reduction);
  else if (reduction.getWay() == Way::lanes)
    why = whyNoLanes(op, reduction);
  else if (reduction.getWay() == Way::single)
    why = whyNoRun(op, reduction);
  if (why.empty() && reduction.getJoined())
    why = whyNotJoined(op, reduction);
  return why.empty() ? whyNotThere(op, reduction) : why;
}
