// SPDX-License-Identifier: Apache-2.0
//
// Schedule attributes of weights, Fourier transforms and orders, of which lanes are decided.
#include "compiler/Dialect/Filters.h"
#include "compiler/Dialect/ScheduleDialect.h"

using namespace mlir;
using namespace penstock::pipe;

static InFlightDiagnostic refuseLanes(llvm::function_ref<InFlightDiagnostic()> emitError,
                                      int64_t lanes) {
  return emitError() << "C1: " << lanes << " lanes; known are powers of two up to " << lanesAtMost;
}

/// Returns whether so many rows can go at once along an axis.
static bool reaches(const Axis &axis, int64_t lanes) {
  return axis.isStatic() && axis.extent >= lanes;
}

//===--- weights --------------------------------------------------------------------------===//

LogicalResult WeightsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                  int64_t lanes) {
  if (!isPowerUpTo(lanes, lanesAtMost))
    return refuseLanes(emitError, lanes);
  return success();
}

WeightsAttr penstock::pipe::weightsOf(WeightsOp op) {
  auto stated = op->getAttrOfType<WeightsAttr>("weights");
  return stated ? stated : WeightsAttr::get(op.getContext(), 1);
}

std::string penstock::pipe::whyNot(WeightsOp op, WeightsAttr weights) {
  const int64_t lanes = weights.getLanes();
  return lanes > 1 &&
                 (hasSine(op.getFilter()) || !reaches(tensorOf(op.getStart()).getAxes()[0], lanes))
             ? "C20: several outputs at once are of a filter without sines, and at most as many as "
               "there are, a number known when compiling"
             : "";
}

//===--- transforms -----------------------------------------------------------------------===//

LogicalResult FftAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, StringAttr along,
                              int64_t lanes, bool across) {
  if (!isPowerUpTo(lanes, lanesAtMost))
    return refuseLanes(emitError, lanes);
  if (along && lanes < 2)
    return emitError() << "C1: " << lanes << " lane along " << along
                       << "; transforms go side by side in 2 lanes or more";
  if (across && !along)
    return emitError() << "C2: `across` stands without `along`";
  return success();
}

FftAttr penstock::pipe::fftOf(FftOp op) {
  auto stated = op->getAttrOfType<FftAttr>("fft");
  return stated ? stated : FftAttr::get(op.getContext(), StringAttr(), 1, false);
}

bool penstock::pipe::storesAcross(FftOp op, FftAttr fft) {
  NamedTensorType in = tensorOf(op.getValue());
  return fft.getAlong() && in.axisIndex(fft.getAlong()) > in.axisIndex(op.getAxis());
}

std::string penstock::pipe::whyNot(FftOp op, FftAttr fft) {
  if (!fft.getAlong())
    return "";
  NamedTensorType in = tensorOf(op.getValue());
  const int64_t lanes = fft.getLanes(), side = in.axisIndex(fft.getAlong());
  if (side < 0 || fft.getAlong() == op.getAxisAttr() ||
      (in.getAxes()[side].isStatic() && !reaches(in.getAxes()[side], lanes)))
    return "C21: `along` names an axis that the transform does not go along, of as many rows as "
           "there are lanes";
  const Axis &own = in.getAxes()[in.axisIndex(op.getAxis())];
  if (fft.getAcross() && storesAcross(op, fft))
    return "";
  return !isRowOfSquare(lanes * scalarBytes(in.getElementType())) || own.extent / 2 + 1 < lanes
             ? "C21: squares have rows of 16, 32 or 64 bytes, and as many frequencies as lanes"
             : "";
}

//===--- orders ---------------------------------------------------------------------------===//

bool penstock::pipe::isRowByRow(SortWay way) {
  return way == SortWay::merged || way == SortWay::digits;
}

LogicalResult SortAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError, SortWay way,
                               StringAttr along, int64_t lanes) {
  const bool goesRowByRow = isRowByRow(way);
  if (!isPowerUpTo(lanes, lanesAtMost))
    return refuseLanes(emitError, lanes);
  if (goesRowByRow != (lanes == 1))
    return emitError() << "C1: " << lanes << " lanes with the way \"" << stringifySortWay(way)
                       << "\"; \"merged\" and \"digits\" have one, and others have 2 or more";
  if (goesRowByRow == static_cast<bool>(along))
    return emitError() << "C2: `along` " << (along ? "stands" : "does not stand")
                       << " with the way \"" << stringifySortWay(way)
                       << "\"; it does with \"across\" and \"transposed\"";
  return success();
}

SortAttr penstock::pipe::sortOf(SortOp op) {
  auto stated = op->getAttrOfType<SortAttr>("sort");
  return stated ? stated : SortAttr::get(op.getContext(), SortWay::merged, StringAttr(), 1);
}

int64_t penstock::pipe::bytesOfKey(SortOp op) {
  Type element = tensorOf(op.getValue()).getElementType();
  return scalarBytes(element) <= 2 && !llvm::isa<FloatType>(element) ? 4 : 8;
}

std::string penstock::pipe::whyNot(SortOp op, SortAttr sort) {
  if (isRowByRow(sort.getWay()))
    return "";
  NamedTensorType type = tensorOf(op.getValue());
  const int64_t lanes = sort.getLanes(), side = type.axisIndex(sort.getAlong()),
                own = type.axisIndex(op.getAxis());
  if (side < 0 || side == own || !reaches(type.getAxes()[side], lanes))
    return "C22: `along` names an axis that is not sorted, of as many rows, known when compiling, "
           "as there are lanes";
  const Axis &row = type.getAxes()[own];
  if (scalarBytes(type.getElementType()) > 4 || !reaches(row, 2) ||
      row.extent > int64_t{1} << sortedPlaceBits)
    return "C22: rows in lanes have 2 to 4096 elements, known when compiling, of 4 bytes or less";
  return sort.getWay() == SortWay::transposed && (own != type.getRank() - 1 || row.extent < lanes ||
                                                  !isRowOfSquare(lanes * bytesOfKey(op)))
             ? "C23: squares lie along the last axis, of as many elements as there are lanes, and "
               "have rows of 16, 32 or 64 bytes"
             : "";
}
