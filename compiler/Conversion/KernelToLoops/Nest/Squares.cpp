// SPDX-License-Identifier: Apache-2.0
//
// Transpositions: what lies along one axis is stored along another.
//
// As many rows as a register has elements are loaded, and computed, as they lie; the registers are
// transposed and stored the other way.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/Transposed.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {
struct Squares {
  const Site &site; ///< with as many lanes as a square has rows
  Value tensor;
  const Buffer &to;
  const LoopShape &shape;
  Value low, high; ///< of axis 0
  const int64_t size = site.m.l.lanes;

  Value from(int64_t axis) const { return axis == 0 ? low : site.m.l.i64(0); }
  Value end(int64_t axis) const { return axis == 0 ? high : extent(site, tensor, axis); }
  /// How many indices an axis has, where that is known.
  std::optional<int64_t> known(int64_t axis) const {
    const auto first = Lanes::constantOf(from(axis)), last = Lanes::constantOf(end(axis));
    return first && last ? std::optional(*last - *first) : std::nullopt;
  }
  void nest(int64_t axis, SmallVector<Index> &at);
  void store(SmallVector<Index> at, Value row, Value column);
};
} // namespace

/// From the outermost axis inwards, the one that is stored along last. The last squares overlap
/// those before them: all is pure.
void Squares::nest(int64_t axis, SmallVector<Index> &at) {
  const Lanes &l = site.m.l;
  const auto rank = static_cast<int64_t>(at.size());
  if (axis == shape.laneAxis)
    return nest(axis + 1, at);
  const int64_t here = axis < rank ? axis : shape.laneAxis;
  const bool isOfSquare = axis == rank || axis == shape.acrossAxis;
  Value last = isOfSquare ? l.sub(end(here), l.i64(size)) : Value();
  forLoop(site, from(here), end(here), isOfSquare ? size : 1, [&](Value index) {
    Value first = isOfSquare ? l.minS(index, last) : index;
    at[here] = site.m.uniform(first);
    if (axis == rank)
      store(at, at[shape.acrossAxis].base, first);
    else
      nest(axis + 1, at);
  });
}

void Squares::store(SmallVector<Index> at, Value row, Value column) {
  auto [ctx, b, l, m] = site.parts();
  ctx.elements.clear();
  SmallVector<Value> rows;
  std::optional<Interval> range;
  Type type;
  at[shape.acrossAxis] = {row, 1, {}, {}};
  for (int64_t k = 0; k < size; ++k) {
    at[shape.laneAxis] = m.uniform(l.add(column, l.i64(k)));
    const LaneValue value = l.canonical(emit(site, tensor, at));
    rows.push_back(l.splat(value.value));
    range = range ? hull(*range, value.range) : value.range;
    type = value.type;
  }
  if (type.isSignlessInteger(1)) { // stored as bytes
    type = b.getIntegerType(8, /*isSigned=*/false);
    for (Value &values : rows)
      values = b.create<arith::ExtUIOp>(l.loc, l.like(values, b.getI8Type()), values);
  }
  if (site.written)
    *site.written = *site.written ? hull(**site.written, *range) : *range;
  Buffer part = to;
  part.streaming = false; // squares need not begin where lines do
  at[shape.laneAxis] = {column, 1, {}, {}};
  for (auto [k, turned] : llvm::enumerate(transposed(m, rows, scalarBytes(to.element)))) {
    at[shape.acrossAxis] = m.uniform(l.add(row, l.i64(static_cast<int64_t>(k))));
    m.store(part, at, {turned, type, *range});
  }
}

bool penstock::conversion::storeSquares(const Site &site, Value tensor, const Buffer &to,
                                        const LoopShape &shape, Value low, Value high,
                                        llvm::function_ref<void()> otherwise) {
  auto [ctx, b, l, m] = site.parts();
  const Site wide = site.withLanes(l.has.rowsOfSquare(scalarBytes(to.element)));
  Squares squares{wide, tensor, to, shape, low, high};
  Value areEnough;
  for (int64_t axis : {shape.laneAxis, shape.acrossAxis}) {
    const auto known = squares.known(axis);
    if (known && *known < squares.size)
      return false;
    if (known)
      continue;
    Value isEnough = l.cmp(arith::CmpIPredicate::sge, l.sub(squares.end(axis), squares.from(axis)),
                           l.i64(squares.size));
    areEnough = areEnough ? l.andInt(areEnough, isEnough) : isEnough;
  }
  SmallVector<Index> at(static_cast<size_t>(typeOf(tensor).getRank()));
  if (!areEnough) {
    squares.nest(0, at);
    return true;
  }
  auto choice = b.create<scf::IfOp>(l.loc, areEnough, true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(choice.thenBlock());
  squares.nest(0, at);
  b.setInsertionPointToStart(choice.elseBlock());
  otherwise();
  return true;
}
