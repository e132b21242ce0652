// SPDX-License-Identifier: Apache-2.0
//
// Schedule attributes of ops that are computed whole.
#include "compiler/Dialect/ScheduleDialect.h"

using namespace mlir;
using namespace penstock::pipe;

static constexpr int64_t mostTables = 8;
/// Two of the widest registers, of bytes.
static constexpr int64_t lanesOfRows = 128;

LogicalResult ReductionAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, Way way,
                                    StringAttr along, int64_t lanes, StringAttr unroll, int64_t run,
                                    int64_t beside, bool unrolled, bool pieces, int64_t period,
                                    int64_t sharing, ReductionSums sums, int64_t small,
                                    bool joined) {
  if (!isPowerUpTo(lanes, lanesOfRows) || !isPowerUpTo(beside, besideAtMost) || run < 1)
    return emitError() << "C1: " << lanes << " lanes, " << beside << " beside, a run of " << run
                       << "; known are powers of two up to " << lanesOfRows << " and "
                       << besideAtMost << ", and 1 or more";
  if (small < 0 || small > INT32_MAX)
    return emitError() << "C1: " << small << " elements in 32 bits; these hold the sums of 0 to "
                       << INT32_MAX;
  if ((way == Way::across) != static_cast<bool>(along))
    return emitError() << "C2: `along` " << (along ? "stands" : "does not stand")
                       << " with the way \"" << stringifyWay(way) << "\"; it does with \"across\"";
  const bool isAcross = way == Way::across, isLanes = way == Way::lanes;
  auto refuse = [&](StringRef name) {
    return emitError() << "C3: `" << name << "` with the way \"" << stringifyWay(way) << "\"";
  };
  if (unroll && !isAcross && !isLanes)
    return refuse("unroll");
  if (beside > 1 && !isLanes && way != Way::rows)
    return refuse("beside");
  if (run > 1 && isAcross)
    return refuse("run");
  if (lanes > 1 && way == Way::single)
    return refuse("lanes");
  if (unrolled && !isAcross && way != Way::single)
    return refuse("unrolled");
  if (pieces && !isAcross && way != Way::single)
    return refuse("pieces");
  const bool shares = isLanes && beside > 1 && period > 1 && sharing > 1;
  if (!isPowerUpTo(sharing, besideAtMost) || period < 1 || (!shares && (period > 1 || sharing > 1)))
    return emitError() << "C4: " << sharing << " rows " << period << " apart beside " << beside
                       << " with the way \"" << stringifyWay(way)
                       << "\"; rows share a table in lanes, 2, 4, 8 or 16 at once";
  const bool inMemory = sums == ReductionSums::memory;
  if ((small > 0 && !isLanes) || (inMemory && ((!isLanes && !isAcross) || unrolled)))
    return emitError() << "C5: `" << (small > 0 ? "small" : "sums") << "` with the way \""
                       << stringifyWay(way) << "\"" << (unrolled ? ", unrolled" : "");
  return success();
}

ReductionAttr ReductionAttr::withSums(ReductionSums sums) const {
  return get(getContext(), getWay(), getAlong(), getLanes(), getUnroll(), getRun(), getBeside(),
             getUnrolled(), getPieces(), getPeriod(), getSharing(), sums, getSmall(), getJoined());
}

ReductionAttr ReductionAttr::withSmall(int64_t small) const {
  return get(getContext(), getWay(), getAlong(), getLanes(), getUnroll(), getRun(), getBeside(),
             getUnrolled(), getPieces(), getPeriod(), getSharing(), getSums(), small, getJoined());
}

ReductionAttr ReductionAttr::withJoined(bool joined) const {
  return get(getContext(), getWay(), getAlong(), getLanes(), getUnroll(), getRun(), getBeside(),
             getUnrolled(), getPieces(), getPeriod(), getSharing(), getSums(), getSmall(), joined);
}

