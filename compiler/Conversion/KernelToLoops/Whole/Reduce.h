// SPDX-License-Identifier: Apache-2.0
//
// The ways to reduce.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"
#include "compiler/Dialect/ScheduleDialect.h"

namespace penstock::conversion {

/// The reduction in each lane, whose kept axes have the indices `at`.
LaneValue emitReduced(const Site &site, pipe::ReduceOp op, llvm::ArrayRef<Index> at);

//===--- where elements lie ---------------------------------------------------===//

/// How many elements lie between neighbours along an axis of `tensor`, in memory: the
/// most of all that is read; 0 where the axis does not count, null where nobody can tell.
std::optional<int64_t> elementsApart(const Site &site, mlir::Value tensor, int64_t axis);
/// Returns whether axes that follow each other, `names`, are one run of elements wherever they are
/// read: an index of the last one may then go through all of them.
bool isOneRun(const Site &site, mlir::Value tensor, llvm::ArrayRef<llvm::StringRef> names);
/// How many of the last axes of `tensor` are one run of elements wherever they are read: lanes
/// along the last one may then go through all of them.
int64_t axesInRun(const Site &site, mlir::Value tensor);
/// The same of a buffer of that type.
int64_t axesInRun(pipe::NamedTensorType type, const Buffer &buffer);
/// An error where axes that the schedule goes through as one are no run.
mlir::LogicalResult checkRun(const Site &site, pipe::ReduceOp op, llvm::ArrayRef<int64_t> axes);

//===--- with lanes along an axis that stays (ReduceAcross.cpp, PlaceOfFew.cpp, ReduceByRows.cpp,
//    SumsAcross.cpp) ---===//

/// Lanes that go through a kept axis and the innermost reduced one: `size` elements
/// of that for each result.
struct Pieces {
  int64_t kept, reduced, size; // axes by position in the operand
};
/// Where the innermost reduced axis lies inside of one that stays, such as the columns of
/// tiles, both together are one run of elements.
std::optional<Pieces> piecesOf(const Site &site, pipe::ReduceOp op);
/// Null where the lanes at hand do not lie along the kept axis.
std::optional<LaneValue> reducePieces(const Site &site, pipe::ReduceOp op, const Pieces &pieces,
                                      llvm::ArrayRef<Index> at);
/// The place of the best of `count` elements (argmin or argmax), in each lane; `one` emits an
/// element, `byRanks` the place by ranks alone.
LaneValue placeOfFew(const Site &site, pipe::ReduceOp op, int64_t count,
                     llvm::function_ref<LaneValue(int64_t)> one,
                     llvm::function_ref<LaneValue(const Site &)> byRanks);
/// Computes a reduction with lanes along an axis that stays.
mlir::LogicalResult reduceAcross(const Site &site, pipe::ReduceOp op);
mlir::LogicalResult reduceByRows(const Site &site, pipe::ReduceOp op);
LaneValue sumInLoops(const Site &site, pipe::ReduceOp op, llvm::SmallVector<Index> at,
                     llvm::ArrayRef<int64_t> over);

//===--- with lanes along a reduced axis (Reduce.cpp, Sums.cpp, ShortRows.cpp, RowsBeside.cpp)
//---===//

/// Calls `store` for all indices below `extent`, with the first of `rows` that are `apart` and made
/// side by side, as `reduction` says: rows that share a table first, so that it is read once. The
/// last ones overlap those before them, since all is pure; of as many as are known when running,
/// the rest goes one by one.
void overRowsBeside(const Site &site, mlir::Value extent, pipe::ReductionAttr reduction,
                    llvm::function_ref<void(mlir::Value first, int64_t rows, int64_t apart)> store);
/// The partial sums of a vector, 32 or as many as are left, added pairwise.
LaneValue sumOfLanes(const Site &site, mlir::Value all, mlir::Type element);
/// The same of several vectors: a vector of their sums.
LaneValue sumsOfLanes(const Site &site, llvm::ArrayRef<mlir::Value> all, mlir::Type element);
/// Results that are made side by side: their places along an axis that stays.
struct Beside {
  int64_t axis;
  llvm::SmallVector<Index> places;
  bool isRun = false; ///< all those of the axis, in one run with the reduced one
};
llvm::SmallVector<mlir::Value> sumVectors(const Site &site, pipe::ReduceOp op,
                                          llvm::SmallVector<Index> &at,
                                          llvm::ArrayRef<int64_t> over, const Beside &beside,
                                          llvm::ArrayRef<mlir::Value> extents);
/// The same of few short rows (`hasShortRows`), some of whose partial sums are added already.
llvm::SmallVector<mlir::Value> sumShortRows(const Site &site, pipe::ReduceOp op,
                                            llvm::SmallVector<Index> &at,
                                            llvm::ArrayRef<int64_t> over, const Beside &beside,
                                            llvm::ArrayRef<mlir::Value> extents);
void sumRows(const Site &site, pipe::ReduceOp op, llvm::SmallVector<Index> &at,
             llvm::ArrayRef<int64_t> over, llvm::ArrayRef<mlir::Value> extents, mlir::Value partial,
             llvm::function_ref<void(mlir::Value)> addOne);
/// The place of what is best along the last axis: each lane finds one of its own, and the first of
/// equal ones stays. The last vector of a row overlaps the one before it.
LaneValue placeInLanes(const Site &site, pipe::ReduceOp op, llvm::SmallVector<Index> &at,
                       llvm::ArrayRef<int64_t> over, llvm::ArrayRef<mlir::Value> extents);
/// An exact reduction with lanes along the last reduced axis, for all values of
/// `beside` at once: a small axis further in, which is kept (-1: none). Sums of small
/// numbers are taken in 32 bits for as long as they fit.
llvm::SmallVector<LaneValue>
reduceLanes(const Site &site, pipe::ReduceOp op, llvm::SmallVector<Index> &at,
            llvm::ArrayRef<int64_t> over, int64_t beside, llvm::ArrayRef<mlir::Value> extents,
            LaneValue start,
            llvm::function_ref<LaneValue(const Site &, LaneValue, LaneValue)> combine);

//===--- minima and maxima (Extremes.cpp) -------------------------------===//

bool isExtreme(pipe::ReduceOp op);
bool resolvesZerosLater(const Site &site, pipe::ReduceOp op);
LaneValue comparable(const Site &site, LaneValue value);
LaneValue numberSoFar(const Site &site, mlir::Value value, mlir::Type type);
/// Remembers that an element may be a NaN.
void noteNan(const Site &site, pipe::ReduceOp op, const LaneValue &value);
LaneValue withElement(const Site &site, pipe::ReduceOp op, LaneValue sofar, LaneValue value);
LaneValue bitsOf(const Site &site, pipe::ReduceOp op, LaneValue value);
LaneValue leastBits(const Site &site, pipe::ReduceOp op, LaneValue sofar, LaneValue value);
using Again = llvm::function_ref<std::pair<LaneValue, LaneValue>(const Site &, LaneValue)>;
LaneValue resolveExtreme(const Site &site, pipe::ReduceOp op, LaneValue found, Again again,
                         llvm::function_ref<LaneValue(const Site &, LaneValue)> orNan);
llvm::SmallVector<mlir::Value> extentsOver(const Site &site, pipe::ReduceOp op,
                                           llvm::ArrayRef<int64_t> over);
LaneValue resolveInLoops(const Site &site, pipe::ReduceOp op, LaneValue found,
                         llvm::SmallVector<Index> at, llvm::ArrayRef<int64_t> over,
                         llvm::ArrayRef<mlir::Value> extents);
void resolveZerosOfLanes(const Site &site, pipe::ReduceOp op, llvm::SmallVector<LaneValue> &found,
                         llvm::SmallVector<Index> &at, llvm::ArrayRef<int64_t> over, int64_t beside,
                         llvm::ArrayRef<mlir::Value> extents);
LaneValue nanWithoutNumbers(const Site &site, pipe::ReduceOp op, LaneValue found,
                            llvm::ArrayRef<Index> at, llvm::ArrayRef<int64_t> over,
                            llvm::ArrayRef<mlir::Value> extents);

//===--- rows when they are read (ReducedRows.cpp) ----------------------===//

/// Room for the rows of a reduction that are made when they are read.
mlir::LogicalResult prepareReducedRows(const Site &site, pipe::ReduceOp op);
int64_t reducedRowsAhead(const Site &site, mlir::Value stored);
/// Where the rows lie that `stored` reads: the first of those that are made at a time.
LocalBuffers reducedRowsOf(const Site &site, mlir::Value stored);
/// Makes them those of `number`.
void moveToReducedRows(const Site &site, mlir::Value stored, mlir::Value number,
                       LocalBuffers &rows);
/// Stores them where the outer axes of `stored` have the indices `at`, and notes their ranges.
void storeReducedRows(const Site &site, mlir::Value stored, llvm::ArrayRef<Index> at,
                      LocalBuffers &rows);

} // namespace penstock::conversion
