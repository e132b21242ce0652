// SPDX-License-Identifier: Apache-2.0
//
// Elements combined at computed places.
//
// The base is stored first, then element after element of the values is combined into it. The first
// element to come to a place is the last one to be stored there, so that kind goes backwards.
// Neighbours that go along, such as the coordinates of a point, are one vector.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
struct Scatter {
  const Site &site;
  ScatterOp op;
  const Buffer &to;
  const NamedTensorType base = typeOf(op.getBase()), values = typeOf(op.getValues());
  const int64_t along = values.axisIndex(op.getAxis());

  int64_t lanes() const;
  void nest(int64_t axis, SmallVector<Index> at, SmallVector<Index> from);
  void element(Value i);
};
} // namespace

/// Of the base's last axis, where it goes along: all of it, as a vector.
int64_t Scatter::lanes() const {
  const Axis &last = base.getAxes().back();
  const bool goesAlong =
      values.axisIndex(last.name) >= 0 && last.isStatic() && llvm::isPowerOf2_64(last.extent);
  return goesAlong && last.extent <= site.m.l.has.lanesOf(scalarBytes(base.getElementType()))
             ? last.extent
             : 1;
}

static LaneValue combine(const Lanes &l, ScatterKind kind, LaneValue sofar, LaneValue value) {
  switch (kind) {
  case ScatterKind::sum:
    return l.binary(BinaryKind::add, sofar, value);
  case ScatterKind::min:
    return l.binary(BinaryKind::min, sofar, value);
  case ScatterKind::max:
    return l.binary(BinaryKind::max, sofar, value);
  default:
    return value;
  }
}

/// Goes through the axes that values and base share, from `axis` of the base on.
void Scatter::nest(int64_t axis, SmallVector<Index> at, SmallVector<Index> from) {
  auto [ctx, b, l, m] = site.parts();
  auto store = [&](const Site &site) {
    ctx.elements.clear();
    LaneValue value = emit(site, op.getValues(), from);
    if (op.getKind() != ScatterKind::first)
      value = combine(site.m.l, op.getKind(), site.m.load(to, at), value);
    if (site.lanes() > 1)
      value.value = site.m.l.splat(value.value);
    site.m.store(to, at, value);
  };
  if (axis == base.getRank())
    return store(site);
  const int64_t own = values.axisIndex(base.getAxes()[axis].name);
  if (own < 0)
    return nest(axis + 1, at, from);
  if (axis + 1 == base.getRank() && lanes() > 1) {
    at[axis] = from[own] = {l.i64(0), 1, {}, {}};
    return store(site.withLanes(lanes()));
  }
  forLoop(site, l.i64(0), extent(site, op.getResult(), axis), 1, [&](Value index) {
    at[axis] = from[own] = m.uniform(index);
    nest(axis + 1, at, from);
  });
}

void Scatter::element(Value i) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<Index> at(base.getRank()), from(values.getRank());
  from[along] = m.uniform(i);
  Value inside;
  ctx.elements.clear();
  for (auto [name, places] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getAt())) {
    const int64_t axis = base.axisIndex(name);
    Value place = emit(site, places, {m.uniform(i)}).value;
    Value fits = l.andInt(l.cmp(CmpIPredicate::sge, place, l.i64(0)),
                          l.cmp(CmpIPredicate::slt, place, extent(site, op.getResult(), axis)));
    inside = inside ? l.andInt(inside, fits) : fits;
    at[axis] = m.uniform(place);
  }
  auto choice = b.create<scf::IfOp>(l.loc, inside, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  nest(0, at, from);
}

static LogicalResult emitScatter(const Site &site, ScatterOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto buffer = bufferFor(site, op.getResult());
  if (failed(buffer))
    return failure();
  storeTensor(site, op.getBase(), *buffer, shapeOf(op.getResult()), l.i64(0),
              extent(site, op.getBase(), 0));
  Scatter scatter{site, op, *buffer};
  Value count = extent(site, op.getValues(), scatter.along);
  forLoop(site, l.i64(0), count, 1, [&](Value i) {
    scatter.element(op.getKind() == ScatterKind::first ? l.sub(l.sub(count, l.i64(1)), i) : i);
  });
  return success();
}

namespace penstock::conversion {
void registerScatter(WholeOps &all);
}
void penstock::conversion::registerScatter(WholeOps &all) { all.add<ScatterOp>(emitScatter); }
