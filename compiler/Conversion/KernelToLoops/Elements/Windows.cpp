// SPDX-License-Identifier: Apache-2.0
//
// Windows over neighbours.
#include "compiler/Conversion/Elements/Borders.h"
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/LaneTarget.h"
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Returns whether one instruction puts elements that run over the end of an axis, along the lanes,
/// where the border wants them. `reach`: how far `at` lies at most from places of the axis; what is
/// mirrored from further than a vector is not in the nearest one.
static bool canTurn(const Site &site, Value input, const Index &at, int64_t axis, int64_t reach,
                    Border border) {
  auto [ctx, b, l, m] = site.parts();
  const Axis &along = typeOf(input).getAxes()[axis];
  Type element = typeOf(input).getElementType();
  const bool isSmall =
      element.isF32() || (!llvm::isa<FloatType>(element) && scalarBytes(element) <= 4);
  // Bytes stay bytes where there is a permutation of them.
  const bool asBytes = l.has.permuteBytes && scalarBytes(element) == 1;
  const bool hasShuffle = l.lanes == l.has.lanesOf(4) || l.lanes == l.has.lanesOf(2) ||
                          (l.lanes == l.has.lanesOf(1) && asBytes);
  return l.has.permuteInts && hasShuffle && !m.live && isSmall && !element.isInteger(1) &&
         at.stride == 1 && at.affine() && (!along.isStatic() || along.extent >= l.lanes) &&
         border != Border::constant && border != Border::wrap &&
         (border == Border::edge || reach < l.lanes);
}

/// Those elements, where canTurn(): the nearest vector that lies inside has them all. There is one
/// where nobody knows the extent, too, as the window's own elements fill all lanes.
static LaneValue emitTurned(const Site &site, Value input, ArrayRef<Index> at, int64_t axis,
                            Border border) {
  auto [ctx, b, l, m] = site.parts();
  Type element = typeOf(input).getElementType();
  const bool asBytes = l.has.permuteBytes && scalarBytes(element) == 1;
  Value lastStart = l.sub(extent(site, input, axis), l.i64(l.lanes));
  Value near = l.maxS(l.minS(at[axis].base, lastStart), l.i64(0));
  SmallVector<Index> inner(at);
  inner[axis].base = near;
  LaneValue value = emit(site, input, inner);
  auto bits = VectorType::get({l.lanes}, b.getI32Type());
  value.value = l.splat(value.value);
  Value from = value.value;
  if (asBytes)
    bits = VectorType::get({l.lanes}, b.getI8Type());
  else if (element.isF32())
    from = b.create<arith::BitcastOp>(l.loc, bits, from);
  else if (scalarBytes(element) < 4)
    from = l.splat(l.wideOf(value));
  Value apart = l.sub(at[axis].base, near);
  if (asBytes) // as far as all lanes are beyond an end
    apart = l.maxS(l.minS(apart, l.i64(l.has.lanesOf(1) - 1)), l.i64(-l.has.lanesOf(1)));
  Value distance = b.create<arith::TruncIOp>(l.loc, bits.getElementType(), apart);
  SmallVector<APInt> numbers;
  for (int64_t i = 0; i < l.lanes; ++i)
    numbers.emplace_back(bits.getElementTypeBitWidth(), static_cast<uint64_t>(i));
  Value lane =
      l.add(b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(bits, numbers)), distance);
  const int64_t last = l.lanes - 1;
  auto minus = [&](int64_t end, Value number) { return l.sub(l.integerLike(number, end), number); };
  if (border == Border::edge) {
    lane = l.maxS(l.minS(lane, l.integerLike(lane, last)), l.integerLike(lane, 0));
  } else {
    const int64_t again = border == Border::symmetric; // the element at the end counts twice
    lane = l.maxS(lane, minus(-again, lane));
    lane = l.minS(lane, minus(2 * last + again, lane));
  }
  if (asBytes) {
    return LaneValue{b.create<penstock::lane::PermuteOp>(l.loc, value.value, lane), element,
                     value.range};
  }
  const int64_t whole = l.has.lanesOf(4);
  auto half = [&](Value all, int64_t first) {
    SmallVector<int64_t> part(whole);
    for (int64_t i = 0; i < whole; ++i)
      part[i] = first + i;
    return m.shuffle(all, all, part);
  };
  Value low = half(from, 0), high = half(from, l.lanes - whole), turned;
  for (int64_t first = 0; first < l.lanes; first += whole) {
    Value part = b.create<penstock::lane::PermuteTwoOp>(l.loc, low, high, half(lane, first));
    SmallVector<int64_t> both(first + whole);
    for (size_t i = 0; i < both.size(); ++i)
      both[i] = static_cast<int64_t>(i);
    turned = turned ? m.shuffle(turned, part, both) : part;
  }
  LaneValue result{turned, element, value.range};
  auto type = VectorType::get({l.lanes}, registerType(element));
  if (element.isF32()) {
    result.value = b.create<arith::BitcastOp>(l.loc, type, turned);
  } else if (scalarBytes(element) < 4) {
    result.value = b.create<arith::TruncIOp>(l.loc, type, turned);
    result.wide = turned;
  }
  return result;
}