LogicalResult ScanAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, ScanWay way,
                               StringAttr along, int64_t lanes, int64_t beside, bool unrolled,
                               int64_t band) {
  if (!isPowerUpTo(lanes, lanesAtMost) || !isPowerUpTo(beside, besideAtMost))
    return emitError() << "C1: " << lanes << " lanes, " << beside
                       << " beside; known are powers of two up to " << lanesAtMost << " and "
                       << besideAtMost;
  if ((way == ScanWay::across) != static_cast<bool>(along))
    return emitError() << "C2: `along` " << (along ? "stands" : "does not stand")
                       << " with the way \"" << stringifyScanWay(way)
                       << "\"; it does with \"across\"";
  auto refuse = [&](StringRef name) {
    return emitError() << "C3: `" << name << "` with the way \"" << stringifyScanWay(way) << "\"";
  };
  if (unrolled && way != ScanWay::across)
    return refuse("unrolled");
  if (beside > 1 && way != ScanWay::single)
    return refuse("beside");
  if (lanes > 1 && way == ScanWay::single)
    return refuse("lanes");
  if (band && (way != ScanWay::across || unrolled || band < 0 || band % lanes))
    return emitError() << "C4: a band of " << band << " with the way \"" << stringifyScanWay(way)
                       << "\"; it is a multiple of " << lanes
                       << " lanes with \"across\" that is not unrolled";
  return success();
}

//===--- scans and filters -----------------------------------------------------------------===//

Type penstock::pipe::computedIn(Type element) {
  return element.isF16() || element.isBF16() ? Float32Type::get(element.getContext()) : element;
}

ScanAttr penstock::pipe::scanOf(Operation *op) {
  auto stated = op->getAttrOfType<ScanAttr>("scan");
  return stated ? stated
                : ScanAttr::get(op->getContext(), ScanWay::single, StringAttr(), 1, 1, false, 0);
}

int64_t penstock::pipe::besideAxisOf(int64_t rank, int64_t own) {
  return own == rank - 1 ? rank - 2 : rank - 1;
}

static std::string whyNotTransposed(Operation *op, int64_t own, ScanAttr scan) {
  NamedTensorType type = tensorOf(op->getResult(0));
  const int64_t rank = type.getRank();
  const int64_t bytes = scalarBytes(computedIn(type.getElementType()));
  if (bytes < 4 || !isRowOfSquare(bytes * scan.getLanes()))
    return "C16: squares have elements of 4 or 8 bytes, and rows of 16, 32 or 64 bytes";
  if (rank < 2 || own != rank - 1 || extentInCode(op, rank - 1).value_or(0) < scan.getLanes() ||
      extentInCode(op, rank - 2).value_or(0) < scan.getLanes())
    return "C16: squares lie in the last two axes, of which the scan goes along the last one, and "
           "which have as many elements as there are lanes";
  return "";
}

/// Of a scan or a filter that goes along axis `own`.
static std::string whyNotScanned(Operation *op, int64_t own, ScanAttr scan) {
  NamedTensorType type = tensorOf(op->getResult(0));
  if (scan.getWay() == ScanWay::transposed)
    return whyNotTransposed(op, own, scan);
  if (scan.getWay() == ScanWay::across) {
    const int64_t along = type.axisIndex(scan.getAlong());
    if (along < 0 || along == own)
      return "C15: `along` names an axis that the scan does not go along";
    if (scan.getBand() && extentInCode(op, along).value_or(0) < scan.getLanes())
      return "C15: bands have as many rows as there are lanes, a number known when compiling";
    const int64_t elements = extentInCode(op, own).value_or(0);
    return scan.getUnrolled() && (elements < 1 || elements > mostScannedUnrolled)
               ? "C15: what is unrolled has 1 to 4 elements, known when compiling"
               : "";
  }
  const int64_t other = besideAxisOf(type.getRank(), own);
  return scan.getBeside() > 1 &&
                 (other < 0 || extentInCode(op, other).value_or(0) < scan.getBeside())
             ? "C15: there are fewer rows side by side, or nobody knows how many"
             : "";
}

std::string penstock::pipe::whyNot(ScanOp op, ScanAttr scan) {
  if (scan.getWay() == ScanWay::transposed && op.getFactors())
    return "C16: squares are of one value, and each element has a factor of its own";
  return whyNotScanned(op, tensorOf(op.getResult()).axisIndex(op.getAxis()), scan);
}

std::string penstock::pipe::whyNot(FilterOp op, ScanAttr scan) {
  if (scan.getUnrolled())
    return "C15: a filter is not unrolled";
  return whyNotScanned(op, tensorOf(op.getResult()).axisIndex(op.getAxis()), scan);
}

//===--- histograms and scatters -----------------------------------------------------------===//

LogicalResult TurnsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, int64_t tables,
                                int64_t skip) {
  if (tables < 1 || tables > mostTables)
    return emitError() << "C1: " << tables << " tables; there are 1 to " << mostTables;
  return skip < 1 || skip > 64 || !llvm::isPowerOf2_64(skip)
             ? emitError() << "C2: " << skip << " are skipped; it is a power of two up to 64"
             : success();
}

