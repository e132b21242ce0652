// SPDX-License-Identifier: Apache-2.0
//
// Elements combined at computed places.
//
// The base is stored first, past the caches where it is one number and large, then element after
// element of the values is combined into it. The first
// element to come to a place is the last one to be stored there, so that kind goes backwards.
// Neighbours that are added up as integers take turns among several tables.
// Neighbours that go along, such as the coordinates of a point, are one vector.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Turns.h"
#include "compiler/Conversion/KernelToLoops/Whole/Whole.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
struct Scatter {
  const Site &site;
  ScatterOp op;
  const NamedTensorType base = typeOf(op.getBase()), values = typeOf(op.getValues());
  const int64_t along = values.axisIndex(op.getAxis());

  int64_t lanes() const;
  void nest(const Buffer &to, int64_t axis, SmallVector<Index> at, SmallVector<Index> from);
  void element(Value i, const Buffer &to);
  void unlessAllAre0(Value first, int64_t count, llvm::function_ref<void()> body);
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
void Scatter::nest(const Buffer &to, int64_t axis, SmallVector<Index> at, SmallVector<Index> from) {
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
    return nest(to, axis + 1, at, from);
  if (axis + 1 == base.getRank() && lanes() > 1) {
    at[axis] = from[own] = {l.i64(0), 1, {}, {}};
    return store(site.withLanes(lanes()));
  }
  forLoop(site, l.i64(0), extent(site, op.getResult(), axis), 1, [&](Value index) {
    at[axis] = from[own] = m.uniform(index);
    nest(to, axis + 1, at, from);
  });
}

/// Combines element `i` of the values into `to`.
void Scatter::element(Value i, const Buffer &to) {
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
  nest(to, 0, at, from);
}

/// Runs `body` where one of `count` values from `first` on is not 0.
void Scatter::unlessAllAre0(Value first, int64_t count, llvm::function_ref<void()> body) {
  auto [ctx, b, l, m] = site.parts();
  const Site wide = site.withLanes(count);
  ctx.elements.clear();
  Value all = emit(wide, op.getValues(), {{first, 1, {}, {}}}).value;
  Value any = anyLane(wide.m.l, all, [&](Value some) {
    return l.cmp(CmpIPredicate::ne, some, l.integerLike(some, 0));
  });
  auto choice = b.create<scf::IfOp>(l.loc, any, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  body();
}

//===--- the base --------------------------------------------------------------------------===//

/// Bytes that caches do not hold for all batches in flight. Measured with four of them on Zen 3
/// (32 MiB of L3): 8 MB are cleared in 0.4 of the time past the caches, and the values behind take
/// no longer; at 4 MiB these lose what the base wins.
static constexpr int64_t farBytes = int64_t(6) << 20, lineBytes = 64;

static bool isOneNumber(Value tensor) {
  auto map = tensor.getDefiningOp<MapOp>();
  return map && map.getInputs().empty() &&
         map.getBody().front().getTerminator()->getOperand(0).getDefiningOp<ConstantOp>();
}

/// Elements of the rows along axis 0, which are whole lines one behind the other; 0: they are not,
/// or all rows together are less than far.
static int64_t farRow(NamedTensorType type, const Buffer &to) {
  if (type.getRank() < 2 || axesInRun(type, to) < type.getRank() - 1)
    return 0;
  const Axis &first = type.getAxes().front();
  const double most = static_cast<double>(first.isStatic() ? first.extent : first.bound);
  int64_t row = 1;
  for (const Axis &axis : type.getAxes().drop_front()) {
    if (!axis.isStatic() || axis.extent > farBytes)
      return 0;
    row *= axis.extent;
    if (row > farBytes)
      return 0;
  }
  const int64_t bytes = row * scalarBytes(type.getElementType());
  return bytes % lineBytes == 0 && most * static_cast<double>(bytes) >= double(farBytes) ? row : 0;
}

static void storeBase(const Site &site, ScatterOp op, const Buffer &to) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getBase());
  Value zero = l.i64(0), rows = extent(site, op.getBase(), 0);
  auto store = [&] { storeTensor(site, op.getBase(), to, shapeOf(op.getResult()), zero, rows); };
  const int64_t row = isOneNumber(op.getBase()) ? farRow(type, to) : 0;
  if (!row)
    return store();
  // Nobody but a foreign caller has a tensor elsewhere than at a line.
  Value misplaced = l.andInt(
      l.orInt(b.create<LLVM::PtrToIntOp>(l.loc, b.getI64Type(), to.pointer), to.strides[0]),
      l.i64(lineBytes - 1));
  auto choice = b.create<scf::IfOp>(l.loc, l.cmp(CmpIPredicate::eq, misplaced, zero), true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  Buffer far = to;
  far.streaming = true;
  const int64_t lanes = lineBytes / scalarBytes(type.getElementType());
  SmallVector<Index> at(type.getRank(), m.constant(0));
  forLoop(site, zero, rows, 1, [&](Value i) {
    at.front() = m.uniform(i);
    forLoop(site, zero, l.i64(row), lanes, [&](Value j) {
      const Site wide = site.withLanes(lanes);
      at.back() = {j, 1, {}, {}};
      ctx.elements.clear();
      wide.m.store(far, at, emit(wide, op.getBase(), at));
    });
  });
  ctx.elements.clear();
  b.setInsertionPointToStart(choice.elseBlock());
  store();
}

static LogicalResult emitScatter(const Site &site, ScatterOp op) {
  const Lanes &l = site.m.l;
  auto tables = Turns::of(site, op);
  if (failed(tables))
    return failure();
  storeBase(site, op, tables->first());
  tables->clear(1);
  Scatter scatter{site, op};
  Value count = extent(site, op.getValues(), scatter.along);
  auto element = [&](Value i, const Buffer &to) {
    const bool isBackwards = op.getKind() == ScatterKind::first;
    scatter.element(isBackwards ? l.sub(l.sub(count, l.i64(1)), i) : i, to);
  };
  const int64_t known = scatter.values.getAxes()[scatter.along].extent;
  const int64_t skip = turnsOf(op).getSkip();
  Value whole = l.i64(0);
  if (skip > 1) {
    whole = l.mul(l.divS(count, l.i64(skip)), l.i64(skip));
    forLoop(site, l.i64(0), whole, skip, [&](Value first) {
      scatter.unlessAllAre0(first, skip,
                            [&] { tables->forEach(first, l.i64(skip), skip, element); });
    });
  }
  tables->forEach(whole, l.sub(count, whole), skip > 1 ? known % skip : known, element);
  tables->addUp();
  return success();
}

namespace penstock::conversion {
void registerScatter(WholeOps &all);
}
void penstock::conversion::registerScatter(WholeOps &all) { all.add<ScatterOp>(emitScatter); }
