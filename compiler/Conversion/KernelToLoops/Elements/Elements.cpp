//===- Elements.cpp - the element of a tensor at given indices --------===//

#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/ByteChains.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Rows/ResampledRows.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static LaneValue emitMap(const Site &site, MapOp op, ArrayRef<Index> at);
static LaneValue computeMap(const Site &site, MapOp op, ArrayRef<Index> at);
static LaneValue emitConstant(const Site &site, ConstantOp op, ArrayRef<Index> at);
static LaneValue emitConcat(const Site &site, ConcatOp op, ArrayRef<Index> at);
static LaneValue emitStack(const Site &site, StackOp op, ArrayRef<Index> at);
static LaneValue emitPlace(const Site &site, PlaceOp op, ArrayRef<Index> at);
static LaneValue emitResample(const Site &site, ResampleOp op, ArrayRef<Index> at);

Value penstock::conversion::extent(const Site &site, Value tensor, int64_t axis) {
  auto [ctx, b, l, m] = site.parts();
  OpFoldResult known = extentOf(tensor, axis);
  if (auto value = llvm::dyn_cast_if_present<Value>(known))
    return scalarOf(site, value).value;
  if (auto attribute = llvm::dyn_cast_if_present<Attribute>(known))
    return l.i64(llvm::cast<IntegerAttr>(attribute).getInt());
  // An argument's extent stands in its view.
  auto argument = llvm::cast<BlockArgument>(tensor);
  int64_t offset = static_cast<int64_t>(argument.getArgNumber()) * 136 + 8 + 8 * axis;
  return m.loadPlain(b.getI64Type(), m.address(ctx.tensors, l.i64(offset)));
}

/// What a channel reads may be what another reads too, unless its number is among
/// the indices.
void penstock::conversion::noteRead(const Site &site, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  ctx.readsShared |= llvm::none_of(at, [&](const Index &index) {
    return index.uniform() && Lanes::constantOf(index.base) == ctx.channel;
  });
}

LaneValue penstock::conversion::emit(const Site &site, Value tensor, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  auto stored = ctx.buffers.find(tensor);
  if (stored != ctx.buffers.end()) {
    noteRead(site, at);
    LaneValue value = m.load(stored->second, at);
    if (const auto &written = stored->second.written) // lanes that do not exist read as 0
      value.range = m.live ? hull(*written, Interval::constant(0)) : *written;
    return value;
  }
  if (auto known = ctx.single.find(tensor); known != ctx.single.end())
    return known->second;
  Operation *op = tensor.getDefiningOp();
  assert(op && "tensor arguments have buffers");
  return llvm::TypeSwitch<Operation *, LaneValue>(op)
      .Case([&](ViewOp view) {
        SmallVector<Index> symbols, inner;
        for (Value symbol : view.getSymbols())
          symbols.push_back(m.uniform(scalarOf(site, symbol).value));
        for (AffineExpr expr : view.getMap().getResults())
          inner.push_back(m.affine(expr, at, symbols));
        return emit(site, view.getInput(), inner);
      })
      .Case([&](CastOp cast) {
        return l.cast(cast.getMode(), emit(site, cast.getValue(), at),
                      typeOf(cast.getResult()).getElementType());
      })
      .Case([&](ConstantOp constant) { return emitConstant(site, constant, at); })
      .Case([&](MapOp map) { return emitMap(site, map, at); })
      .Case([&](PadOp pad) { return emitPad(site, pad, at); })
      .Case([&](WindowOp window) { return emitWindow(site, window, at); })
      .Case([&](ConcatOp concat) { return emitConcat(site, concat, at); })
      .Case([&](StackOp stack) { return emitStack(site, stack, at); })
      .Case([&](PlaceOp place) { return emitPlace(site, place, at); })
      .Case([&](ReduceOp reduce) { return emitReduced(site, reduce, at); })
      .Case([&](ResampleOp resample) { return emitResample(site, resample, at); })
      .Case([&](GatherOp gather) {
        ctx.readsShared = true; // coordinates
        return emitGather(site, gather, at);
      })
      .Case([&](ChooseOp choose) {
        return emitChosen(site, choose, llvm::cast<OpResult>(tensor).getResultNumber(), at);
      })
      .Default(
          [&](Operation *) -> LaneValue { llvm_unreachable("not admitted at the top level"); });
}

