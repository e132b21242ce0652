// SPDX-License-Identifier: Apache-2.0
//
// Elements in the lanes of a CPU.
#include "compiler/Conversion/KernelToLoops/Elements/LaneTarget.h"
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

//===--- reads -------------------------------------------------------------------------===//

Value LaneTarget::extent(Value tensor, int64_t axis) const {
  return conversion::extent(site, tensor, axis);
}

SmallVector<LaneValue> LaneTarget::valuesOf(Block &body, ArrayRef<LaneValue> arguments,
                                            ArrayRef<Index> at) const {
  for (auto [argument, value] : llvm::zip(body.getArguments(), arguments))
    site.ctx.scalars[argument] = value;
  bindCoordinates(site, body, arguments.size(), at);
  emitBlock(site, body);
  SmallVector<LaneValue> values;
  for (Value yielded : body.getTerminator()->getOperands())
    values.push_back(scalarOf(site, yielded));
  return values;
}

//===--- numbers -----------------------------------------------------------------------===//

LaneValue LaneTarget::real(double number) const {
  return site.m.l.constant(site.ctx.b.getF64FloatAttr(number));
}

LaneValue LaneTarget::binary(BinaryKind kind, LaneValue x, LaneValue y) const {
  return site.m.l.binary(kind, x, y);
}

LaneValue LaneTarget::cast(LaneValue x, Type type, CastMode mode) const {
  return site.m.l.cast(mode, x, type);
}

/// With what rounds: it is added once.
LaneValue LaneTarget::pillowSum() const {
  return site.m.l.constant(site.ctx.b.getI32IntegerAttr(1 << 21));
}

LaneValue LaneTarget::ofPillowSum(LaneValue sum, Type type) const {
  auto [ctx, b, l, m] = site.parts();
  Value v = b.create<arith::ShRSIOp>(l.loc, sum.value, l.integerLike(sum.value, 22));
  return l.cast(CastMode::clamp, {v, b.getI32Type(), Interval::of(-512, 511)}, type);
}

//===--- places ------------------------------------------------------------------------===//

Index LaneTarget::scalarPlace(Value scalar) const {
  return site.m.uniform(scalarOf(site, scalar).value);
}

Index LaneTarget::placeOf(LaneValue whole, bool hasNeighbours) const {
  auto [ctx, b, l, m] = site.parts();
  Value number = l.cast(CastMode::value, whole, b.getI64Type()).value;
  if (hasNeighbours && !whole.range.within(-0x1p62, 0x1p62 - 1024)) {
    number = l.maxS(number, l.integerLike(number, std::numeric_limits<int64_t>::min() / 2));
    number = l.minS(number, l.integerLike(number, std::numeric_limits<int64_t>::max() / 2));
  }
  return m.of(number);
}

std::optional<int64_t> LaneTarget::known(const Index &place) const {
  return place.uniform() ? Lanes::constantOf(place.base) : std::nullopt;
}

Index LaneTarget::sub(const Index &place, const Index &by) const {
  auto [ctx, b, l, m] = site.parts();
  return m.add(place, m.uniform(l.sub(l.i64(0), by.base)));
}

Index LaneTarget::affine(AffineExpr expr, ArrayRef<Index> dims, ArrayRef<Index> symbols) const {
  return site.m.affine(expr, dims, symbols);
}

Index LaneTarget::bordered(const Index &place, Value extent, Border border, Value &inside) const {
  return conversion::bordered(site, place, extent, border, inside);
}

//===--- choices -----------------------------------------------------------------------===//

Value LaneTarget::within(LaneValue x, Value extent, Value inside) const {
  auto [ctx, b, l, m] = site.parts();
  LaneValue size = l.cast(CastMode::value, l.wrap(extent, b.getI64Type()), b.getF64Type());
  Value isInside =
      l.andInt(l.compare(Predicate::ge, x, real(0)).value, l.compare(Predicate::lt, x, size).value);
  return inside ? l.andInt(inside, isInside) : isInside;
}

LaneValue LaneTarget::orFill(Value condition, Make<> element, Value fill) const {
  const Lanes &l = site.m.l;
  LaneValue value = element();
  return l.select(l.wrap(condition, l.b.getI1Type()), value, scalarOf(site, fill));
}

