// SPDX-License-Identifier: Apache-2.0
//
// A block makes some rows of a sample's outputs.
//
// The mapping "tile": blocks take tiles of output rows (`tile = {t = 1, h = 16}`: of one frame, 16
// rows), and keep the rows of what is stored that these read in shared memory, so many that fit
// (`rows`). A block halves its tile until they do; where those of a single row do not, it computes
// them where they are read.
#include "compiler/Conversion/KernelToGpu/GpuEmitter.h"
#include "compiler/Conversion/Scratch.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using penstock::analysis::RowStep;

//===--- the rows that an op reads -----------------------------------------===//

/// Of rows that may lie outside of `size`, those that are read.
GpuEmitter::RowRange GpuEmitter::insideOf(RowRange rows, Value size, Border border) {
  Value zero = x.constant(0), one = x.constant(1);
  if (border == Border::constant || border == Border::edge)
    return {x.max(x.min(rows.low, x.sub(size, one)), zero), x.min(x.max(rows.high, one), size)};
  // Mirrored at either end; one row more where the edge is not repeated.
  return {x.max(x.min(rows.low, x.sub(x.mul(size, x.constant(2)), x.add(rows.high, one))), zero),
          x.min(x.max(rows.high, x.sub(one, rows.low)), size)};
}

static std::optional<size_t> placeIn(ArrayAttr over, StringRef axis) {
  for (auto [place, name] : llvm::enumerate(over.getAsRange<StringAttr>()))
    if (name == axis)
      return place;
  return std::nullopt;
}

GpuEmitter::RowRange GpuEmitter::rowsRead(const RowStep &step, RowRange rows) {
  const std::string &axis = typeOf(step.op->getResult(0)).getAxes()[step.axis].name;
  auto extentOfRead = [&] { return extent(step.read, step.readAxis); };
  auto hull = [&](Value a, Value c) {
    return RowRange{x.min(a, c), x.add(x.max(a, c), x.constant(1))};
  };
  return llvm::TypeSwitch<Operation *, RowRange>(step.op)
      .Case([&](ViewOp op) {
        AffineExpr expr = op.getMap().getResult(static_cast<unsigned>(step.readAxis));
        if (llvm::isa<AffineDimExpr>(expr))
          return rows;
        SmallVector<Value> symbols, dims(op.getMap().getNumDims(), x.constant(0));
        for (Value symbol : op.getSymbols())
          symbols.push_back(asIndex(symbol));
        dims[step.axis] = rows.low;
        Value first = x.affine(expr, dims, symbols);
        dims[step.axis] = x.sub(rows.high, x.constant(1));
        return hull(first, x.affine(expr, dims, symbols));
      })
      .Case([&](PadOp op) {
        auto place = placeIn(op.getOver(), axis);
        if (!place)
          return rows;
        Value low = asIndex(op.getLow()[*place]);
        return insideOf({x.sub(rows.low, low), x.sub(rows.high, low)}, extentOfRead(),
                        op.getBorder());
      })
      .Case([&](WindowOp op) {
        auto place = placeIn(op.getOver(), axis);
        if (!place)
          return rows;
        return insideOf({x.add(rows.low, x.constant(op.getLow()[*place])),
                         x.add(rows.high, x.constant(op.getHigh()[*place]))},
                        extentOfRead(), op.getBorder());
      })
      .Case([&](ResampleOp op) {
        if (op.getAxis() != axis)
          return rows;
        auto start = [&](Value row) {
          return x.toIndex(cast(element(op.getStart(), row), b.getI64Type()));
        };
        RowRange taken = hull(start(rows.low), start(x.sub(rows.high, x.constant(1))));
        taken.high = x.add(taken.high, x.sub(extent(op.getWeights(), 1), x.constant(1)));
        return RowRange{x.max(taken.low, x.constant(0)), x.min(taken.high, extentOfRead())};
      })
      .Default([&](Operation *) { return rows; });
}

llvm::MapVector<Value, GpuEmitter::RowRange>
GpuEmitter::rowsStored(const analysis::RowRegions &regions, RowRange tile) {
  llvm::DenseMap<Value, RowRange> needed;
  auto add = [&](Value value, RowRange rows) {
    auto [found, isNew] = needed.insert({value, rows});
    if (!isNew)
      found->second = {x.min(found->second.low, rows.low), x.max(found->second.high, rows.high)};
  };
  for (auto [output, axis] : regions.outputs)
    add(output, tile);
  for (const RowStep &step : regions.steps)
    add(step.read, rowsRead(step, needed[step.op->getResult(0)]));
  llvm::MapVector<Value, RowRange> stored;
  for (auto [value, axis] : regions.stored)
    stored.insert({value, needed[value]});
  return stored;
}

//===--- shared memory -----------------------------------------------------===//

