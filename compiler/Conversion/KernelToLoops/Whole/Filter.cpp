// SPDX-License-Identifier: Apache-2.0
//
// Filters by rational transfer functions.
//
// The state of a row is carried from element to element in registers; rows go one after the other.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// Numerator or denominator, with zeros behind, divided by the denominator's first number.
static SmallVector<LaneValue> coefficients(const Site &site, Value side, LaneValue by,
                                           int64_t count) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<LaneValue> result;
  for (int64_t j = 0; j < count; ++j) {
    LaneValue number = j < typeOf(side).getAxes()[0].extent ? emit(site, side, {m.constant(j)})
                                                            : l.constant(b.getF64FloatAttr(0.0));
    result.push_back(l.binary(BinaryKind::div, number, by));
  }
  return result;
}

static LogicalResult emitFilter(const Site &site, FilterOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  NamedTensorType type = typeOf(op.getValue());
  const int64_t along = type.axisIndex(op.getAxis());
  const int64_t count = std::max(typeOf(op.getNumerator()).getAxes()[0].extent,
                                 typeOf(op.getDenominator()).getAxes()[0].extent);
  Type f64 = b.getF64Type();
  const LaneValue by = emit(site, op.getDenominator(), {m.constant(0)});
  const SmallVector<LaneValue> above = coefficients(site, op.getNumerator(), by, count),
                               below = coefficients(site, op.getDenominator(), by, count);
  auto mul = [&](LaneValue x, LaneValue y) { return l.binary(BinaryKind::mul, x, y); };
  auto add = [&](LaneValue x, LaneValue y) { return l.binary(BinaryKind::add, x, y); };
  SmallVector<Value> others;
  for (int64_t axis = 0; axis < type.getRank(); ++axis)
    if (axis != along)
      others.push_back(extent(site, op.getValue(), axis));
  carriedNest(b, l, others, {}, [&](ArrayRef<Value> where, ValueRange) {
    SmallVector<Value> silence(count - 1, l.f64(0));
    carryLoop(site, l.i64(0), extent(site, op.getValue(), along), silence,
              [&](Value i, ValueRange state) {
                SmallVector<Index> at;
                for (Value index : where)
                  at.push_back(m.uniform(index));
                at.insert(at.begin() + along, m.uniform(i));
                ctx.elements.clear();
                LaneValue x = l.cast(CastMode::value, emit(site, op.getValue(), at), f64);
                LaneValue y =
                    count > 1 ? add(l.wrap(state[0], f64), mul(above[0], x)) : mul(x, above[0]);
                SmallVector<Value> next;
                for (int64_t j = 1; j < count; ++j) {
                  LaneValue sum = mul(x, above[j]);
                  if (j + 1 < count)
                    sum = add(l.wrap(state[j], f64), sum);
                  next.push_back(l.binary(BinaryKind::sub, sum, mul(y, below[j])).value);
                }
                m.store(*buffer, at, l.cast(CastMode::value, y, type.getElementType()));
                return next;
              });
    return SmallVector<Value>{};
  });
  return success();
}

namespace penstock::conversion {
void registerFilter(WholeOps &all);
}
void penstock::conversion::registerFilter(WholeOps &all) { all.add<FilterOp>(emitFilter); }
