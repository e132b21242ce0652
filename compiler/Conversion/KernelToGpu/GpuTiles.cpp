// SPDX-License-Identifier: Apache-2.0
//
// A block makes some rows of a sample's outputs.
//
// The mapping "tile": blocks take tiles of output rows (`tile = {t = 1, h = 16}`: of one frame, 16
// rows), and keep the rows of what is stored that these read in shared memory, so many that fit
// (`rows`). A block halves its tile until they do; where those of a single row do not, it computes
// them where they are read.
#include "compiler/Conversion/KernelToGpu/GpuTiles.h"
#include "compiler/Conversion/KernelToGpu/GpuCopies.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuRowTaps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using penstock::analysis::RowRegions;

namespace {
/// Axes of which a tile has one place.
using Places = SmallVector<std::pair<const RowRegions *, Value>>;

/// The rows, places and memory of tiles.
struct Tiling {
  RowRegions rows;
  std::vector<RowRegions> others; ///< of axes of which a tile has one place
  int64_t height = 0;             ///< of a tile, in rows
  int64_t storedRows = 0;         ///< that shared memory has room for
  int64_t sharedUsed = 0;         ///< bytes
  GpuBuffers shared;              ///< of what is stored for a tile
  GpuRowTables rowTables;
  GpuCopies copies;
};
} // namespace

//===--- shared memory -----------------------------------------------------===//

/// Rows of a value there is room for: its own number, or the kernel's.
static int64_t roomOf(const Tiling &tiling, Value value) {
  auto own = value.getDefiningOp()->getAttrOfType<IntegerAttr>("rows");
  return own ? own.getInt() : tiling.storedRows;
}

static GpuBuffer sharedRows(const GpuSite &site, Tiling &tiling, Value shared, Value tensor,
                            int64_t rowAxis, ArrayRef<int64_t> single) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(tensor);
  GpuBuffer buffer;
  buffer.strides.assign(type.getRank(), x.constant(0));
  buffer.origin.assign(type.getRank(), Value());
  buffer.alignment = sharedAlign;
  int64_t stride = 1;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    if (llvm::is_contained(single, axis))
      continue;
    buffer.strides[axis] = x.constant(stride);
    stride *= axis == rowAxis ? roomOf(tiling, tensor) : type.getAxes()[axis].extent;
  }
  auto memory =
      MemRefType::get({ShapedType::kDynamic}, type.getElementType(), MemRefLayoutAttrInterface(),
                      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup));
  buffer.memory = b.create<memref::ViewOp>(site.loc, memory, shared, x.constant(tiling.sharedUsed),
                                           x.constant(stride));
  tiling.sharedUsed =
      llvm::alignTo(tiling.sharedUsed + stride * scalarBytes(type.getElementType()), sharedAlign);
  return buffer;
}

//===--- the tiles ---------------------------------------------------------===//