GpuEmitter::Buffer GpuEmitter::sharedRows(Value tensor, int64_t rowAxis, ArrayRef<int64_t> single,
                                          int64_t rows) {
  NamedTensorType type = typeOf(tensor);
  Buffer buffer;
  buffer.strides.assign(type.getRank(), x.constant(0));
  buffer.origin.assign(type.getRank(), Value());
  buffer.alignment = sharedAlign;
  int64_t stride = 1;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    if (llvm::is_contained(single, axis))
      continue;
    buffer.strides[axis] = x.constant(stride);
    stride *= axis == rowAxis ? rows : type.getAxes()[axis].extent;
  }
  auto memory =
      MemRefType::get({ShapedType::kDynamic}, type.getElementType(), MemRefLayoutAttrInterface(),
                      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup));
  buffer.memory =
      b.create<memref::ViewOp>(loc, memory, shared, x.constant(sharedUsed), x.constant(stride));
  sharedUsed = llvm::alignTo(sharedUsed + stride * scalarBytes(type.getElementType()), sharedAlign);
  return buffer;
}

//===--- the tiles ---------------------------------------------------------===//

/// The parts of `rows`, and of single places of other axes, of a tensor.
GpuEmitter::Part GpuEmitter::partOf(Value tensor, int64_t rowAxis, RowRange rows,
                                    const Places &singles) {
  Part part = {};
  part.low.assign(typeOf(tensor).getRank(), Value());
  part.count.assign(typeOf(tensor).getRank(), Value());
  part.low[rowAxis] = rows.low;
  part.count[rowAxis] = x.sub(rows.high, rows.low);
  for (auto [regions, place] : singles) {
    const auto *output = regions->outputs.find(tensor);
    const int64_t axis =
        output != regions->outputs.end() ? output->second : regions->stored.lookup(tensor);
    part.low[axis] = place;
    part.count[axis] = x.constant(1);
  }
  return part;
}

