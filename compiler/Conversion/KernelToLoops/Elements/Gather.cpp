// SPDX-License-Identifier: Apache-2.0
//
// Sampling at computed coordinates.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpFPredicate;

/// What lies `d` behind the element that `tap` gives for 0, from that and its neighbours.
static LaneValue between(const Lanes &l, Interpolation interpolation, LaneValue d,
                         llvm::function_ref<LaneValue(int64_t)> tap) {
  auto add = [&](LaneValue x, LaneValue y) { return l.binary(BinaryKind::add, x, y); };
  auto sub = [&](LaneValue x, LaneValue y) { return l.binary(BinaryKind::sub, x, y); };
  auto mul = [&](LaneValue x, LaneValue y) { return l.binary(BinaryKind::mul, x, y); };
  if (interpolation != Interpolation::cubic) {
    LaneValue v0 = tap(0), v1 = tap(1);
    return add(v0, mul(sub(v1, v0), d));
  }
  LaneValue v1 = tap(-1), v2 = tap(0), v3 = tap(1), v4 = tap(2);
  LaneValue p2 = sub(v3, v1);
  LaneValue p3 = sub(add(mul(l.constant(l.b.getF64FloatAttr(2.0)), sub(v1, v2)), v3), v4);
  LaneValue p4 = add(sub(sub(v2, v1), v3), v4);
  return add(v2, mul(d, add(p2, mul(d, add(p3, mul(d, p4))))));
}

LaneValue penstock::conversion::emitGather(const Site &site, GatherOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  Type element = type.getElementType();
  Block &body = op.getBody().front();
  bindCoordinates(site, body, 0, at);
  emitBlock(site, body);
  const Border border = op.getBorder();
  SmallVector<int64_t> axes;
  SmallVector<LaneValue> where;
  Value outside;
  for (auto [name, yielded] :
       llvm::zip(op.getOver().getAsRange<StringAttr>(), body.getTerminator()->getOperands())) {
    axes.push_back(type.axisIndex(name));
    where.push_back(scalarOf(site, yielded));
    Value size =
        l.cast(CastMode::value, l.wrap(extent(site, op.getInput(), axes.back()), b.getI64Type()),
               b.getF64Type())
            .value;
    Value x = where.back().value;
    l.match(x, size);
    Value inside =
        l.andInt(b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OGE, x, l.floatLike(x, 0.0)),
                 b.create<arith::CmpFOp>(l.loc, CmpFPredicate::OLT, x, size));
    Value out = l.xorInt(inside, l.integerLike(inside, 1));
    outside = outside ? l.orInt(outside, out) : out;
  }
  // Element `index` along each axis of `over`, moved inside by the border.
  SmallVector<Value> chosen(axes.size());
  auto read = [&]() {
    SmallVector<Index> inner;
    for (int64_t own : op.readAt())
      inner.push_back(own < 0 ? Index() : at[own]);
    Value ignored;
    for (auto [k, axis] : llvm::enumerate(axes)) {
      Border how = border == Border::constant ? Border::edge : border;
      inner[axis] =
          bordered(site, m.of(chosen[k]), extent(site, op.getInput(), axis), how, ignored);
    }
    return emit(site, op.getInput(), inner);
  };
  LaneValue value;
  if (op.getInterpolation() == Interpolation::nearest) {
    for (auto [k, coordinate] : llvm::enumerate(where))
      chosen[k] =
          l.cast(CastMode::value, l.unary(UnaryKind::floor, coordinate), b.getI64Type()).value;
    value = read();
  } else {
    // The last axis is interpolated first: it is the innermost recursion.
    std::function<LaneValue(size_t)> along = [&](size_t k) -> LaneValue {
      if (k == axes.size())
        return l.cast(CastMode::value, read(), b.getF64Type());
      LaneValue x = l.binary(BinaryKind::sub, where[k], l.constant(b.getF64FloatAttr(0.5)));
      LaneValue whole = l.unary(UnaryKind::floor, x);
      LaneValue d = l.binary(BinaryKind::sub, x, whole);
      Value first = l.cast(CastMode::value, whole, b.getI64Type()).value;
      // Far outside, so that the neighbours' numbers do not wrap around.
      if (!whole.range.within(-0x1p62, 0x1p62 - 1024)) {
        first = l.maxS(first, l.integerLike(first, std::numeric_limits<int64_t>::min() / 2));
        first = l.minS(first, l.integerLike(first, std::numeric_limits<int64_t>::max() / 2));
      }
      auto tap = [&](int64_t offset) {
        chosen[k] = l.add(first, l.integerLike(first, offset));
        return along(k + 1);
      };
      return between(l, op.getInterpolation(), d, tap);
    };
    value = l.cast(CastMode::value, along(0), element);
  }
  if (border != Border::constant)
    return value;
  return l.select(l.wrap(outside, b.getI1Type()), scalarOf(site, op.getFill()), value);
}