//===--- points ---------------------------------------------------------------------===//

void penstock::conversion::bindCoordinates(const Site &site, Block &body, size_t first, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  for (auto [axis, index] : llvm::enumerate(at)) {
    ctx.scalars.erase(body.getArgument(first + axis));
    ctx.coordinates[body.getArgument(first + axis)] = index;
  }
}

/// Channels of one pixel read each other's values: a chain of such maps would be
/// computed anew for every read.
static LaneValue emitMap(const Site &site, MapOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  Context::ElementKey key{reinterpret_cast<uintptr_t>(op.getOperation()), static_cast<uintptr_t>(l.lanes)};
  if (m.live) // lanes that do not exist have other values
    for (Value end : {m.live->first, m.live->last})
      key.push_back(reinterpret_cast<uintptr_t>(end.getAsOpaquePointer()));
  for (const Index &index : at) {
    auto constant = index.base ? Lanes::constantOf(index.base) : std::nullopt;
    for (uintptr_t part :
         {static_cast<uintptr_t>(constant.has_value()),
          constant ? static_cast<uintptr_t>(*constant)
                   : reinterpret_cast<uintptr_t>(index.base.getAsOpaquePointer()),
          static_cast<uintptr_t>(index.stride), static_cast<uintptr_t>(index.period),
          static_cast<uintptr_t>(index.inner),
          reinterpret_cast<uintptr_t>(index.runtimeStride.getAsOpaquePointer()),
          reinterpret_cast<uintptr_t>(index.vector.getAsOpaquePointer())})
      key.push_back(part);
  }
  if (auto known = ctx.elements.find(key); known != ctx.elements.end())
    for (Block *block = b.getInsertionBlock(); block;
         block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr)
      if (block == known->second.block)
        return known->second.value;
  LaneValue value = computeMap(site, op, at);
  ctx.elements[key] = {value, b.getInsertionBlock()};
  return value;
}

static LaneValue computeMap(const Site &site, MapOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType domain = typeOf(op.getResult());
  Block &body = op.getBody().front();
  SmallVector<LaneValue> values;
  for (Value input : op.getInputs()) {
    SmallVector<Index> inner;
    for (const Axis &axis : typeOf(input).getAxes())
      inner.push_back(at[domain.axisIndex(axis.name)]);
    values.push_back(emit(site, input, inner));
  }
  for (auto [i, value] : llvm::enumerate(values))
    ctx.scalars[body.getArgument(i)] = value;
  bindCoordinates(site, body, values.size(), at);
  auto constantOf = [&](Value value) -> std::optional<float> {
    TypedAttr attribute;
    if (auto constant = value.getDefiningOp<ConstantOp>())
      attribute = llvm::dyn_cast<TypedAttr>(constant.getValue());
    else if (auto argument = llvm::dyn_cast<BlockArgument>(value);
             argument && argument.getOwner() == &body && argument.getArgNumber() < values.size())
      if (auto constant = values[argument.getArgNumber()].value.getDefiningOp<arith::ConstantOp>())
        attribute = constant.getValue();
    if (auto number = llvm::dyn_cast_if_present<FloatAttr>(attribute); number && number.getType().isF32())
      return number.getValue().convertToFloat();
    return std::nullopt;
  };
  if (auto chain = findByteChain(body, constantOf))
    if (auto form = proveByteChain(*chain, l.has)) {
      if (emitByTables(site, op, values, chain->root))
        return emitByteChain(l, *chain, *form, scalarOf(site, chain->root));
      auto inChain = [&](Operation *user) { return chain->ops.contains(user) || user == body.getTerminator(); };
      for (Operation &inner : body.without_terminator())
        if (!chain->ops.contains(&inner) || !llvm::all_of(inner.getUsers(), inChain))
          (void)emitScalarOp(site, inner);
      return emitByteChain(l, *chain, *form, scalarOf(site, chain->root));
    }
  if (!emitByTables(site, op, values, body.getTerminator()->getOperand(0)))
    emitBlock(site, body);
  return scalarOf(site, body.getTerminator()->getOperand(0));
}

