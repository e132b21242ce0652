//===- KernelTensors.cpp - the element of a tensor at given indices --------===//

#include "compiler/Conversion/ByteChains.h"
#include "compiler/Conversion/KernelEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

Value KernelEmitter::extent(Value tensor, int64_t axis) {
  OpFoldResult known = extentOf(tensor, axis);
  if (auto value = llvm::dyn_cast_if_present<Value>(known))
    return scalar(value).value;
  if (auto attribute = llvm::dyn_cast_if_present<Attribute>(known))
    return l.i64(llvm::cast<IntegerAttr>(attribute).getInt());
  // An argument's extent stands in its view.
  auto argument = llvm::cast<BlockArgument>(tensor);
  int64_t offset = static_cast<int64_t>(argument.getArgNumber()) * 136 + 8 + 8 * axis;
  return m.loadPlain(b.getI64Type(), m.address(tensors, l.i64(offset)));
}

/// What a channel reads may be what another reads too, unless its number is among
/// the indices.
void KernelEmitter::noteRead(ArrayRef<Index> at) {
  readsShared |= llvm::none_of(at, [&](const Index &index) {
    return index.uniform() && Lanes::constantOf(index.base) == channel;
  });
}

LaneValue KernelEmitter::emit(Value tensor, ArrayRef<Index> at) {
  auto stored = buffers.find(tensor);
  if (stored != buffers.end()) {
    noteRead(at);
    LaneValue value = m.load(stored->second, at);
    if (const auto &written = stored->second.written) // lanes that do not exist read as 0
      value.range = m.live ? hull(*written, Interval::constant(0)) : *written;
    return value;
  }
  if (auto known = single.find(tensor); known != single.end())
    return known->second;
  Operation *op = tensor.getDefiningOp();
  assert(op && "tensor arguments have buffers");
  return llvm::TypeSwitch<Operation *, LaneValue>(op)
      .Case([&](ViewOp view) {
        SmallVector<Index> symbols, inner;
        for (Value symbol : view.getSymbols())
          symbols.push_back(m.uniform(scalar(symbol).value));
        for (AffineExpr expr : view.getMap().getResults())
          inner.push_back(m.affine(expr, at, symbols));
        return emit(view.getInput(), inner);
      })
      .Case([&](CastOp cast) {
        return l.cast(cast.getMode(), emit(cast.getValue(), at),
                      typeOf(cast.getResult()).getElementType());
      })
      .Case([&](ConstantOp constant) { return emitConstant(constant, at); })
      .Case([&](MapOp map) { return emitMap(map, at); })
      .Case([&](PadOp pad) { return emitPad(pad, at); })
      .Case([&](WindowOp window) { return emitWindow(window, at); })
      .Case([&](ConcatOp concat) { return emitConcat(concat, at); })
      .Case([&](StackOp stack) { return emitStack(stack, at); })
      .Case([&](PlaceOp place) { return emitPlace(place, at); })
      .Case([&](ReduceOp reduce) { return emitReduced(reduce, at); })
      .Case([&](ResampleOp resample) { return emitResample(resample, at); })
      .Case([&](GatherOp gather) {
        readsShared = true; // coordinates
        return emitGather(gather, at);
      })
      .Case([&](ChooseOp choose) {
        return emitChosen(choose, llvm::cast<OpResult>(tensor).getResultNumber(), at);
      })
      .Default(
          [&](Operation *) -> LaneValue { llvm_unreachable("not admitted at the top level"); });
}

//===--- points ---------------------------------------------------------------------===//

void KernelEmitter::bindCoordinates(Block &body, size_t first, ArrayRef<Index> at) {
  for (auto [axis, index] : llvm::enumerate(at)) {
    scalars.erase(body.getArgument(first + axis));
    coordinates[body.getArgument(first + axis)] = index;
  }
}

/// Channels of one pixel read each other's values: a chain of such maps would be
/// computed anew for every read.
LaneValue KernelEmitter::emitMap(MapOp op, ArrayRef<Index> at) {
  ElementKey key{reinterpret_cast<uintptr_t>(op.getOperation()), static_cast<uintptr_t>(l.lanes)};
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
  if (auto known = elements.find(key); known != elements.end())
    for (Block *block = b.getInsertionBlock(); block;
         block = block->getParentOp() ? block->getParentOp()->getBlock() : nullptr)
      if (block == known->second.block)
        return known->second.value;
  LaneValue value = computeMap(op, at);
  elements[key] = {value, b.getInsertionBlock()};
  return value;
}

