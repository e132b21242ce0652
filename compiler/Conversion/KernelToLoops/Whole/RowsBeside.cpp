// SPDX-License-Identifier: Apache-2.0
//
// Rows whose results are made side by side: additions to a partial sum wait for each other.
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"

using namespace mlir;
using namespace penstock::conversion;

using StoreRows = llvm::function_ref<void(Value first, int64_t rows, int64_t apart)>;

/// Rows that are a period apart, in blocks of as many periods as there are rows. Returns where the
/// rest begins.
static Value overPeriods(const Site &site, Value extent, int64_t rows, int64_t period,
                         StoreRows store) {
  const Lanes &l = site.m.l;
  const int64_t block = rows * period;
  const auto known = Lanes::constantOf(extent);
  Value end =
      known ? l.i64(*known / block * block) : l.mul(l.divS(extent, l.i64(block)), l.i64(block));
  forLoop(site, l.i64(0), end, block, [&](Value first) {
    forLoop(site, first, l.add(first, l.i64(period)), 1,
            [&](Value row) { store(row, rows, period); });
  });
  return end;
}

void penstock::conversion::overRowsBeside(const Site &site, Value extent,
                                          pipe::ReductionAttr reduction, StoreRows store) {
  const Lanes &l = site.m.l;
  const auto known = Lanes::constantOf(extent);
  Value from = l.i64(0);
  const int64_t rows = reduction.getBeside();
  if (reduction.getSharing() > 1)
    from = overPeriods(site, extent, reduction.getSharing(), reduction.getPeriod(), store);
  auto storeFrom = [&](Value from, Value to, int64_t step) {
    forLoop(site, from, to, step, [&](Value first) {
      store(known && *known % step ? l.minS(first, l.i64(*known - step)) : first, step, 1);
    });
  };
  Value whole = known ? extent : l.add(from, l.andInt(l.sub(extent, from), l.i64(-rows)));
  storeFrom(from, whole, rows);
  if (!known)
    storeFrom(whole, extent, 1);
}
