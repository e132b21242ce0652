// SPDX-License-Identifier: Apache-2.0
//
// The place of what is best.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "compiler/Dialect/SmallReduction.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "runtime/abi/scalar.h"
#include <cmath>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// The place of what is best along the last axis: each lane finds one of its own, and the first of
/// equal ones stays. The last vector of a row overlaps the one before it.
LaneValue penstock::conversion::placeInLanes(const Site &site, ReduceOp op, SmallVector<Index> &at,
                                             ArrayRef<int64_t> over, ArrayRef<Value> extents) {
  auto [ctx, b, l, m] = site.parts();
  Type element = computeType(typeOf(op.getValue()).getElementType()), i32 = b.getI32Type();
  const int64_t lanes = reductionOf(op).getLanes(), size = *Lanes::constantOf(extents.back());
  const LaneValue worst = worstRank(l, element);
  const Site wide = site.withLanes(lanes);
  SmallVector<Value> start{wide.m.l.splat(worst.value), wide.m.l.splat(l.i32(0))};
  start.push_back(l.i64(0));
  auto loops =
      carriedNest(b, l, extents.drop_back(), start, [&](ArrayRef<Value> inner, ValueRange state) {
        for (auto [i, index] : llvm::enumerate(inner))
          at[over[i]] = m.uniform(index);
        auto found = carryLoop(
            site, l.i64(0), l.i64((size + lanes - 1) / lanes), state.take_front(2),
            [&](Value step, ValueRange sofar) {
              Value first = l.mul(step, l.i64(lanes));
              if (size % lanes)
                first = l.minS(first, l.i64(size - lanes));
              at[over.back()] = {first, 1, {}, {}};
              auto [ctx, b, l, m] = wide.parts();
              ctx.elements.clear();
              LaneValue value = rankOf(
                  l, op.getKind(), l.cast(CastMode::value, emit(wide, op.getValue(), at), element));
              Value better = l.splat(isBetter(l, value, l.wrap(sofar[0], worst.type)));
              Value number = b.create<arith::TruncIOp>(l.loc, i32, l.add(state[2], first));
              SmallVector<Value> next{l.pick(better, l.splat(value.value), sofar[0]),
                                      l.pick(better, l.splat(number), sofar[1])};
              return next;
            });
        found.push_back(l.add(state[2], l.i64(size)));
        return found;
      });
  Value rank = loops[0], number = l.add(loops[1], laneNumbers(wide.m.l));
  for (int64_t half = lanes / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < half; ++lane) {
      low.push_back(lane);
      high.push_back(lane + half);
    }
    LaneValue x = l.wrap(m.shuffle(rank, rank, low), worst.type),
              y = l.wrap(m.shuffle(rank, rank, high), worst.type);
    Value p = m.shuffle(number, number, low), q = m.shuffle(number, number, high);
    Value sooner = l.andInt(l.compare(Predicate::eq, y, x).value, l.cmp(CmpIPredicate::slt, q, p));
    Value better = l.orInt(isBetter(l, y, x), sooner);
    rank = l.pick(better, y.value, x.value);
    number = l.pick(better, q, p);
  }
  Value place = b.create<vector::ExtractOp>(l.loc, number, 0);
  return l.cast(CastMode::value, l.wrap(place, i32), b.getI64Type());
}