LaneValue penstock::conversion::emitLoad(const Site &site, LoadOp op) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<Index> at;
  Value empty;
  for (auto [axis, index] : llvm::enumerate(op.getIndices())) {
    const Axis &a = typeOf(op.getTensor()).getAxes()[axis];
    Value size = extent(site, op.getTensor(), axis);
    auto coordinate = ctx.coordinates.find(index);
    LaneValue value = coordinate == ctx.coordinates.end() ? scalarOf(site, index) : LaneValue{};
    Index where = coordinate == ctx.coordinates.end() ? m.of(value.value) : coordinate->second;
    // What is known to lie inside needs no clamp, and stays a run of elements.
    const bool inside = value.value && a.isStatic() && a.extent > 0 &&
                        value.range.within(0, static_cast<double>(a.extent - 1));
    at.push_back(inside ? where : m.clamp(where, size));
    if (!a.isStatic() || a.extent == 0) {
      Value none = l.cmp(CmpIPredicate::sle, size, l.i64(0));
      empty = empty ? l.orInt(empty, none) : none;
    }
  }
  if (auto found = loadByTable(site, op, at))
    return *found;
  LaneValue value = emit(site, op.getTensor(), at);
  if (!empty)
    return value;
  LaneValue zero{llvm::isa<FloatType>(getElementTypeOrSelf(value.value.getType()))
                     ? l.floatLike(value.value, 0.0)
                     : l.integerLike(value.value, 0),
                 value.type, Interval::of(0, 0)};
  return l.select(l.wrap(empty, b.getI1Type()), zero, value);
}

/// The elements of a small table: where every index is known or all elements
/// are alike a constant, else a load from the image's read-only data.
static LaneValue emitConstant(const Site &site, ConstantOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  auto elements = llvm::cast<DenseElementsAttr>(op.getValue());
  NamedTensorType type = typeOf(op.getResult());
  Type element = type.getElementType();
  auto element_at = [&](int64_t number) {
    return l.constant(llvm::cast<TypedAttr>(elements.getValues<Attribute>()[number]));
  };
  if (elements.isSplat())
    return element_at(0);
  int64_t number = 0;
  bool known = true;
  for (auto [axis, index] : llvm::enumerate(at)) {
    auto value = index.uniform() ? Lanes::constantOf(index.base) : std::nullopt;
    known &= value.has_value();
    number = number * type.getAxes()[axis].extent + value.value_or(0);
  }
  if (known)
    return element_at(number);
  std::string bytes; // as they lie in memory

  Interval range = Interval::of(std::numeric_limits<double>::infinity(),
                          -std::numeric_limits<double>::infinity());
  for (Attribute attribute : elements.getValues<Attribute>()) {
    APInt bits = llvm::isa<FloatAttr>(attribute)
                     ? llvm::cast<FloatAttr>(attribute).getValue().bitcastToAPInt()
                     : llvm::cast<IntegerAttr>(attribute).getValue();
    double value = llvm::isa<FloatAttr>(attribute)
                       ? llvm::cast<FloatAttr>(attribute).getValueAsDouble()
                   : isUnsigned(element) || element.isInteger(1)
                       ? static_cast<double>(bits.getZExtValue())
                       : static_cast<double>(bits.getSExtValue());
    range.nan |= value != value;
    const Interval one = llvm::isa<FloatAttr>(attribute) ? Interval::of(value, value) : whole(value);
    range.low = std::min(range.low, one.low);
    range.high = std::max(range.high, one.high);
    uint64_t raw = bits.getZExtValue();
    for (int64_t byte = 0; byte < scalarBytes(element); ++byte)
      bytes.push_back(static_cast<char>(raw >> (8 * byte)));
  }
  Buffer buffer;
  buffer.constant = true;
  buffer.element = element;
  buffer.pointer = readOnlyData(site, std::move(bytes));
  int64_t stride = scalarBytes(element);
  buffer.known.resize(type.getRank());
  buffer.strides.resize(type.getRank());
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    buffer.known[axis] = stride;
    buffer.strides[axis] = l.i64(stride);
    stride *= type.getAxes()[axis].extent;
  }
  LaneValue value = m.load(buffer, at);
  if (range.low <= range.high)
    value.range = range;
  return value;
}