LaneValue LaneTarget::elementOr(Value inside, Value tensor, ArrayRef<Index> at,
                                ArrayRef<Index> near, Make<> other) const {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(tensor);
  Type element = type.getElementType();
  if (!llvm::isa<VectorType>(inside.getType()))
    return branch(site, inside, element, isVector, [&] { return emit(site, tensor, at); }, other);
  // A tensor without elements has none that is near.
  Value isThere;
  for (auto [axis, a] : llvm::enumerate(type.getAxes())) {
    if (a.isStatic())
      continue;
    Value some = l.cmp(CmpIPredicate::sgt, extent(tensor, static_cast<int64_t>(axis)), l.i64(0));
    isThere = isThere ? l.andInt(isThere, some) : some;
  }
  auto nearest = [&] { return emit(site, tensor, near); };
  auto nothing = [&] {
    Value zero = b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(registerType(element)));
    return LaneValue{zero, element, Interval::of(0, 0)};
  };
  LaneValue mine = isThere ? branch(site, isThere, element, isVector, nearest, nothing) : nearest();
  // Written once: a chain of them would be written again for each.
  return l.select(l.wrap(inside, b.getI1Type()), mine, other());
}

LaneValue LaneTarget::split(const Index &place, Value extent, Type type, Make<Index> here,
                            Make<Index> beyond) const {
  auto [ctx, b, l, m] = site.parts();
  const Index rest = sub(place, m.uniform(extent));
  if (place.uniform())
    return branch(
        site, l.cmp(CmpIPredicate::slt, place.base, extent), type, isVector,
        [&] { return here(place); }, [&] { return beyond(rest); });
  Value isHere = l.cmp(CmpIPredicate::slt, m.numbers(place), extent);
  LaneValue mine = here(m.clamp(place, extent));
  Value next = m.numbers(rest);
  return l.select(l.wrap(isHere, b.getI1Type()), mine,
                  beyond(m.of(l.maxS(next, l.integerLike(next, 0)))));
}

LaneValue LaneTarget::oneOf(Operation *op, llvm::function_ref<Index()> index, int64_t count,
                            Type type, Make<int64_t> arm) const {
  auto [ctx, b, l, m] = site.parts();
  if (auto specialized = site.specializedArm(op))
    return arm(*specialized);
  const Index taken = index();
  if (auto number = known(taken); number && *number >= 0 && *number < count)
    return arm(*number);
  std::function<LaneValue(int64_t)> from = [&](int64_t i) -> LaneValue {
    if (i + 1 == count)
      return arm(i);
    Value numbers = m.numbers(taken);
    Value isHere = l.cmp(CmpIPredicate::sle, numbers, l.integerLike(numbers, i));
    if (taken.uniform())
      return branch(
          site, isHere, type, isVector, [&] { return arm(i); }, [&] { return from(i + 1); });
    LaneValue mine = arm(i);
    return l.select(l.wrap(isHere, b.getI1Type()), mine, from(i + 1));
  };
  return from(0);
}

SmallVector<LaneValue> LaneTarget::accumulate(Value tensor, int64_t axis, ArrayRef<LaneValue> inits,
                                              Step step) const {
  auto [ctx, b, l, m] = site.parts();
  auto registers = [&](ArrayRef<LaneValue> numbers) {
    return SmallVector<Value>(llvm::map_range(numbers, [&, &l = l](const LaneValue &number) {
      return isVector && l.lanes > 1 ? l.splat(number.value) : number.value;
    }));
  };
  auto wrapped = [&](ValueRange values) {
    SmallVector<LaneValue> numbers;
    for (auto [value, init] : llvm::zip(values, inits))
      numbers.push_back(site.m.l.wrap(value, init.type));
    return numbers;
  };
  const SmallVector<Value> first = registers(inits);
  Value end = extent(tensor, axis);
  auto loop = b.create<scf::ForOp>(l.loc, l.i64(0), end, l.i64(1), first);
  loop->setAttr("pipe.short", b.getUnitAttr());
  OpBuilder::InsertionGuard guard(b);
  if (!loop.getBody()->empty())
    loop.getBody()->back().erase();
  b.setInsertionPointToEnd(loop.getBody());
  b.create<scf::YieldOp>(
      l.loc, registers(step(m.uniform(loop.getInductionVar()), wrapped(loop.getRegionIterArgs()))));
  return wrapped(loop.getResults());
}
