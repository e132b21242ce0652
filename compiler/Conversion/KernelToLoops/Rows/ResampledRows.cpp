// SPDX-License-Identifier: Apache-2.0
//
// Resampling along rows, then across them.
//
// A horizontal and a vertical pass become one function that makes one output
// row (RowFunction.cpp); the kernel's loops read elements of that row.
#include "compiler/Conversion/KernelToLoops/Rows/ResampledRows.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Dialect/RowStreams.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/abi/kernel.h"
#include <cstddef>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
/// Rows of pictures that lie in memory.
struct DenseRows {
  Value first;              ///< address of their first element
  SmallVector<Value> apart; ///< bytes from one to the next: along axes in front, then of rows
};
} // namespace

/// The rows of u8[.., rows, columns, channels], if columns are `channels` bytes apart and
/// channels one.
static std::optional<DenseRows> denseRows(const Site &site, Value tensor, int64_t columns,
                                          int64_t channels) {
  auto [ctx, b, l, m] = site.parts();
  // The indices of probes: the next row, which may lie as far away as a sample says; lanes along
  // columns and channels.
  const int64_t rank = typeOf(tensor).getRank();
  SmallVector<Index> at(rank, m.constant(0));
  SmallVector<SmallVector<Index>> probes(rank, at);
  for (int64_t axis = 0; axis < rank; ++axis)
    if (axis < columns)
      probes[axis][axis] = m.constant(1);
    else
      probes[axis][axis].stride = 1;
  while (!site.buffer(tensor)) {
    auto view = tensor.getDefiningOp<ViewOp>();
    if (!view)
      return std::nullopt;
    SmallVector<Index> symbols;
    for (Value symbol : view.getSymbols())
      symbols.push_back(m.uniform(scalarOf(site, symbol).value));
    auto apply = [&](SmallVector<Index> &indices) {
      SmallVector<Index> inner;
      for (AffineExpr expr : view.getMap().getResults())
        inner.push_back(m.affine(expr, indices, symbols));
      indices = inner;
    };
    apply(at);
    for (auto &probe : probes)
      apply(probe);
    tensor = view.getInput();
  }
  const Buffer &buffer = *site.buffer(tensor);
  if (!buffer.element.isUnsignedInteger(8))
    return std::nullopt;
  Value offset = l.i64(0);
  SmallVector<Value> apart(columns, l.i64(0));
  SmallVector<int64_t> bytes(rank, 0);
  for (size_t axis = 0; axis < at.size(); ++axis) {
    offset = l.add(offset, l.mul(at[axis].base, buffer.strides[axis]));
    for (int64_t probe = 0; probe < rank; ++probe) {
      const Index &index = probes[probe][axis];
      if (!index.affine())
        return std::nullopt;
      if (probe < columns)
        apart[probe] =
            l.add(apart[probe], l.mul(l.sub(index.base, at[axis].base), buffer.strides[axis]));
      else if (index.stride && !buffer.known[axis])
        return std::nullopt;
      else if (index.stride)
        bytes[probe] += index.stride * *buffer.known[axis];
    }
  }
  if (bytes[columns] != channels || (rank > columns + 1 && bytes[columns + 1] != 1))
    return std::nullopt;
  return DenseRows{m.address(buffer.pointer, offset), apart};
}

static void setField(const Site &site, const RowStream &stream, RowField field, Value value) {
  auto [ctx, b, l, m] = site.parts();
  m.storePlain(value, m.address(stream.descriptor, l.i64(8 * static_cast<int64_t>(field))));
}