TurnsAttr penstock::pipe::turnsOf(Operation *op) {
  auto stated = op->getAttrOfType<TurnsAttr>("turns");
  return stated ? stated : TurnsAttr::get(op->getContext(), 1, 1);
}

/// Of what `values` make in `result`.
static std::string whyNotInTurns(NamedTensorType values, NamedTensorType result, TurnsAttr turns) {
  return turns.getTables() > 1 &&
                 (values.getRank() == 0 || !values.isStatic() || !result.isStatic())
             ? "C17: neighbours take turns where all extents are known when compiling"
             : "";
}

std::string penstock::pipe::whyNot(HistogramOp op, TurnsAttr turns) {
  if (turns.getSkip() > 1)
    return "C17: elements of a histogram are keys, and none is skipped";
  return whyNotInTurns(tensorOf(op.getValue()), tensorOf(op.getResult()), turns);
}

std::string penstock::pipe::whyNot(ScatterOp op, TurnsAttr turns) {
  NamedTensorType type = tensorOf(op.getResult());
  if ((turns.getTables() > 1 || turns.getSkip() > 1) &&
      (op.getKind() != ScatterKind::sum || !llvm::isa<IntegerType>(type.getElementType())))
    return "C17: neighbours take turns, or are skipped, where they are added up as integers";
  if (turns.getSkip() > 1 && tensorOf(op.getValues()).getRank() > 1)
    return "C17: values that have other axes are not skipped";
  return whyNotInTurns(tensorOf(op.getValues()), type, turns);
}

//===--- on ops ----------------------------------------------------------------------------===//

template <typename Op, typename Schedule>
static LogicalResult verifyOne(Operation *op, StringRef name, StringRef number, StringRef what) {
  Attribute stated = op->getAttr(name);
  if (!stated)
    return success();
  auto whole = llvm::dyn_cast<Op>(op);
  auto schedule = llvm::dyn_cast<Schedule>(stated);
  if (!whole || !schedule)
    return op->emitOpError() << "has `" << name << " = " << stated << "` (" << number << "); it is "
                             << what;
  const std::string why = whyNot(whole, schedule);
  if (why.empty())
    return success();
  auto [constraint, text] = StringRef(why).split(':');
  return op->emitOpError() << "has `" << name << " = " << stated << "` (" << constraint << ");"
                           << text;
}

static LogicalResult verifyScanned(Operation *op) {
  static constexpr StringRef name = "scan", number = "C15",
                             what = "a `#schedule.scan`, of a pipe.scan or a pipe.filter";
  return llvm::isa<FilterOp>(op) ? verifyOne<FilterOp, ScanAttr>(op, name, number, what)
                                 : verifyOne<ScanOp, ScanAttr>(op, name, number, what);
}

static LogicalResult verifyTakesTurns(Operation *op) {
  static constexpr StringRef name = "turns", number = "C17";
  return llvm::isa<ScatterOp>(op)
             ? verifyOne<ScatterOp, TurnsAttr>(op, name, number, "a `#schedule.turns`")
             : verifyOne<HistogramOp, TurnsAttr>(
                   op, name, number, "a `#schedule.turns`, of a pipe.histogram or a pipe.scatter");
}

LogicalResult penstock::pipe::verifyWhole(KernelOp kernel) {
  const auto found = kernel.getBody().walk([](Operation *op) {
    return failed(verifyOne<ReduceOp, ReductionAttr>(
               op, "reduction", "C10", "a `#schedule.reduction`, of a pipe.reduce")) ||
                   failed(verifyScanned(op)) || failed(verifyTakesTurns(op)) ||
                   failed(verifyOne<ContractOp, ContractAttr>(
                       op, "contract", "C18", "a `#schedule.contract`, of a pipe.contract")) ||
                   failed(verifyOne<WeightsOp, WeightsAttr>(
                       op, "weights", "C20", "a `#schedule.weights`, of a pipe.weights")) ||
                   failed(verifyOne<FftOp, FftAttr>(op, "fft", "C21",
                                                    "a `#schedule.fft`, of a pipe.fft")) ||
                   failed(verifyOne<SortOp, SortAttr>(op, "sort", "C22",
                                                      "a `#schedule.sort`, of a pipe.sort"))
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return failure(found.wasInterrupted());
}