/// The parts of `rows`, and of single places of other axes, of a tensor.
static GpuPart partOf(const GpuSite &site, Value tensor, int64_t rowAxis, RowRange rows,
                      const Places &singles) {
  auto [ctx, b, x, s] = site.parts();
  GpuPart part = {};
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

/// Returns whether windows tell that all that a tile reads of a value fits.
static bool isRoomy(const Tiling &tiling, Value value) {
  const int64_t room = roomOf(tiling, value), height = tiling.height;
  return tiling.rows.same.contains(value)
             ? room >= height
             : tiling.rows.isKnown && room >= height + tiling.rows.around;
}

/// Returns whether there is room for what these rows read; null: always.
static Value fits(const GpuSite &site, const Tiling &tiling, RowRange now) {
  auto [ctx, b, x, s] = site.parts();
  Value all;
  for (auto [value, range] : rowsStored(site, tiling.rows, now))
    if (!isRoomy(tiling, value))
      all = x.both(all, x.compare(arith::CmpIPredicate::sle, x.sub(range.high, range.low),
                                  x.constant(roomOf(tiling, value))));
  return all;
}

/// The end of the first rows that fit.
static Value halved(const GpuSite &site, RowRange all, llvm::function_ref<Value(RowRange)> fits) {
  auto [ctx, b, x, s] = site.parts();
  auto loop = b.create<scf::WhileOp>(site.loc, TypeRange(b.getIndexType()), ValueRange(all.high));
  OpBuilder::InsertionGuard guard(b);
  {
    IndexMath::Scope scope(x);
    Block *before = b.createBlock(&loop.getBefore(), {}, b.getIndexType(), site.loc);
    Value end = before->getArgument(0), count = x.sub(end, all.low);
    Value isLarge = b.create<arith::XOrIOp>(site.loc, fits({all.low, end}),
                                            b.create<arith::ConstantIntOp>(site.loc, 1, 1));
    b.create<scf::ConditionOp>(
        site.loc, x.both(x.compare(arith::CmpIPredicate::sgt, count, x.constant(1)), isLarge),
        before->getArguments());
  }
  IndexMath::Scope scope(x);
  Block *after = b.createBlock(&loop.getAfter(), {}, b.getIndexType(), site.loc);
  Value count = x.sub(after->getArgument(0), all.low);
  b.create<scf::YieldOp>(site.loc,
                         x.add(all.low, x.floorDiv(x.add(count, x.constant(1)), x.constant(2))));
  return loop.getResult(0);
}

void penstock::conversion::inSteps(const GpuSite &site, RowRange all,
                                   llvm::function_ref<Value(RowRange)> fits,
                                   llvm::function_ref<void(RowRange)> body) {
  auto [ctx, b, x, s] = site.parts();
  auto steps = b.create<scf::WhileOp>(site.loc, TypeRange(b.getIndexType()), ValueRange(all.low));
  OpBuilder::InsertionGuard guard(b);
  Block *before = b.createBlock(&steps.getBefore(), {}, b.getIndexType(), site.loc);
  b.create<scf::ConditionOp>(site.loc,
                             b.create<arith::CmpIOp>(site.loc, arith::CmpIPredicate::slt,
                                                     before->getArgument(0), all.high),
                             before->getArguments());
  IndexMath::Scope scope(x);
  Block *after = b.createBlock(&steps.getAfter(), {}, b.getIndexType(), site.loc);
  Value first = after->getArgument(0), next = halved(site, {first, all.high}, fits);
  body({first, next});
  b.create<scf::YieldOp>(site.loc, next);
}

/// Outputs of a tile, from what is stored where `site` knows of it.
static void fillOutputs(const GpuSite &site, const Tiling &tiling, RowRange now,
                        const Places &singles, bool isSingle) {
  KernelOp kernel = site.ctx.kernel;
  auto values = llvm::cast<ReturnOp>(kernel.getBody().front().getTerminator()).getValues();
  for (auto [number, output] : llvm::enumerate(values)) {
    if (!tiling.rows.outputs.contains(output))
      continue;
    const int64_t axis = tiling.rows.outputs.lookup(output);
    GpuPart part = partOf(site, output, axis, now, singles);
    part.isSingle = isSingle;
    const GpuBuffer &to = site.ctx.outputs[number];
    if (isSingle || tiling.rows.stored.contains(output))
      fill(site, output, to, part);
    else
      tiling.copies.fill(site, output, axis, part, to);
  }
}

/// The rows of one tile, all of which fit.
static void fillTile(const GpuSite &site, const Tiling &tiling, RowRange now,
                     const Places &singles) {
  GpuBuffers rows;
  GpuSite inTile = site;
  inTile.tile = &rows;
  const RowsOfValues ranges = rowsNeeded(site, tiling.rows, now);
  GpuRowTapsOf rowTaps;
  inTile.rowTaps = &rowTaps;
  for (auto [value, axis] : tiling.rows.stored) {
    GpuPart part = partOf(site, value, axis, ranges.lookup(value), singles);
    GpuBuffer buffer = tiling.shared.lookup(value);
    buffer.origin = part.low;
    const GpuStoredRows stored{value, part, buffer};
    packRowTaps(site, tiling.rowTables, stored, ranges, now, rowTaps);
    if (rowTaps.contains(value.getDefiningOp())) // reads what is stored, and packed
      fill(inTile, value, buffer, part);
    else
      tiling.copies.fill(inTile, value, axis, part, buffer);
    padRows(site, stored, rowTaps);
    barrier(site.of(value));
    rows[value] = buffer;
  }
  fillOutputs(inTile, tiling, now, singles, /*isSingle=*/false);
  barrier(site.of(tiling.rows.outputs.back().first)); // the next rows go where these were
}

/// The rows of one tile.
static void tile(const GpuSite &site, const Tiling &tiling, RowRange now, const Places &singles) {
  auto [ctx, b, x, s] = site.parts();
  Value doFit = fits(site, tiling, now);
  if (!doFit)
    return fillTile(site, tiling, now, singles);
  auto op = b.create<scf::IfOp>(site.loc, doFit, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  {
    IndexMath::Scope scope(x);
    b.setInsertionPointToStart(op.thenBlock());
    fillTile(site, tiling, now, singles);
  }
  IndexMath::Scope scope(x);
  b.setInsertionPointToStart(op.elseBlock());
  fillOutputs(site, tiling, now, singles, /*isSingle=*/true); // seldom: short code
}

/// Returns the tiling that the schedule asks for.
static FailureOr<Tiling> tilingOf(KernelOp kernel) {
  auto schedule = *kernel.getSchedule();
  auto isStored = [](Operation *op) {
    return op->getAttr("schedule") == StringAttr::get(op->getContext(), "shared");
  };
  Tiling tiling;
  tiling.storedRows = schedule.getAs<IntegerAttr>("rows").getInt();
  for (NamedAttribute entry : schedule.getAs<DictionaryAttr>("tile")) {
    const int64_t count = llvm::cast<IntegerAttr>(entry.getValue()).getInt();
    auto regions = penstock::analysis::rowRegions(kernel, entry.getName(), isStored);
    if (!regions || regions->stored.empty() || (count == 1 && !regions->isSame) ||
        (count > 1 && tiling.height))
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
      tiling.others.push_back(std::move(*regions));
    } else {
      tiling.rows = std::move(*regions);
      tiling.height = count;
    }
  }
  if (!tiling.height)
    return kernel.emitError(
        "has the mapping \"tile\", whose `tile` is to name an axis and more than one row of it");
  auto copies = GpuCopies::of(kernel, isStored);
  if (failed(copies))
    return failure();
  tiling.copies = std::move(*copies);
  return tiling;
}

/// Room in shared memory for the rows that are stored.
static LogicalResult makeShared(const GpuSite &site, Tiling &tiling) {
  auto [ctx, b, x, s] = site.parts();
  Value shared = b.create<gpu::DynamicSharedMemoryOp>(
      site.loc,
      MemRefType::get({ShapedType::kDynamic}, b.getI8Type(), MemRefLayoutAttrInterface(),
                      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup)));
  for (auto [value, axis] : tiling.rows.stored) {
    SmallVector<int64_t> single;
    for (const RowRegions &other : tiling.others)
      single.push_back(other.stored.lookup(value));
    for (auto [number, a] : llvm::enumerate(typeOf(value).getAxes()))
      if (!a.isStatic() && static_cast<int64_t>(number) != axis &&
          !llvm::is_contained(single, number))
        return ctx.kernel.emitError()
               << "has the mapping \"tile\", and stores rows whose extent along `" << a.name
               << "` only a sample knows";
    tiling.shared[value] = sharedRows(site, tiling, shared, value, axis, single);
  }
  tiling.rowTables = rowTables(site, tiling.rows, tiling.height, tiling.shared, tiling.copies,
                               shared, tiling.sharedUsed);
  tiling.copies.setMemory(shared, tiling.sharedUsed);
  ctx.launch.shared = tiling.sharedUsed + tiling.copies.bytes();
  return success();
}