/// The rows of one tile, or as many of them as fit; returns the row after them.
void GpuEmitter::tile(const analysis::RowRegions &rows, RowRange now, const Places &singles) {
  auto fillOutputs = [&](bool isSingle) {
    auto values = llvm::cast<ReturnOp>(kernel.getBody().front().getTerminator()).getValues();
    for (auto [number, output] : llvm::enumerate(values))
      if (rows.outputs.contains(output)) {
        Part part = partOf(output, rows.outputs.lookup(output), now, singles);
        part.isSingle = isSingle;
        fill(output, outputs[number], part);
        tiled.insert(output);
      }
  };
  auto op = b.create<scf::IfOp>(loc, fits(rows, now), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  {
    IndexMath::Scope scope(x);
    b.setInsertionPointToStart(op.thenBlock());
    const auto ranges = rowsStored(rows, now);
    for (auto [value, axis] : rows.stored) {
      Part part = partOf(value, axis, ranges.lookup(value), singles);
      Buffer buffer = sharedBuffers.lookup(value);
      buffer.origin = part.low;
      fill(value, buffer, part);
      barrier();
      buffers[value] = buffer;
    }
    fillOutputs(/*isSingle=*/false);
    barrier(); // the next rows go where these were
    for (auto [value, axis] : rows.stored)
      buffers.erase(value);
  }
  IndexMath::Scope scope(x);
  b.setInsertionPointToStart(op.elseBlock());
  fillOutputs(/*isSingle=*/true); // seldom: short code
}

Value GpuEmitter::fits(const analysis::RowRegions &rows, RowRange now) {
  Value all;
  for (auto [value, range] : rowsStored(rows, now))
    all = x.both(all, x.compare(arith::CmpIPredicate::sle, x.sub(range.high, range.low),
                                x.constant(storedRows)));
  return all;
}

/// The rows of a tile, halved until what they read fits.
Value GpuEmitter::halved(const analysis::RowRegions &rows, Value low, Value high) {
  auto loop = b.create<scf::WhileOp>(loc, TypeRange(b.getIndexType()), ValueRange(high));
  OpBuilder::InsertionGuard guard(b);
  {
    IndexMath::Scope scope(x);
    Block *before = b.createBlock(&loop.getBefore(), {}, b.getIndexType(), loc);
    Value end = before->getArgument(0), count = x.sub(end, low);
    Value isLarge = b.create<arith::XOrIOp>(loc, fits(rows, {low, end}),
                                            b.create<arith::ConstantIntOp>(loc, 1, 1));
    b.create<scf::ConditionOp>(
        loc, x.both(x.compare(arith::CmpIPredicate::sgt, count, x.constant(1)), isLarge),
        before->getArguments());
  }
  IndexMath::Scope scope(x);
  Block *after = b.createBlock(&loop.getAfter(), {}, b.getIndexType(), loc);
  Value count = x.sub(after->getArgument(0), low);
  b.create<scf::YieldOp>(loc, x.add(low, x.floorDiv(x.add(count, x.constant(1)), x.constant(2))));
  return loop.getResult(0);
}

LogicalResult GpuEmitter::tiles() {
  auto schedule = *kernel.getSchedule();
  auto isStored = [](Operation *op) {
    return op->getAttr("schedule") == StringAttr::get(op->getContext(), "shared");
  };
  storedRows = schedule.getAs<IntegerAttr>("rows").getInt();
  std::optional<analysis::RowRegions> rows;
  std::vector<analysis::RowRegions> others; // of axes of which a tile has one place
  int64_t height = 0;
  for (NamedAttribute entry : schedule.getAs<DictionaryAttr>("tile")) {
    const int64_t count = llvm::cast<IntegerAttr>(entry.getValue()).getInt();
    auto regions = analysis::rowRegions(kernel, entry.getName(), isStored);
    if (!regions || regions->stored.empty() || (count == 1 && !regions->isSame) ||
        (count > 1 && rows))
      return kernel.emitError()
             << "has the mapping \"tile\", and nobody can tell which rows its outputs read along `"
             << entry.getName().getValue() << "`";
    for (const auto &values : {regions->outputs, regions->stored})
      for (auto [value, axis] : values)
        if (vectorOf(value)[axis] > 1)
          return kernel.emitError()
                 << "has the mapping \"tile\", and a thread makes several elements along `"
                 << entry.getName().getValue() << "`, an axis of the tile";
    if (count == 1) {
      others.push_back(std::move(*regions));
    } else {
      rows = std::move(regions);
      height = count;
    }
  }
  if (!rows)
    return kernel.emitError(
        "has the mapping \"tile\", whose `tile` is to name an axis and more than one row of it");
  shared = b.create<gpu::DynamicSharedMemoryOp>(
      loc,
      MemRefType::get({ShapedType::kDynamic}, b.getI8Type(), MemRefLayoutAttrInterface(),
                      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup)));
  for (auto [value, axis] : rows->stored) {
    SmallVector<int64_t> single;
    for (const analysis::RowRegions &other : others)
      single.push_back(other.stored.lookup(value));
    for (auto [number, a] : llvm::enumerate(typeOf(value).getAxes()))
      if (!a.isStatic() && static_cast<int64_t>(number) != axis &&
          !llvm::is_contained(single, number))
        return kernel.emitError()
               << "has the mapping \"tile\", and stores rows whose extent along `" << a.name
               << "` only a sample knows";
    sharedBuffers[value] = sharedRows(value, axis, single, storedRows);
  }
  function->setAttr("pipe.shared", b.getI64IntegerAttr(sharedUsed));
  // Tiles are numbered, rows last.
  auto [output, axis] = rows->outputs.front();
  Value extentOfRows = extent(output, axis), many = x.constant(height);
  Value perPlace = x.floorDiv(x.add(extentOfRows, x.constant(height - 1)), many), count = perPlace;
  SmallVector<Value> extents;
  for (const analysis::RowRegions &other : others) {
    extents.push_back(extent(output, other.outputs.lookup(output)));
    count = x.mul(count, extents.back());
  }
  if (auto known = IndexMath::constantOf(count))
    function->setAttr("pipe.blocks", b.getI64IntegerAttr(*known));
  Value block = b.create<gpu::BlockIdOp>(loc, gpu::Dimension::x),
        blocks = b.create<gpu::GridDimOp>(loc, gpu::Dimension::x);
  auto loop = b.create<scf::ForOp>(loc, block, count, blocks);
  OpBuilder::InsertionGuard guard(b);
  IndexMath::Scope scope(x);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  auto remainder = [&](Value number, Value size) {
    return b.createOrFold<arith::RemUIOp>(loc, number, size);
  };
  Value number = loop.getInductionVar();
  Value low = x.mul(others.empty() ? number : remainder(number, perPlace), many);
  Value rest = b.createOrFold<arith::DivUIOp>(loc, number, perPlace);
  Places singles;
  for (auto [other, size] : llvm::zip(others, extents)) {
    singles.push_back({&other, others.size() == 1 ? rest : remainder(rest, size)});
    rest = b.createOrFold<arith::DivUIOp>(loc, rest, size);
  }
  Value high = x.min(x.add(low, many), extentOfRows);
  auto steps = b.create<scf::WhileOp>(loc, TypeRange(b.getIndexType()), ValueRange(low));
  Block *before = b.createBlock(&steps.getBefore(), {}, b.getIndexType(), loc);
  b.create<scf::ConditionOp>(
      loc, b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, before->getArgument(0), high),
      before->getArguments());
  IndexMath::Scope inside(x);
  Block *after = b.createBlock(&steps.getAfter(), {}, b.getIndexType(), loc);
  Value first = after->getArgument(0), next = halved(*rows, first, high);
  tile(*rows, {first, next}, singles);
  b.create<scf::YieldOp>(loc, next);
  return success();
}
