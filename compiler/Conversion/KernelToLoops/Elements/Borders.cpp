//===- Borders.cpp - pads and windows: what lies outside --------------===//

#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Margins.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

Index penstock::conversion::bordered(const Site &site, const Index &index, Value extent, Border border, Value &inside) {
  auto [ctx, b, l, m] = site.parts();
  Value i = m.numbers(index);
  Value zero = l.integerLike(i, 0), one = l.integerLike(i, 1), n = extent;
  l.match(i, n);
  switch (border) {
  case Border::constant: {
    Value here = l.andInt(l.cmp(CmpIPredicate::sge, i, zero), l.cmp(CmpIPredicate::slt, i, n));
    inside = inside ? l.andInt(inside, here) : here;
    return m.clamp(index, extent);
  }
  case Border::edge:
    return m.clamp(index, extent);
  default:
    break;
  }
  // A remainder by the period, made non-negative.
  Value period = border == Border::wrap        ? n
                 : border == Border::symmetric ? l.mul(n, l.integerLike(n, 2))
                                               : l.mul(l.sub(n, one), l.integerLike(n, 2));
  period = l.maxS(period, one);
  Value rest = l.remS(i, period);
  rest = l.pick(l.cmp(CmpIPredicate::slt, rest, zero), l.add(rest, period), rest);
  if (border == Border::wrap)
    return m.of(rest);
  Value mirrored = l.sub(period, rest);
  if (border == Border::symmetric)
    mirrored = l.sub(mirrored, one);
  return m.of(l.pick(l.cmp(CmpIPredicate::slt, rest, n), rest, mirrored));
}

/// A branch whose condition is the same in all lanes.
LaneValue penstock::conversion::branch(const Site &site, Value condition, Type element, bool vector,
                                llvm::function_ref<LaneValue()> onTrue,
                                llvm::function_ref<LaneValue()> onFalse) {
  auto [ctx, b, l, m] = site.parts();
  if (auto known = Lanes::constantOf(condition))
    return *known ? onTrue() : onFalse();
  Type type = registerType(element);
  if (vector && l.lanes > 1)
    type = VectorType::get({l.lanes}, type);
  // Small numbers leave in both forms, see LaneValue::wide.
  SmallVector<Type> types{type};
  if (llvm::isa<VectorType>(type) && isUnsigned(element) && element.getIntOrFloatBitWidth() < 32)
    types.push_back(VectorType::get({l.lanes}, b.getI32Type()));
  auto op = b.create<scf::IfOp>(l.loc, types, condition, true);
  OpBuilder::InsertionGuard guard(b);
  auto side = [&](Block *block, llvm::function_ref<LaneValue()> make) {
    b.setInsertionPointToStart(block);
    LaneValue value = make();
    if (llvm::isa<VectorType>(type)) {
      value.value = l.splat(value.value);
      value.wide = value.wide ? l.splat(value.wide) : Value();
    }
    SmallVector<Value> yielded{value.value};
    if (types.size() == 2)
      yielded.push_back(l.wideOf(value));
    b.create<scf::YieldOp>(l.loc, yielded);
    return value.range;
  };
  Interval x = side(op.thenBlock(), onTrue), y = side(op.elseBlock(), onFalse);
  return {op.getResult(0),
          element,
          {std::min(x.low, y.low), std::max(x.high, y.high), x.nan || y.nan},
          types.size() == 2 ? op.getResult(1) : Value()};
}

/// Numbers that an index cannot leave, where its loops tell.
static std::optional<std::pair<int64_t, int64_t>> boundsOf(Value value) {
  if (auto known = Lanes::constantOf(value))
    return std::pair(*known, *known);
  if (auto counter = llvm::dyn_cast<BlockArgument>(value)) {
    auto loop = llvm::dyn_cast_if_present<scf::ForOp>(counter.getOwner()->getParentOp());
    if (!loop || counter != loop.getInductionVar())
      return std::nullopt;
    auto low = Lanes::constantOf(loop.getLowerBound()), high = Lanes::constantOf(loop.getUpperBound()),
         step = Lanes::constantOf(loop.getStep());
    if (!low || !high || !step || *step <= 0 || *low >= *high)
      return std::nullopt;
    return std::pair(*low, *low + (*high - 1 - *low) / *step * *step);
  }
  Operation *op = value.getDefiningOp();
  if (!llvm::isa<arith::AddIOp, arith::MinSIOp, arith::MaxSIOp>(op))
    return std::nullopt;
  auto x = boundsOf(op->getOperand(0)), y = boundsOf(op->getOperand(1));
  if (!x || !y)
    return std::nullopt;
  if (llvm::isa<arith::AddIOp>(op))
    return std::pair(x->first + y->first, x->second + y->second);
  if (llvm::isa<arith::MaxSIOp>(op))
    return std::pair(std::max(x->first, y->first), std::max(x->second, y->second));
  return std::pair(std::min(x->first, y->first), std::min(x->second, y->second));
}