/// Sets up the horizontal half of a stream.
LogicalResult penstock::conversion::prepareRing(const Site &site, ResampleOp op) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  const int64_t place = type.axisIndex(op.getAxis()); // behind that of the rows
  const Axis &columns = type.getAxes()[place];
  const int64_t channels = place + 1 < type.getRank() ? type.getAxes()[place + 1].extent : 1;
  auto source = denseRows(site, op.getInput(), place, channels);
  if (!source)
    return op.emitOpError("has the schedule \"ring\" (C8), and its rows are not dense in memory");
  RowStream stream;
  stream.shape = {channels, columns.extent, l.has.registerBytes,
                  l.has.dotQuads && l.has.permuteBytes};
  const RowShape &shape = stream.shape;
  const RowForm dense{shape, true}, sparse{shape, false};
  auto taps = packTaps(site, op.getWeights(), op.getStart(), shape, shape.plane());
  auto descriptor = scratchBytes(site, 8 * static_cast<int64_t>(RowField::count), {});
  const int64_t blocks = shape.plane() / shape.block();
  auto offsets =
      scratchBytes(site, blocks * std::max(dense.offsetBytes(), sparse.offsetBytes()), {});
  // Shuffles, and digits for at most as many steps as taps.
  const int64_t lines = blocks * sparse.vectors() * shape.vectorBytes;
  auto tables = scratchBytes(site, lines * (2 + shape.digits()), TensorAxis{op.getWeights(), 1});
  if (failed(taps) || failed(descriptor) || failed(offsets) || failed(tables))
    return failure();
  stream.descriptor = *descriptor;
  Value reach = expandTaps(site, *taps, dense, *offsets, *tables);
  auto fits = [&](Value count) { // the first `count` taps of all lanes, in their windows
    Value last = l.mul(l.sub(count, l.i64(1)), l.i64(shape.channels));
    last = b.create<arith::TruncIOp>(l.loc, b.getI32Type(), last);
    return l.cmp(CmpIPredicate::slt, l.add(reach, last), l.i32(dense.windowBytes()));
  };
  auto variant = [&](RowVariant number) { return l.i64(static_cast<int64_t>(number)); };
  Value steps = taps->steps, chosen = steps;
  Value many = l.cmp(CmpIPredicate::sgt, steps, l.i64(shape.mostUnrolled()));
  chosen = l.pick(many, variant(RowVariant::dense), chosen);
  if (dense.shuffles() == 2) {
    Value two = l.cmp(CmpIPredicate::eq, steps, l.i64(2));
    chosen = l.pick(l.andInt(two, fits(taps->length)), variant(RowVariant::shared), chosen);
  }
  if (shape.channels < 4 || shape.quads) { // else the two forms are one
    Value dense = fits(l.minS(taps->length, l.i64(shape.taps())));
    chosen = l.pick(dense, chosen, variant(RowVariant::sparse));
    auto otherwise = b.create<scf::IfOp>(l.loc, dense, true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(otherwise.elseBlock());
    expandTaps(site, *taps, sparse, *offsets, *tables);
  }
  setField(site, stream, RowField::stop,
           m.loadPlain(LLVM::LLVMPointerType::get(b.getContext()),
                       m.address(ctx.args, l.i64(offsetof(pst_kernel_args, stop)))));
  stream.source = source->first;
  stream.apart.append(source->apart.begin(), std::prev(source->apart.end()));
  setField(site, stream, RowField::source, source->first);
  setField(site, stream, RowField::sourceStride, source->apart.back());
  setField(site, stream, RowField::rows, extent(site, op.getResult(), place - 1));
  setField(site, stream, RowField::offsets, *offsets);
  setField(site, stream, RowField::tables, *tables);
  setField(site, stream, RowField::steps, taps->steps);
  setField(site, stream, RowField::variant, chosen);
  ctx.rings[op.getResult()] = stream;
  return success();
}

static void emptyRing(const Site &site, Value tags, Value size) {
  auto [ctx, b, l, m] = site.parts();
  forLoop(site, l.i64(0), size, 1,
          [&](Value i) { m.storePlain(l.i64(-1), m.address(tags, l.shl(i, 3))); });
}

/// Memory of the ring: a power of two of rows, above what one output row reads.
static LogicalResult openRing(const Site &site, const RowStream &stream, ResampleOp vertical) {
  auto [ctx, b, l, m] = site.parts();
  Value taps = extent(site, vertical.getWeights(), 1);
  const int64_t row = stream.shape.ringRow(), atOnce = stream.shape.rowsAtOnce();
  // Twice taps + atOnce + 1 holds the next power of two.
  auto spare = scratchBytes(site, 2 * (atOnce + 2) * (row + 8), {});
  auto pointer = scratchBytes(site, 2 * (row + 8), TensorAxis{vertical.getWeights(), 1});
  if (failed(pointer) || failed(spare))
    return failure();
  // `spare` comes first, so that the ring may start there and run on.
  Value start = *spare;
  auto grown = b.create<scf::WhileOp>(
      l.loc, TypeRange{b.getI64Type()}, ValueRange{l.i64(4)},
      [&](OpBuilder &, Location, ValueRange state) {
        Value small = l.cmp(CmpIPredicate::slt, state[0], l.add(taps, l.i64(atOnce + 1)));
        b.create<scf::ConditionOp>(l.loc, small, state);
      },
      [&](OpBuilder &, Location, ValueRange state) {
        b.create<scf::YieldOp>(l.loc, ValueRange{l.shl(state[0], 1)});
      });
  Value size = grown.getResult(0);
  setField(site, stream, RowField::mask, l.sub(size, l.i64(1)));
  setField(site, stream, RowField::tags, start);
  setField(site, stream, RowField::ring,
           m.address(start, l.andInt(l.add(l.shl(size, 3), l.i64(63)), l.i64(-64))));
  emptyRing(site, start, size);
  return success();
}