//===--- joins ------------------------------------------------------------------------===//

static LaneValue emitConcat(const Site &site, ConcatOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  Type element = typeOf(op.getResult()).getElementType();
  std::function<LaneValue(size_t, Index)> from = [&](size_t number, Index index) -> LaneValue {
    Value input = op.getInputs()[number];
    SmallVector<Index> inner(at);
    inner[axis] = index;
    if (number + 1 == op.getInputs().size())
      return emit(site, input, inner);
    Value size = extent(site, input, axis);
    Index rest = m.add(index, m.uniform(l.sub(l.i64(0), size)));
    if (index.uniform())
      return branch(site, l.cmp(CmpIPredicate::slt, index.base, size), element, anyLanes(at),
                    [&] { return emit(site, input, inner); }, [&] { return from(number + 1, rest); });
    Value here = l.cmp(CmpIPredicate::slt, m.numbers(index), size);
    inner[axis] = m.clamp(index, size);
    LaneValue mine = emit(site, input, inner);
    Value next = m.numbers(rest);
    return l.select(l.wrap(here, b.getI1Type()), mine,
                    from(number + 1, m.of(l.maxS(next, l.integerLike(next, 0)))));
  };
  return from(0, at[axis]);
}

static LaneValue emitStack(const Site &site, StackOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  ArrayRef<Index> inner = at.drop_front();
  auto number = at[0].uniform() ? Lanes::constantOf(at[0].base) : std::nullopt;
  const size_t count = op.getInputs().size();
  if (number && *number >= 0 && *number < static_cast<int64_t>(count))
    return emit(site, op.getInputs()[*number], inner);
  Type element = typeOf(op.getResult()).getElementType();
  std::function<LaneValue(size_t)> from = [&](size_t i) -> LaneValue {
    if (i + 1 == count)
      return emit(site, op.getInputs()[i], inner);
    if (at[0].uniform())
      return branch(site, l.cmp(CmpIPredicate::sle, at[0].base, l.i64(static_cast<int64_t>(i))), element,
                    anyLanes(at), [&] { return emit(site, op.getInputs()[i], inner); },
                    [&] { return from(i + 1); });
    Value numbers = m.numbers(at[0]);
    Value here = l.cmp(CmpIPredicate::sle, numbers, l.integerLike(numbers, static_cast<int64_t>(i)));
    LaneValue mine = emit(site, op.getInputs()[i], inner);
    return l.select(l.wrap(here, b.getI1Type()), mine, from(i + 1));
  };
  return from(0);
}

