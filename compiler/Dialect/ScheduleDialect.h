// SPDX-License-Identifier: Apache-2.0
//
// How kernels become loops, as attributes.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

#include "compiler/Dialect/ScheduleDialect.h.inc"
#include "compiler/Dialect/ScheduleEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/ScheduleAttrs.h.inc"

namespace penstock::pipe {

/// Axes that `unroll` may name: code is written once for each of their elements.
constexpr int64_t mostSideBySide = 16;

/// Lanes that an attribute may ask for, and what goes side by side.
constexpr int64_t lanesAtMost = 64, besideAtMost = 16;
inline bool isPowerUpTo(int64_t number, int64_t most) {
  return number >= 1 && number <= most && (number & (number - 1)) == 0;
}
/// Squares of elements are transposed by pieces of 16 bytes, in one, two or four registers of
/// these: so many bytes have their rows.
inline bool isRowOfSquare(int64_t bytes) { return bytes == 16 || bytes == 32 || bytes == 64; }

/// Returns whether `name` is there, and that of an axis.
inline bool isAxis(mlir::StringAttr name, const Axis &axis) {
  return name && name.getValue() == axis.name;
}

/// The attribute `loops` of an op speaks of results, one of an array for each, or of its only one;
/// null where there is none.
LoopsAttr loopsOf(mlir::OpResult result);
/// The attribute `copies` of what stores its operands elsewhere (`pipe.return`, a concat, a stack)
/// speaks of those that are stored already.
LoopsAttr copyLoopsOf(mlir::OpOperand &operand);
/// Whether loops store the parts of a concat or a stack one after the other: they do where vectors
/// hold elements of one part, and each row does not go through all parts.
bool storesParts(mlir::Operation *op);
void setLoops(mlir::Operation *op, llvm::StringRef name, llvm::ArrayRef<mlir::Attribute> loops);

/// `loops` and `copies` inside of a kernel name axes that are there.
mlir::LogicalResult verifyLoops(KernelOp kernel);

//===--- tensors of a kernel (KernelOps.cpp) --------------------------------------------===//

/// How many of a kernel's tensors are inputs: they are its first arguments.
int64_t inputsOf(KernelOp kernel);
/// Returns whether the schedule has the tensor `number`, inputs before outputs, in `dense`.
bool isDense(KernelOp kernel, int64_t number);
/// Returns those that the schedule has in `held`, likewise, ascending.
llvm::SmallVector<int64_t> heldBy(KernelOp kernel);
/// Returns the bytes of a tensor of known extents; nothing for others.
std::optional<int64_t> denseBytesOf(NamedTensorType type);

//===--- reductions (ReductionSchedule.cpp) ---------------------------------------------===//

/// Elements for each result of which code is written for each, at most.
constexpr int64_t mostElementsUnrolled = 256;

/// Returns the attribute `reduction`; where there is none, a way that is always open.
ReductionAttr reductionOf(ReduceOp op);

/// The axes of a reduction's operand, by position.
struct ReducedAxes {
  llvm::SmallVector<int64_t> kept, over;
  explicit ReducedAxes(ReduceOp op);
};

/// Indices of an axis of `op`'s first operand that code goes through; null where only the sample
/// tells. Of rows that go in tiles it is those of a tile.
std::optional<int64_t> extentInCode(mlir::Operation *op, int64_t axis);
/// Indices of the last `run` reduced axes, together.
std::optional<int64_t> lengthOfRun(ReduceOp op, int64_t run);
/// Returns whether vectors of all partial sums fill rows of so many elements, so that it is known
/// where each row begins among them.
bool fillsVectors(ReduceOp op, int64_t run);
/// Returns whether such rows are shorter than that, and so few that code is written for each.
bool hasShortRows(ReduceOp op, int64_t run);

/// The reduction that stands before `op` in its block, if nothing is stored between them.
ReduceOp reductionBefore(ReduceOp op);

/// Returns why no code can be made for `reduction`, as far as types tell, with the number of the
/// constraint; empty where all is fine.
std::string whyNot(ReduceOp op, ReductionAttr reduction);

//===--- scans and filters (WholeSchedules.cpp) ------------------------------------------===//

/// Elements of a row of which code is written for each, at most.
constexpr int64_t mostScannedUnrolled = 4;

/// Returns the type to compute with: f16 and bf16 are for storage.
mlir::Type computedIn(mlir::Type element);
/// Returns the attribute `scan` of a scan or a filter; where there is none, a way that is always
/// open.
ScanAttr scanOf(mlir::Operation *op);
/// The axis along which rows go beside each other, that of a scan or a filter being `own`; -1:
/// none.
int64_t besideAxisOf(int64_t rank, int64_t own);
std::string whyNot(ScanOp op, ScanAttr scan);
std::string whyNot(FilterOp op, ScanAttr scan);

//===--- histograms and scatters (WholeSchedules.cpp) ------------------------------------===//

/// Returns the attribute `turns`; where there is none, one table.
TurnsAttr turnsOf(mlir::Operation *op);
std::string whyNot(HistogramOp op, TurnsAttr turns);
std::string whyNot(ScatterOp op, TurnsAttr turns);

//===--- products (ProductSchedule.cpp) --------------------------------------------------===//

/// Returns the attribute `contract`; where there is none, a way that is always open.
ContractAttr contractOf(ContractOp op);
/// Elements of the result along one of its axes; null where only the sample tells.
std::optional<int64_t> extentOfProduct(ContractOp op, int64_t axis);
std::string whyNot(ContractOp op, ContractAttr contract);

//===--- weights, transforms and orders (LaneSchedules.cpp) --------------------------------===//

/// Return the attributes `weights`, `fft` and `sort`; where there is none, one lane.
WeightsAttr weightsOf(WeightsOp op);
FftAttr fftOf(FftOp op);
SortAttr sortOf(SortOp op);
/// Returns whether results are stored with lanes along `along`, which lies further in than
/// frequencies do.
bool storesAcross(FftOp op, FftAttr fft);
/// Returns whether a way to sort goes through one row after the other.
bool isRowByRow(SortWay way);
std::string whyNot(WeightsOp op, WeightsAttr weights);
std::string whyNot(FftOp op, FftAttr fft);
std::string whyNot(SortOp op, SortAttr sort);

/// Of a key a place is so many bits: rows that are sorted in lanes are no longer than that.
constexpr int64_t sortedPlaceBits = 12;
/// Bytes of an element's key and its place, which are one number there.
int64_t bytesOfKey(SortOp op);

/// `reduction`, `scan`, `turns`, `contract`, `weights`, `fft` and `sort` inside of a kernel
/// stand on such ops, and code can be made for them.
mlir::LogicalResult verifyWhole(KernelOp kernel);

//===--- tables of bytes (TableSchedules.cpp) ----------------------------------------------===//

/// The axis along which a load of a byte has a byte's place; -1: none.
int64_t byteIndexOf(LoadOp op);
/// Returns whether `op` may have `table`: it gives a byte in a map, or loads one at a byte's place.
bool canBeTabled(mlir::Operation &op);
/// `table` inside of a kernel stands on such ops.
mlir::LogicalResult verifyTurns(KernelOp kernel);

} // namespace penstock::pipe