/// The vertical half of a stream.
LogicalResult penstock::conversion::prepareVertical(const Site &site, ResampleOp op) {
  auto [ctx, b, l, m] = site.parts();
  auto found = ctx.rings.find(op.getInput());
  if (found == ctx.rings.end() || found->second.result || !canReadRows(op))
    return success();
  NamedTensorType type = typeOf(op.getResult());
  const Axis &rows = type.getAxes()[type.axisIndex(op.getAxis())];
  RowStream stream = found->second;
  const RowShape &shape = stream.shape;
  if (failed(openRing(site, stream, op)))
    return failure();
  auto taps = packTaps(site, op.getWeights(), op.getStart(), shape, rows.extent);
  auto result = scratchBytes(site, shape.elements(), {});
  if (failed(taps) || failed(result))
    return failure();
  setField(site, stream, RowField::rowStarts, taps->starts);
  setField(site, stream, RowField::rowWords, taps->words);
  setField(site, stream, RowField::rowSteps, taps->steps);
  setField(site, stream, RowField::rowLength, taps->length);
  setField(site, stream, RowField::rowOutputs, l.i64(taps->outputs));
  setField(site, stream, RowField::result, *result);
  setField(site, stream, RowField::current, l.i64(-1));
  setField(site, stream, RowField::picture, l.i64(0));
  stream.result = *result;
  found->second.result = *result;
  // Kernels of one shape share it.
  const std::string name =
      ("pst.row" + llvm::Twine(shape.channels) + "x" + llvm::Twine(shape.columns) + "x" +
       llvm::Twine(shape.vectorBytes) + (shape.quads ? "q" : ""))
          .str();
  stream.function = rowFunction(l, ctx.function, name, shape);
  ctx.verticals[op.getResult()] = stream;
  return success();
}

static Value loadField(const Site &site, const RowStream &stream, RowField field, Type type) {
  auto [ctx, b, l, m] = site.parts();
  return m.loadPlain(type, m.address(stream.descriptor, l.i64(8 * static_cast<int64_t>(field))));
}

/// Lets a stream go on with another picture, where the ring has rows of one.
static void changePicture(const Site &site, const RowStream &stream, ArrayRef<Index> at,
                          Value picture) {
  auto [ctx, b, l, m] = site.parts();
  Value isOther =
      l.cmp(CmpIPredicate::ne, loadField(site, stream, RowField::picture, b.getI64Type()), picture);
  auto change = b.create<scf::IfOp>(l.loc, isOther, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(change.thenBlock());
  Value begin = l.i64(0);
  for (auto [index, apart] : llvm::zip(at, stream.apart))
    begin = l.add(begin, l.mul(index.base, apart));
  setField(site, stream, RowField::source, m.address(stream.source, begin));
  setField(site, stream, RowField::picture, picture);
  Value tags = loadField(site, stream, RowField::tags, LLVM::LLVMPointerType::get(b.getContext()));
  Value mask = loadField(site, stream, RowField::mask, b.getI64Type());
  emptyRing(site, tags, l.add(mask, l.i64(1)));
}

std::optional<LaneValue> penstock::conversion::emitVertical(const Site &site, ResampleOp op,
                                                            ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  auto found = ctx.verticals.find(op.getResult());
  const auto axis = static_cast<size_t>(typeOf(op.getResult()).axisIndex(op.getAxis()));
  if (found == ctx.verticals.end() ||
      !llvm::all_of(at.take_front(axis + 1), [](const Index &index) { return index.uniform(); }))
    return std::nullopt;
  RowStream &stream = found->second;
  Value row = at[axis].base, picture = l.i64(0), number = row;
  for (size_t outer = 0; outer < axis; ++outer)
    picture = l.add(l.mul(picture, extent(site, op.getResult(), outer)), at[outer].base);
  if (axis > 0)
    number = l.add(l.mul(picture, extent(site, op.getResult(), axis)), row);
  // The channels of some lanes come one after the other: one question will do.
  if (axis > 0 || stream.madeFor != row || stream.madeIn != b.getInsertionBlock()) {
    Value current = loadField(site, stream, RowField::current, b.getI64Type());
    auto make = b.create<scf::IfOp>(l.loc, l.cmp(CmpIPredicate::ne, current, number), false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(make.thenBlock());
    if (axis > 0)
      changePicture(site, stream, at.take_front(axis), picture);
    b.create<func::CallOp>(l.loc, stream.function, ValueRange{stream.descriptor, row});
    setField(site, stream, RowField::current, number);
  }
  stream.madeFor = row;
  stream.madeIn = b.getInsertionBlock();
  Buffer buffer;
  buffer.pointer = stream.result;
  buffer.element = typeOf(op.getResult()).getElementType();
  for (int64_t stride : {int64_t{1}, stream.shape.plane()}) {
    if (buffer.strides.size() + axis + 1 == at.size())
      break;
    buffer.strides.push_back(l.i64(stride));
    buffer.known.push_back(stride);
  }
  noteRead(site, at);
  return m.load(buffer, at.drop_front(axis + 1));
}