LaneValue KernelEmitter::computeMap(MapOp op, ArrayRef<Index> at) {
  NamedTensorType domain = typeOf(op.getResult());
  Block &body = op.getBody().front();
  SmallVector<LaneValue> values;
  for (Value input : op.getInputs()) {
    SmallVector<Index> inner;
    for (const Axis &axis : typeOf(input).getAxes())
      inner.push_back(at[domain.axisIndex(axis.name)]);
    values.push_back(emit(input, inner));
  }
  for (auto [i, value] : llvm::enumerate(values))
    scalars[body.getArgument(i)] = value;
  bindCoordinates(body, values.size(), at);
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
      if (emitByTables(op, values, chain->root))
        return emitByteChain(l, *chain, *form, scalar(chain->root));
      auto inChain = [&](Operation *user) { return chain->ops.contains(user) || user == body.getTerminator(); };
      for (Operation &inner : body.without_terminator())
        if (!chain->ops.contains(&inner) || !llvm::all_of(inner.getUsers(), inChain))
          (void)emitScalarOp(inner);
      return emitByteChain(l, *chain, *form, scalar(chain->root));
    }
  if (!emitByTables(op, values, body.getTerminator()->getOperand(0)))
    emitBlock(body);
  return scalar(body.getTerminator()->getOperand(0));
}

