// SPDX-License-Identifier: Apache-2.0
//
// How ops that are computed whole go through results and elements.
#pragma once

#include "compiler/Schedules/LoopPlan.h"

namespace penstock::schedules {

/// Two registers for each value: additions that follow each other wait.
int64_t lanesAcross(const lane::Features &has, mlir::Type element);

/// How `op` goes, where `stored` is in memory.
pipe::ReductionAttr reductionFor(pipe::ReduceOp op, const StoredValues &stored,
                                 const lane::Features &has);
/// The same of one whose rows are made when they are read.
pipe::ReductionAttr rowsFor(pipe::ReduceOp op, const StoredValues &stored,
                            const lane::Features &has);

/// How many of the last reduced axes are one run of elements (ShortRowsPlan.cpp).
int64_t lastAxesInRun(pipe::ReduceOp op, const analysis::InMemory &memory);
/// Returns whether rows that lie in `memory` are so short, and so few, that code is written for
/// each: those of a sum of floats, or one of a minimum or maximum.
bool goesByShortRows(pipe::ReduceOp op, const analysis::InMemory &memory);

/// `reduction`, with where partial sums live, and how many numbers 32 bits add (SumsPlan.cpp).
pipe::ReductionAttr withSums(pipe::ReduceOp op, pipe::ReductionAttr reduction);

/// Returns whether `op`, which has its `reduction`, goes by the loops of the one before it
/// (JoinReductions.cpp).
bool joinsBefore(pipe::ReduceOp op, const StoredValues &stored, const lane::Features &has);

/// How a scan and a filter go (ScanPlan.cpp).
pipe::ScanAttr scanFor(pipe::ScanOp op, const StoredValues &stored, const lane::Features &has);
pipe::ScanAttr filterFor(pipe::FilterOp op, const StoredValues &stored, const lane::Features &has);

/// Among how many tables neighbours take turns (TurnsPlan.cpp).
pipe::TurnsAttr turnsFor(pipe::HistogramOp op);
pipe::TurnsAttr turnsFor(pipe::ScatterOp op);

/// How a matrix product goes (ProductPlan.cpp).
pipe::ContractAttr contractFor(pipe::ContractOp op, const StoredValues &stored,
                               const lane::Features &has);

/// How many outputs get weights at once, how transforms go, and how rows are sorted (LanePlan.cpp).
pipe::WeightsAttr weightsFor(pipe::WeightsOp op, const lane::Features &has);
pipe::FftAttr fftFor(pipe::FftOp op, const StoredValues &stored, const lane::Features &has);
pipe::SortAttr sortFor(pipe::SortOp op, const lane::Features &has);

/// Writes how an op other than a reduction goes that says nothing yet (WholePlans.cpp).
void planWhole(mlir::Operation &op, const StoredValues &stored, const lane::Features &has);

//===--- rows that are made when they are read (ReducedRows.cpp) -----------------------===//

/// Returns whether rows of the result, of its last `inRow` axes, can be made one by one.
bool goesByRows(pipe::ReduceOp op, int64_t inRow, const StoredValues &stored,
                const lane::Features &has);
/// Writes `reduction` on an op that has none. Returns whether its rows are made when they are read,
/// and says so to `stored`; where that is scheduled and does not go, it is stored as a whole.
bool planReduction(pipe::ReduceOp op, StoredValues &stored, const lane::Features &has);

} // namespace penstock::schedules
