// SPDX-License-Identifier: Apache-2.0
//
// Ops that are computed whole, and whose schedules are attributes of their own.
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Writes what `plan` says of `op`, if it is one of its kind and nothing is said yet.
template <typename Op, typename Plan>
static void planOne(Operation &op, StringRef name, Plan plan) {
  if (auto whole = llvm::dyn_cast<Op>(op); whole && !whole->hasAttr(name))
    whole->setAttr(name, plan(whole));
}

void penstock::schedules::planWhole(Operation &op, const StoredValues &stored,
                                    const lane::Features &has) {
  planOne<ScanOp>(op, "scan", [&](ScanOp scan) { return scanFor(scan, stored, has); });
  planOne<FilterOp>(op, "scan", [&](FilterOp filter) { return filterFor(filter, stored, has); });
  planOne<HistogramOp>(op, "turns", [](HistogramOp histogram) { return turnsFor(histogram); });
  planOne<ScatterOp>(op, "turns", [](ScatterOp scatter) { return turnsFor(scatter); });
  planOne<ContractOp>(op, "contract",
                      [&](ContractOp contract) { return contractFor(contract, stored, has); });
  planOne<WeightsOp>(op, "weights", [&](WeightsOp weights) { return weightsFor(weights, has); });
  planOne<FftOp>(op, "fft", [&](FftOp fft) { return fftFor(fft, stored, has); });
  planOne<SortOp>(op, "sort", [&](SortOp sort) { return sortFor(sort, has); });
}
