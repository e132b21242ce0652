// SPDX-License-Identifier: Apache-2.0
//
// Bands of rows with lanes along them.
//
// Each row of memory is gone through as far as the band is wide, and then the next one, so that
// lines are read whole; what rows have so far lies in memory.
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Scan.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

Value penstock::conversion::roomOfBand(const Site &site, ScanAttr scan, int64_t numbers,
                                       Type element) {
  return *scratchBytes(site, scan.getBand() * numbers * scalarBytes(element), {});
}

/// The last lanes overlap those before them, and have numbers of their own.
void penstock::conversion::scanBands(const Site &site, ScanAttr scan, int64_t rows, Value elements,
                                     Value room, ArrayRef<Value> start, BandStep step) {
  const Site wide = site.withLanes(scan.getLanes());
  auto [ctx, b, l, m] = wide.parts();
  const int64_t lanes = scan.getLanes(), band = scan.getBand();
  SmallVector<Value> first;
  for (Value number : start)
    first.push_back(lanes > 1 ? l.splat(number) : number);
  forLoop(site, l.i64(0), l.i64(rows), band, [&](Value low) {
    Value count = rows % band ? l.minS(l.sub(l.i64(rows), low), l.i64(band)) : l.i64(band);
    auto place = [&](size_t number, Value row) {
      const int64_t size = scalarBytes(start[number].getType());
      return m.address(room,
                       l.mul(l.add(row, l.i64(static_cast<int64_t>(number) * band)), l.i64(size)));
    };
    auto eachVector = [&](llvm::function_ref<void(Value)> body) {
      forLoop(site, l.i64(0), count, lanes, body);
    };
    eachVector([&](Value row) {
      for (auto [number, value] : llvm::enumerate(first))
        m.storePlain(value, place(number, row));
    });
    forLoop(site, l.i64(0), elements, 1, [&](Value i) {
      eachVector([&](Value row) {
        SmallVector<Value> numbers;
        for (auto [number, value] : llvm::enumerate(first))
          numbers.push_back(m.loadPlain(value.getType(), place(number, row)));
        Value from = l.add(low, row);
        if (rows % lanes)
          from = l.minS(from, l.i64(rows - lanes));
        ctx.elements.clear();
        step(wide, {from, lanes > 1 ? 1 : 0, {}, {}}, i, numbers);
        for (auto [number, value] : llvm::enumerate(numbers))
          m.storePlain(value, place(number, row));
      });
    });
  });
  ctx.elements.clear();
}