LaneValue KernelEmitter::emitLoad(LoadOp op) {
  SmallVector<Index> at;
  Value empty;
  for (auto [axis, index] : llvm::enumerate(op.getIndices())) {
    const Axis &a = typeOf(op.getTensor()).getAxes()[axis];
    Value size = extent(op.getTensor(), axis);
    auto coordinate = coordinates.find(index);
    LaneValue value = coordinate == coordinates.end() ? scalar(index) : LaneValue{};
    Index where = coordinate == coordinates.end() ? m.of(value.value) : coordinate->second;
    // What is known to lie inside needs no clamp, and stays a run of elements.
    const bool inside = value.value && a.isStatic() && a.extent > 0 &&
                        value.range.within(0, static_cast<double>(a.extent - 1));
    at.push_back(inside ? where : m.clamp(where, size));
    if (!a.isStatic() || a.extent == 0) {
      Value none = l.cmp(CmpIPredicate::sle, size, l.i64(0));
      empty = empty ? l.orInt(empty, none) : none;
    }
  }
  if (auto found = loadByTable(op, at))
    return *found;
  LaneValue value = emit(op.getTensor(), at);
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
LaneValue KernelEmitter::emitConstant(ConstantOp op, ArrayRef<Index> at) {
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
  buffer.pointer = readOnlyData(std::move(bytes));
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

/// One global per content.
Value KernelEmitter::readOnlyData(std::string bytes) {
  ModuleOp module = function->getParentOfType<ModuleOp>();
  bytes.resize(bytes.size() + 64); // vector loads may read past the end
  StringAttr content = b.getStringAttr(bytes);
  LLVM::GlobalOp global;
  for (auto present : module.getOps<LLVM::GlobalOp>())
    if (present.getValueOrNull() == content)
      global = present;
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    int64_t count = std::distance(module.getOps<LLVM::GlobalOp>().begin(),
                                  module.getOps<LLVM::GlobalOp>().end());
    global = b.create<LLVM::GlobalOp>(
        l.loc, LLVM::LLVMArrayType::get(b.getI8Type(), content.size()), /*isConstant=*/true,
        LLVM::Linkage::Internal, "pst.table." + std::to_string(count), content, 64);
  }
  return b.create<LLVM::AddressOfOp>(l.loc, LLVM::LLVMPointerType::get(b.getContext()), global.getSymName());
}

//===--- joins ------------------------------------------------------------------------===//

LaneValue KernelEmitter::emitConcat(ConcatOp op, ArrayRef<Index> at) {
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  Type element = typeOf(op.getResult()).getElementType();
  std::function<LaneValue(size_t, Index)> from = [&](size_t number, Index index) -> LaneValue {
    Value input = op.getInputs()[number];
    SmallVector<Index> inner(at);
    inner[axis] = index;
    if (number + 1 == op.getInputs().size())
      return emit(input, inner);
    Value size = extent(input, axis);
    Index rest = m.add(index, m.uniform(l.sub(l.i64(0), size)));
    if (index.uniform())
      return branch(l.cmp(CmpIPredicate::slt, index.base, size), element, anyLanes(at),
                    [&] { return emit(input, inner); }, [&] { return from(number + 1, rest); });
    Value here = l.cmp(CmpIPredicate::slt, m.numbers(index), size);
    inner[axis] = m.clamp(index, size);
    LaneValue mine = emit(input, inner);
    Value next = m.numbers(rest);
    return l.select(l.wrap(here, b.getI1Type()), mine,
                    from(number + 1, m.of(l.maxS(next, l.integerLike(next, 0)))));
  };
  return from(0, at[axis]);
}

LaneValue KernelEmitter::emitStack(StackOp op, ArrayRef<Index> at) {
  ArrayRef<Index> inner = at.drop_front();
  auto number = at[0].uniform() ? Lanes::constantOf(at[0].base) : std::nullopt;
  const size_t count = op.getInputs().size();
  if (number && *number >= 0 && *number < static_cast<int64_t>(count))
    return emit(op.getInputs()[*number], inner);
  Type element = typeOf(op.getResult()).getElementType();
  std::function<LaneValue(size_t)> from = [&](size_t i) -> LaneValue {
    if (i + 1 == count)
      return emit(op.getInputs()[i], inner);
    if (at[0].uniform())
      return branch(l.cmp(CmpIPredicate::sle, at[0].base, l.i64(static_cast<int64_t>(i))), element,
                    anyLanes(at), [&] { return emit(op.getInputs()[i], inner); },
                    [&] { return from(i + 1); });
    Value numbers = m.numbers(at[0]);
    Value here = l.cmp(CmpIPredicate::sle, numbers, l.integerLike(numbers, static_cast<int64_t>(i)));
    LaneValue mine = emit(op.getInputs()[i], inner);
    return l.select(l.wrap(here, b.getI1Type()), mine, from(i + 1));
  };
  return from(0);
}

LaneValue KernelEmitter::emitPlace(PlaceOp op, ArrayRef<Index> at) {
  NamedTensorType type = typeOf(op.getResult());
  SmallVector<Index> moved(at), clamped(at);
  Value inside;
  bool uniform = true;
  for (auto [name, offset] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getAt())) {
    const int64_t axis = type.axisIndex(name);
    moved[axis] = m.add(at[axis], m.uniform(l.sub(l.i64(0), scalar(offset).value)));
    uniform &= at[axis].uniform();
    clamped[axis] = bordered(moved[axis], extent(op.getPatch(), axis), Border::constant, inside);
  }
  // Along the other axes the patch starts at 0, and may end early.
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const Axis &patch = typeOf(op.getPatch()).getAxes()[axis], &base = type.getAxes()[axis];
    const bool named = llvm::any_of(op.getOver().getAsRange<StringAttr>(),
                                    [&](StringAttr name) { return name.strref() == base.name; });
    if (named || (patch.isStatic() && patch.extent == base.extent))
      continue;
    uniform &= at[axis].uniform();
    clamped[axis] = bordered(at[axis], extent(op.getPatch(), axis), Border::constant, inside);
  }
  if (!inside)
    return emit(op.getPatch(), at);
  if (uniform)
    return branch(inside, type.getElementType(), anyLanes(at), [&] { return emit(op.getPatch(), moved); },
                  [&] { return emit(op.getBase(), at); });
  // A patch without elements has none to clamp to.
  Value isThere;
  for (auto [axis, a] : llvm::enumerate(typeOf(op.getPatch()).getAxes())) {
    if (a.isStatic())
      continue;
    Value some = l.cmp(CmpIPredicate::sgt, extent(op.getPatch(), static_cast<int64_t>(axis)), l.i64(0));
    isThere = isThere ? l.andInt(isThere, some) : some;
  }
  auto either = [&] { return l.select(l.wrap(inside, b.getI1Type()), emit(op.getPatch(), clamped), emit(op.getBase(), at)); };
  if (!isThere)
    return either();
  return branch(isThere, type.getElementType(), anyLanes(at), either, [&] { return emit(op.getBase(), at); });
}

//===--- resampling -----------------------------------------------------------------===//

LaneValue KernelEmitter::emitResample(ResampleOp op, ArrayRef<Index> at) {
  if (auto streamed = emitVertical(op, at))
    return *streamed;
  NamedTensorType type = typeOf(op.getResult());
  const int64_t axis = type.axisIndex(op.getAxis());
  const bool pillow = op.getNumerics() == Numerics::pillow;
  Type element = type.getElementType();
  Type sumType = pillow ? Type(b.getI32Type()) : b.getF64Type();
  const bool vector = l.lanes > 1 && anyLanes(at);
  Index first = m.of(emit(op.getStart(), {at[axis]}).value);
  first = m.of(l.cast(CastMode::value, l.wrap(m.numbers(first), b.getI32Type()), b.getI64Type()).value);
  LaneValue zero = pillow ? l.constant(b.getI32IntegerAttr(1 << 21)) : l.constant(b.getF64FloatAttr(0));
  Value init = vector ? l.splat(zero.value) : zero.value;
  Value taps = extent(op.getWeights(), 1);
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
    LaneValue weight = emit(op.getWeights(), {at[axis], tap});
    LaneValue value = emit(op.getInput(), inner);
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
