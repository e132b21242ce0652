// SPDX-License-Identifier: Apache-2.0
//
// Sums of what lies before.
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/Whole/GpuReduce.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Each thread takes a run: it is added up, the sums of runs are, and then the
/// run is gone through again.
void penstock::conversion::running(const GpuSite &site, Value count, const GpuBuffer &sums,
                                   llvm::function_ref<Value(Value)> number,
                                   llvm::function_ref<void(Value, Value, Value)> visit,
                                   llvm::function_ref<void(Value)> whole) {
  auto [ctx, b, x, s] = site.parts();
  Value pieces = x.constant(ctx.launch.threads), first = x.constant(0);
  Value length = x.floorDiv(x.add(count, x.constant(ctx.launch.threads - 1)), pieces);
  auto runOf = [&](Value run) {
    Value low = x.mul(run, length);
    return std::pair(x.min(low, count), x.min(x.add(low, length), count));
  };
  auto sumOf = [&](Value low, Value high, llvm::function_ref<Value(Value)> at) {
    return loop(site, low, high, 1, s.i64(0), [&](Value i, ValueRange sofar) {
      return SmallVector<Value>{s.binary(BinaryKind::add, sofar[0], at(i))};
    })[0];
  };
  nest(site, {"run"}, pieces, "threads", [&](GpuIndices run) {
    auto [low, high] = runOf(run[0]);
    save(site, sumOf(low, high, number), sums, run);
  });
  barrier(site);
  auto before = [&](Value end) {
    return sumOf(first, end, [&](Value run) { return load(site, sums, run); });
  };
  nest(site, {"run"}, pieces, "threads", [&](GpuIndices run) {
    auto [low, high] = runOf(run[0]);
    loop(site, low, high, 1, before(run[0]), [&](Value i, ValueRange sofar) {
      Value mine = number(i);
      visit(i, sofar[0], mine);
      return SmallVector<Value>{s.binary(BinaryKind::add, sofar[0], mine)};
    });
  });
  if (whole)
    nest(site, {}, {}, "threads", [&](GpuIndices) { whole(before(pieces)); });
  barrier(site);
}
