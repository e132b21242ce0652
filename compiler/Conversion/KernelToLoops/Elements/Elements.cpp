// SPDX-License-Identifier: Apache-2.0
//
// The element of a tensor at given indices.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/ByteChains.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Rows/ResampledRows.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi/kernel.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static LaneValue emitConstant(const Site &site, ConstantOp op, ArrayRef<Index> at);
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
  const int64_t offset = static_cast<int64_t>(argument.getArgNumber() * sizeof(pst_tensor) +
                                              offsetof(pst_tensor, extent)) +
                         static_cast<int64_t>(sizeof(int64_t)) * axis;
  return m.loadPlain(b.getI64Type(), m.address(ctx.tensors, l.i64(offset)));
}

/// What a channel reads may be what another reads too, unless its number is among
/// the indices.
void penstock::conversion::noteRead(const Site &site, ArrayRef<Index> at) {
  if (site.readsShared)
    *site.readsShared |= llvm::none_of(at, [&](const Index &index) {
      return index.uniform() && Lanes::constantOf(index.base) == site.channel;
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
        if (site.readsShared)
          *site.readsShared = true; // coordinates
        return emitGather(site, gather, at);
      })
      .Case([&](ChooseOp choose) {
        return emitChosen(site, choose, llvm::cast<OpResult>(tensor).getResultNumber(), at);
      })
      .Default(
          [&](Operation *) -> LaneValue { llvm_unreachable("not admitted at the top level"); });
}

//===--- points ---------------------------------------------------------------------===//

void penstock::conversion::bindCoordinates(const Site &site, Block &body, size_t first,
                                           ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  for (auto [axis, index] : llvm::enumerate(at)) {
    ctx.scalars.erase(body.getArgument(first + axis));
    ctx.coordinates[body.getArgument(first + axis)] = index;
  }
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
    double value =
        llvm::isa<FloatAttr>(attribute) ? llvm::cast<FloatAttr>(attribute).getValueAsDouble()
        : isUnsigned(element) || element.isInteger(1) ? static_cast<double>(bits.getZExtValue())
                                                      : static_cast<double>(bits.getSExtValue());
    range.nan |= value != value;
    const Interval one =
        llvm::isa<FloatAttr>(attribute) ? Interval::of(value, value) : whole(value);
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
  first =
      m.of(l.cast(CastMode::value, l.wrap(m.numbers(first), b.getI32Type()), b.getI64Type()).value);
  LaneValue zero =
      pillow ? l.constant(b.getI32IntegerAttr(1 << 21)) : l.constant(b.getF64FloatAttr(0));
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