static LaneValue emitPlace(const Site &site, PlaceOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  SmallVector<Index> moved(at), clamped(at);
  Value inside;
  bool uniform = true;
  for (auto [name, offset] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getAt())) {
    const int64_t axis = type.axisIndex(name);
    moved[axis] = m.add(at[axis], m.uniform(l.sub(l.i64(0), scalarOf(site, offset).value)));
    uniform &= at[axis].uniform();
    clamped[axis] = bordered(site, moved[axis], extent(site, op.getPatch(), axis), Border::constant, inside);
  }
  // Along the other axes the patch starts at 0, and may end early.
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const Axis &patch = typeOf(op.getPatch()).getAxes()[axis], &base = type.getAxes()[axis];
    const bool named = llvm::any_of(op.getOver().getAsRange<StringAttr>(),
                                    [&](StringAttr name) { return name.strref() == base.name; });
    if (named || (patch.isStatic() && patch.extent == base.extent))
      continue;
    uniform &= at[axis].uniform();
    clamped[axis] = bordered(site, at[axis], extent(site, op.getPatch(), axis), Border::constant, inside);
  }
  if (!inside)
    return emit(site, op.getPatch(), at);
  if (uniform)
    return branch(site, inside, type.getElementType(), anyLanes(at), [&] { return emit(site, op.getPatch(), moved); },
                  [&] { return emit(site, op.getBase(), at); });
  // A patch without elements has none to clamp to.
  Value isThere;
  for (auto [axis, a] : llvm::enumerate(typeOf(op.getPatch()).getAxes())) {
    if (a.isStatic())
      continue;
    Value some = l.cmp(CmpIPredicate::sgt, extent(site, op.getPatch(), static_cast<int64_t>(axis)), l.i64(0));
    isThere = isThere ? l.andInt(isThere, some) : some;
  }
  auto either = [&] { return l.select(l.wrap(inside, b.getI1Type()), emit(site, op.getPatch(), clamped), emit(site, op.getBase(), at)); };
  if (!isThere)
    return either();
  return branch(site, isThere, type.getElementType(), anyLanes(at), either, [&] { return emit(site, op.getBase(), at); });
}

//===--- resampling -----------------------------------------------------------------===//

static LaneValue emitResample(const Site &site, ResampleOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  if (auto streamed = emitVertical(site, op, at))
    return *streamed;
  NamedTensorType type = typeOf(op.getResult());
  const int64_t axis = type.axisIndex(op.getAxis());
  const bool pillow = op.getNumerics() == Numerics::pillow;
  Type element = type.getElementType();
  Type sumType = pillow ? Type(b.getI32Type()) : b.getF64Type();
  const bool vector = l.lanes > 1 && anyLanes(at);
  Index first = m.of(emit(site, op.getStart(), {at[axis]}).value);
  first = m.of(l.cast(CastMode::value, l.wrap(m.numbers(first), b.getI32Type()), b.getI64Type()).value);
  LaneValue zero = pillow ? l.constant(b.getI32IntegerAttr(1 << 21)) : l.constant(b.getF64FloatAttr(0));
  Value init = vector ? l.splat(zero.value) : zero.value;
  Value taps = extent(site, op.getWeights(), 1);
  auto loop = b.create<scf::ForOp>(l.loc, l.i64(0), taps, l.i64(1), ValueRange{init});
  loop->setAttr("pipe.short", b.getUnitAttr());
  {
    OpBuilder::InsertionGuard guard(b);
    if (!loop.getBody()->empty())
      loop.getBody()->back().erase();
    b.setInsertionPointToEnd(loop.getBody());
    Index tap = m.uniform(loop.getInductionVar());
    SmallVector<Index> inner(at);
    inner[axis] = m.add(first, tap);
    LaneValue weight = emit(site, op.getWeights(), {at[axis], tap});
    LaneValue value = emit(site, op.getInput(), inner);
    value = l.cast(CastMode::value, value, sumType);
    LaneValue sum = l.wrap(loop.getRegionIterArg(0), sumType);
    // f64 products and sums round apart, in tap order.
    sum = l.binary(BinaryKind::add, sum, l.binary(BinaryKind::mul, value, weight));
    b.create<scf::YieldOp>(l.loc, vector ? l.splat(sum.value) : sum.value);
  }
  LaneValue sum = l.wrap(loop.getResult(0), sumType);
  if (pillow) {
    Value v = b.create<arith::ShRSIOp>(l.loc, sum.value, l.integerLike(sum.value, 22));
    return l.cast(CastMode::clamp, {v, b.getI32Type(), Interval::of(-512, 511)}, element);
  }
  if (llvm::isa<IntegerType>(element))
    sum = l.unary(UnaryKind::round_away, sum);
  return l.cast(CastMode::value, sum, element);
}