/// Copies what all tiles of a block read.
static void copyTables(const GpuSite &site, Tiling &tiling) {
  if (tiling.copies.bytes() == 0)
    return;
  auto copy = [&](Value value, int64_t axis, auto axesOf) {
    SmallVector<int64_t> tiled{axis};
    for (const RowRegions &other : tiling.others)
      tiled.push_back(axesOf(other).lookup(value));
    tiling.copies.copyTables(site.of(value), value, tiled);
  };
  for (auto [value, axis] : tiling.rows.stored)
    copy(value, axis, [](const RowRegions &other) -> auto & { return other.stored; });
  for (auto [value, axis] : tiling.rows.outputs)
    if (!tiling.rows.stored.contains(value))
      copy(value, axis, [](const RowRegions &other) -> auto & { return other.outputs; });
  tiling.copies.endTables(site);
  barrier(site); // for whoever reads the tables
}

LogicalResult penstock::conversion::emitTiles(const GpuSite &site, llvm::DenseSet<Value> &tiled) {
  auto [ctx, b, x, s] = site.parts();
  auto tiling = tilingOf(ctx.kernel);
  if (failed(tiling) || failed(makeShared(site, *tiling)))
    return failure();
  // Tiles are numbered, rows last.
  auto [output, axis] = tiling->rows.outputs.front();
  Value extentOfRows = extent(site, output, axis), many = x.constant(tiling->height);
  Value perPlace = x.floorDiv(x.add(extentOfRows, x.constant(tiling->height - 1)), many),
        count = perPlace;
  SmallVector<Value> extents;
  for (const RowRegions &other : tiling->others) {
    extents.push_back(extent(site, output, other.outputs.lookup(output)));
    count = x.mul(count, extents.back());
  }
  ctx.launch.blocks = IndexMath::constantOf(count);
  copyTables(site, *tiling);
  Value block = b.create<gpu::BlockIdOp>(site.loc, gpu::Dimension::x),
        blocks = b.create<gpu::GridDimOp>(site.loc, gpu::Dimension::x);
  auto loop = b.create<scf::ForOp>(site.loc, block, count, blocks);
  OpBuilder::InsertionGuard guard(b);
  IndexMath::Scope scope(x);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  auto remainder = [&](Value number, Value size) {
    return b.createOrFold<arith::RemUIOp>(site.loc, number, size);
  };
  Value number = loop.getInductionVar();
  Value low = x.mul(tiling->others.empty() ? number : remainder(number, perPlace), many);
  Value rest = b.createOrFold<arith::DivUIOp>(site.loc, number, perPlace);
  Places singles;
  for (auto [other, size] : llvm::zip(tiling->others, extents)) {
    singles.push_back({&other, tiling->others.size() == 1 ? rest : remainder(rest, size)});
    rest = b.createOrFold<arith::DivUIOp>(site.loc, rest, size);
  }
  Value high = x.min(x.add(low, many), extentOfRows);
  for (auto [value, row] : tiling->rows.outputs)
    tiled.insert(value);
  if (llvm::all_of(tiling->rows.stored,
                   [&](const auto &stored) { return isRoomy(*tiling, stored.first); }))
    tile(site, *tiling, {low, high}, singles);
  else
    inSteps(
        site, {low, high}, [&](RowRange now) { return fits(site, *tiling, now); },
        [&](RowRange now) { tile(site, *tiling, now, singles); });
  return success();
}