/// An element of the window's input, `offset` away from `at` along its axes.
static LaneValue neighbour(const Site &site, WindowOp op, ArrayRef<Index> at,
                           ArrayRef<Index> offset, bool border) {
  const LaneTarget t{site, anyLanes(at)};
  BorderedRead<LaneTarget> from = neighbourOf<LaneTarget>(t, op, at, offset);
  if (!border)
    return emit(site, from.input, from.at);
  int64_t axesWithLanes = 0, along = -1, reach = 0;
  for (auto [k, axis] : llvm::enumerate(from.axes)) {
    if (from.at[axis].uniform())
      continue;
    ++axesWithLanes;
    along = axis;
    // Of an offset that a loop counts, only the ends are known.
    const std::optional<int64_t> known = Lanes::constantOf(offset[k].base);
    reach = known ? std::abs(*known) : std::max(-op.getLow()[k], op.getHigh()[k]);
  }
  if (axesWithLanes != 1 || !canTurn(site, from.input, from.at[along], along, reach, from.border))
    return elementOrBorder(t, std::move(from));
  llvm::erase(from.axes, along);
  return elementOrBorder<LaneTarget>(t, std::move(from), [&](ArrayRef<Index> inner) {
    return emitTurned(site, op.getInput(), inner, along, op.getBorder());
  });
}

LaneValue penstock::conversion::emitWindow(const Site &site, WindowOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  Block &body = op.getBody().front();
  SmallVector<int64_t> axes;
  for (auto name : op.getOver().getAsRange<StringAttr>())
    axes.push_back(type.axisIndex(name));
  Value whole;
  const bool margin = hasMargin(site, op);
  bool canTest = !margin;
  for (auto [k, axis] : llvm::enumerate(axes)) {
    if (!canTest)
      break;
    Value inside = wholeInside(l, at[axis], extent(site, op.getInput(), axis), op.getLow()[k],
                               op.getHigh()[k]);
    canTest &= static_cast<bool>(inside);
    if (canTest)
      whole = whole ? l.andInt(whole, inside) : inside;
  }
  const TapLoops *loops = tapLoopsOf(site, op);
  // Row-major: the last axis moves first.
  auto along = [&](size_t k) { return op.getHigh()[k] - op.getLow()[k] + 1; };
  int64_t rows = 1;
  for (size_t k = 0; k + 1 < axes.size(); ++k)
    rows *= along(k);
  auto placed = [&](bool border, TapPlace place) {
    SmallVector<Index> offset(axes.size());
    Value number = place.row, last = place.column;
    for (size_t k = axes.size(); k-- > 0;) {
      offset[k] = m.uniform(l.add(last, l.i64(op.getLow()[k])));
      last = number;
      if (k < 2) // the first axis has what is left
        continue;
      last = b.create<arith::RemUIOp>(l.loc, number, l.i64(along(k - 1)));
      number = b.create<arith::DivUIOp>(l.loc, number, l.i64(along(k - 1)));
    }
    return neighbour(site, op, at, offset, border);
  };
  auto evaluate = [&](bool border) {
    const LaneTarget t{site, anyLanes(at)};
    unsigned count = 0;
    forEachNeighbour(op, [&, &ctx = ctx](ArrayRef<int64_t> offset) {
      if (loops ? loops->neighbours.contains(count) : !body.getArgument(count).use_empty())
        ctx.scalars[body.getArgument(count)] = neighbour(site, op, at, placesOf(t, offset), border);
      ++count;
    });
    bindCoordinates(site, body, count, at);
    if (!loops) {
      emitBlock(site, body);
      return scalarOf(site, body.getTerminator()->getOperand(0));
    }
    size_t emitted = 0;
    auto emitRest = [&](size_t end) {
      for (; emitted < end; ++emitted)
        (void)emitScalarOp(site, *loops->rest[emitted]);
    };
    for (const TapLoop &loop : loops->loops) {
      emitRest(loop.after);
      emitTapLoop(site, loop, l.lanes > 1 && anyLanes(at), rows, along(axes.size() - 1),
                  [&](TapPlace place) { return placed(border, place); });
    }
    emitRest(loops->rest.size());
    return scalarOf(site, body.getTerminator()->getOperand(0));
  };
  Type element = typeOf(op.getResult()).getElementType();
  if (margin)
    return evaluate(false);
  if (!canTest || !whole)
    return evaluate(true);
  return branch(
      site, whole, element, anyLanes(at), [&] { return evaluate(false); },
      [&] { return evaluate(true); });
}