/// Whether first and last lane of an affine index lie inside; null if that
/// cannot be said for all lanes at once.
static Value wholeInside(Lanes &l, const Index &index, Value extent, int64_t low = 0, int64_t high = 0) {
  if (!index.affine())
    return {};
  Value first = index.base;
  Value last = l.add(first, l.i64(index.stride * (l.lanes - 1)));
  if (index.stride < 0)
    std::swap(first, last);
  const auto from = boundsOf(first), to = boundsOf(last), size = boundsOf(extent);
  if (from && to && size && from->first + low >= 0 && to->second + high < size->first)
    return l.b.create<arith::ConstantIntOp>(l.loc, 1, 1);
  return l.andInt(l.cmp(CmpIPredicate::sge, l.add(first, l.i64(low)), l.i64(0)),
                  l.cmp(CmpIPredicate::slt, l.add(last, l.i64(high)), extent));
}

static bool readsPlainlyBelow(const Site &site, Value value, Seen &seen);

/// Whether `value` at lanes that stand for nothing is harmless: loads care for
/// themselves, everything on the way is arithmetic and affine.
bool penstock::conversion::readsPlainly(const Site &site, Value value) {
  Seen seen;
  return readsPlainlyBelow(site, value, seen);
}

static bool readsPlainlyBelow(const Site &site, Value value, Seen &seen) {
  auto [ctx, b, l, m] = site.parts();
  if (ctx.buffers.contains(value) || !seen.isNew(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (auto view = llvm::dyn_cast_if_present<ViewOp>(op)) {
    bool plain = true;
    for (AffineExpr expr : view.getMap().getResults())
      expr.walk([&](AffineExpr part) {
        plain &= part.getKind() != AffineExprKind::Mod && part.getKind() != AffineExprKind::FloorDiv &&
                 part.getKind() != AffineExprKind::CeilDiv;
      });
    return plain && readsPlainlyBelow(site, view.getInput(), seen);
  }
  if (readsOneOfEach(op))
    return llvm::all_of(op->getOperands(), [&](Value operand) {
      return !llvm::isa<NamedTensorType>(operand.getType()) || readsPlainlyBelow(site, operand, seen);
    });
  // Tables are not padded by memory.
  return false;
}

/// Along uniform axes whether a padded element exists is one answer for all
/// lanes. Along the axis of the lanes, the loads below leave out those that do
/// not exist.
LaneValue penstock::conversion::emitPad(const Site &site, PadOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  const bool vector = anyLanes(at);
  SmallVector<Index> moved(at);
  SmallVector<int64_t> axes;
  Value whole, rows;
  bool canTest = true;
  int64_t laneAxis = -1, laneAxes = 0;
  const auto known = ctx.padRows.find(op);
  const bool rowExists = known != ctx.padRows.end() && known->second;
  for (auto [name, low] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getLow())) {
    const int64_t axis = type.axisIndex(name);
    axes.push_back(axis);
    moved[axis] = m.add(at[axis], m.uniform(l.sub(l.i64(0), scalarOf(site, low).value)));
    Value inside = wholeInside(l, moved[axis], extent(site, op.getInput(), axis));
    canTest &= static_cast<bool>(inside);
    if (!canTest)
      continue;
    whole = whole ? l.andInt(whole, inside) : inside;
    if (moved[axis].uniform()) {
      if (!rowExists || !llvm::is_contained(*known->second, axis))
        rows = rows ? l.andInt(rows, inside) : inside;
    } else {
      ++laneAxes;
      laneAxis = axis;
    }
  }
  auto direct = [&] { return emit(site, op.getInput(), moved); };
  const LaneValue fill = op.getFill() ? scalarOf(site, op.getFill()) : LaneValue{};
  if (known != ctx.padRows.end() && !rowExists)
    return fill;
  if (rowExists && !rows && !laneAxes && canTest && op.getBorder() == Border::constant)
    return direct();
  Type element = type.getElementType();
  const int64_t stride = laneAxis >= 0 ? moved[laneAxis].stride : 0;
  if (canTest && whole && op.getBorder() == Border::constant && laneAxes <= 1 && std::abs(stride) <= 1 &&
      readsPlainly(site, op.getInput())) {
    auto existing = [&]() -> LaneValue {
      if (laneAxis < 0)
        return direct();
      Value last = l.sub(extent(site, op.getInput(), laneAxis), l.i64(1)), base = moved[laneAxis].base;
      LiveLanes lanes = stride > 0 ? LiveLanes{l.sub(l.i64(0), base), l.sub(last, base)}
                                   : LiveLanes{l.sub(base, last), base};
      auto outer = std::exchange(m.live, lanes);
      LaneValue value = direct();
      m.live = outer;
      Value source = op.getInput();
      while (auto view = source.getDefiningOp<ViewOp>())
        source = view.getInput();
      if (ctx.buffers.contains(source) && Lanes::isPositiveZero(fill.value))
        return value; // lanes that are not live read as 0
      return l.select(l.wrap(m.liveMask(lanes), b.getI1Type()), value, fill);
    };
    // Where there are many vectors, most lie inside.
    const Axis &across = type.getAxes()[std::max<int64_t>(laneAxis, 0)];
    auto lanes = [&] {
      if (laneAxis < 0 || (across.isStatic() && across.extent <= l.lanes))
        return existing();
      return branch(site, wholeInside(l, moved[laneAxis], extent(site, op.getInput(), laneAxis)), element, vector, direct,
                    existing);
    };
    if (laneAxis >= 0 && !(across.isStatic() && across.extent > 0)) {
      Value some = l.cmp(CmpIPredicate::sgt, extent(site, op.getInput(), laneAxis), l.i64(0));
      rows = rows ? l.andInt(rows, some) : some;
    }
    if (!rows)
      return lanes();
    return branch(site, rows, element, vector, lanes, [&] { return fill; });
  }
  auto nearest = [&] {
    SmallVector<Index> inner(moved);
    Value inside;
    for (int64_t axis : axes)
      inner[axis] = bordered(site, moved[axis], extent(site, op.getInput(), axis), op.getBorder(), inside);
    LaneValue value = emit(site, op.getInput(), inner);
    if (!inside)
      return value;
    return l.select(l.wrap(inside, b.getI1Type()), value, fill);
  };
  // Nothing is near to what lies outside of an empty axis.
  Value some;
  if (op.getBorder() == Border::constant)
    for (int64_t axis : axes)
      if (!type.getAxes()[axis].isStatic() || type.getAxes()[axis].extent == 0) {
        Value any = l.cmp(CmpIPredicate::sgt, extent(site, op.getInput(), axis), l.i64(0));
        some = some ? l.andInt(some, any) : any;
      }
  auto outside = [&] { return some ? branch(site, some, element, vector, nearest, [&] { return fill; }) : nearest(); };
  if (!canTest || !whole)
    return outside();
  return branch(site, whole, element, vector, direct, outside);
}

/// Elements that run over the end of an axis, along the lanes: the nearest vector that lies
/// inside has them all, and a shuffle puts each where the border wants it. Null where that
/// takes more than one instruction. `reach`: how far `at` lies at most from places
/// of the axis; what is mirrored from further than a vector is not in the nearest one.
static std::optional<LaneValue> emitTurned(const Site &site, Value input, ArrayRef<Index> at, int64_t axis,
                                                   int64_t reach, Border border) {
  auto [ctx, b, l, m] = site.parts();
  const Axis &along = typeOf(input).getAxes()[axis];
  Type element = typeOf(input).getElementType();
  const bool isSmall = element.isF32() || (!llvm::isa<FloatType>(element) && scalarBytes(element) <= 4);
  // Bytes stay bytes where there is a permutation of them.
  const bool asBytes = l.has.permuteBytes && scalarBytes(element) == 1;
  const bool hasShuffle = l.lanes == l.has.lanesOf(4) || l.lanes == l.has.lanesOf(2) || (l.lanes == l.has.lanesOf(1) && asBytes);
  if (!l.has.permuteInts || !hasShuffle || m.live || !isSmall || element.isInteger(1) ||
      at[axis].stride != 1 || !at[axis].affine() || !along.isStatic() || along.extent < l.lanes ||
      border == Border::constant || border == Border::wrap ||
      (border != Border::edge && reach >= l.lanes))
    return std::nullopt;
  Value near = l.maxS(l.minS(at[axis].base, l.i64(along.extent - l.lanes)), l.i64(0));
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
    return LaneValue{b.create<penstock::lane::PermuteOp>(l.loc, value.value, lane), element, value.range};
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
static LaneValue neighbour(const Site &site, WindowOp op, ArrayRef<Index> at, ArrayRef<Index> offset, bool border) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  SmallVector<Index> inner(at);
  Value inside;
  SmallVector<int64_t> withLanes;
  int64_t reach = 0; // along it
  for (auto [k, name] : llvm::enumerate(op.getOver().getAsRange<StringAttr>())) {
    const int64_t axis = type.axisIndex(name);
    inner[axis] = m.add(at[axis], offset[k]);
    if (border && !inner[axis].uniform()) {
      withLanes.push_back(axis);
      // Of an offset that a loop counts, only the ends are known.
      const std::optional<int64_t> known = Lanes::constantOf(offset[k].base);
      reach = known ? std::abs(*known) : std::max(-op.getLow()[k], op.getHigh()[k]);
    } else if (border)
      inner[axis] = bordered(site, inner[axis], extent(site, op.getInput(), axis), op.getBorder(), inside);
  }
  std::optional<LaneValue> turned;
  if (withLanes.size() == 1)
    turned = emitTurned(site, op.getInput(), inner, withLanes[0], reach, op.getBorder());
  if (!turned)
    for (int64_t axis : withLanes)
      inner[axis] = bordered(site, inner[axis], extent(site, op.getInput(), axis), op.getBorder(), inside);
  LaneValue value = turned ? *turned : emit(site, op.getInput(), inner);
  if (inside)
    value = l.select(l.wrap(inside, b.getI1Type()), value, scalarOf(site, op.getFill()));
  return value;
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
    Value inside = wholeInside(l, at[axis], extent(site, op.getInput(), axis), op.getLow()[k], op.getHigh()[k]);
    canTest &= static_cast<bool>(inside);
    if (canTest)
      whole = whole ? l.andInt(whole, inside) : inside;
  }
  const TapLoops *loops = tapLoopsOf(site, op);
  // Row-major: the last axis moves first.
  auto numbered = [&](bool border, Value number) {
    SmallVector<Index> offset(axes.size());
    for (size_t k = axes.size(); k-- > 0;) {
      Value count = l.i64(op.getHigh()[k] - op.getLow()[k] + 1);
      offset[k] = m.uniform(l.add(b.create<arith::RemUIOp>(l.loc, number, count), l.i64(op.getLow()[k])));
      number = b.create<arith::DivUIOp>(l.loc, number, count);
    }
    return neighbour(site, op, at, offset, border);
  };
  auto evaluate = [&](bool border) {
    const unsigned count = body.getNumArguments() - static_cast<unsigned>(at.size());
    SmallVector<int64_t> offset(op.getLow());
    for (unsigned i = 0; i < count; ++i) {
      if (!loops || loops->neighbours.contains(i)) {
        SmallVector<Index> known;
        for (int64_t number : offset)
          known.push_back(m.constant(number));
        ctx.scalars[body.getArgument(i)] = neighbour(site, op, at, known, border);
      }
      for (size_t k = axes.size(); k-- > 0;) {
        if (offset[k]++ < op.getHigh()[k])
          break;
        offset[k] = op.getLow()[k];
      }
    }
    bindCoordinates(site, body, count, at);
    if (!loops) {
      emitBlock(site, body);
      return scalarOf(site, body.getTerminator()->getOperand(0));
    }
    for (const TapLoop &loop : loops->loops)
      emitTapLoop(site, loop, l.lanes > 1 && anyLanes(at), [&](Value number) { return numbered(border, number); });
    for (Operation *inner : loops->rest)
      (void)emitScalarOp(site, *inner);
    return scalarOf(site, body.getTerminator()->getOperand(0));
  };
  Type element = typeOf(op.getResult()).getElementType();
  if (margin)
    return evaluate(false);
  if (!canTest || !whole)
    return evaluate(true);
  return branch(site, whole, element, anyLanes(at), [&] { return evaluate(false); },
                [&] { return evaluate(true); });
}
