// SPDX-License-Identifier: Apache-2.0
//
// Resampling across the rows of a tile.
//
// All elements of a row have the same taps. A block packs those of its rows once, four at a time,
// and a thread sums up words of rows: four bytes above each other are a word, whose products with
// four weights are two of 16 bits and one of bytes (dp2a, dp4a), as in GpuColumns.cpp. A word takes
// four rows: where taps would end behind the last one that is stored, they begin before.
#include "compiler/Conversion/KernelToGpu/GpuRowTaps.h"
#include "compiler/Conversion/KernelToGpu/GpuBoxes.h"
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using penstock::analysis::RowRegions;

/// Taps of an entry, its words, and entries of a row.
static constexpr int64_t tapsOfEntry = 4, wordsOfEntry = 4, entriesOfRow = 2;
static constexpr int64_t bytesOfWord = 4;

static int64_t rowAxisOf(ResampleOp op) { return typeOf(op.getResult()).axisIndex(op.getAxis()); }

static bool isByte(Value tensor) {
  Type element = typeOf(tensor).getElementType();
  return isUnsigned(element) && element.isInteger(8);
}

/// Returns whether rows are all that a buffer in shared memory has, and as many as an entry takes.
static bool holdsRows(const GpuBuffer &buffer, int64_t axis) {
  auto memory = buffer.memory.getDefiningOp<memref::ViewOp>();
  auto bytes = memory ? IndexMath::constantOf(memory.getSizes()[0]) : std::nullopt;
  auto apart = IndexMath::constantOf(buffer.strides[axis]);
  return bytes && apart && *bytes >= tapsOfEntry * *apart &&
         llvm::all_of(ArrayRef(buffer.strides).take_front(static_cast<size_t>(axis)),
                      [](Value stride) { return IndexMath::constantOf(stride) == 0; });
}

/// Returns whether `op` sums up rows of bytes, by taps that lie side by side in memory.
static bool isOfRows(const GpuSite &site, ResampleOp op, const RowRegions &rows,
                     const GpuBuffers &stored) {
  const auto *input = rows.stored.find(op.getInput());
  const GpuBuffer *weights = site.bufferOf(op.getWeights()), *start = site.bufferOf(op.getStart());
  return op.getNumerics() == Numerics::pillow && isByte(op.getResult()) && isByte(op.getInput()) &&
         input != rows.stored.end() && input->second == rowAxisOf(op) &&
         holdsRows(stored.find(op.getInput())->second, rowAxisOf(op)) && weights && start &&
         IndexMath::constantOf(weights->strides[1]) == 1 &&
         typeOf(op.getStart()).getElementType().isSignlessInteger(32);
}

GpuRowTables penstock::conversion::rowTables(const GpuSite &site, const RowRegions &rows,
                                             int64_t height, const GpuBuffers &stored,
                                             GpuCopies &copies, Value shared, int64_t &used) {
  auto [ctx, b, x, s] = site.parts();
  GpuRowTables tables;
  // A thread sums up bytes of whole words.
  if (llvm::none_of(rows.outputs, [](const auto &output) {
        return product(vectorOf(output.first)) % bytesOfWord == 0;
      }))
    return tables;
  const int64_t words = height * entriesOfRow * wordsOfEntry;
  auto type = MemRefType::get({ShapedType::kDynamic}, b.getI32Type(), MemRefLayoutAttrInterface(),
                              llvm::cast<MemRefType>(shared.getType()).getMemorySpace());
  ctx.kernel.walk([&](ResampleOp op) {
    if (!isOfRows(site, op, rows, stored) || !copies.giveUp(words * bytesOfWord))
      return;
    tables[op] =
        b.create<memref::ViewOp>(site.loc, type, shared, x.constant(used), x.constant(words));
    used += words * bytesOfWord;
  });
  return tables;
}

//===--- a tile --------------------------------------------------------------===//

void penstock::conversion::packRowTaps(const GpuSite &site, const GpuRowTables &tables,
                                       const GpuStoredRows &stored, const RowsOfValues &needed,
                                       RowRange tile, GpuRowTapsOf &taps) {
  auto [ctx, b, x, s] = site.parts();
  for (auto [made, table] : tables) {
    auto op = llvm::cast<ResampleOp>(made);
    const RowRange rows = needed.lookup(op.getResult());
    // Rows of the tile, and no more: what has a table of its height.
    if (op.getInput() != stored.value || rows.low != tile.low || rows.high != tile.high)
      continue;
    const GpuBuffer &weights = *site.bufferOf(op.getWeights()),
                    &start = *site.bufferOf(op.getStart());
    call(site.of(op.getResult()), "pst_pack_row_taps", {},
         {table, weights.memory, elementOffset(site, weights, {rows.low, x.constant(0)}),
          weights.strides[0], extent(site, op.getWeights(), 1), start.memory,
          elementOffset(site, start, rows.low), x.sub(rows.high, rows.low),
          stored.part.low[rowAxisOf(op)], stored.part.count[rowAxisOf(op)],
          stored.buffer.strides[rowAxisOf(op)]});
    taps[op] = {table, rows.low};
  }
}

void penstock::conversion::padRows(const GpuSite &site, const GpuStoredRows &stored,
                                   const GpuRowTapsOf &taps) {
  for (Operation *user : stored.value.getUsers())
    if (taps.contains(user)) {
      const int64_t axis = rowAxisOf(llvm::cast<ResampleOp>(user));
      call(site.of(stored.value), "pst_pad_rows", {},
           {stored.buffer.memory, stored.part.count[axis], stored.buffer.strides[axis]});
      return;
    }
}

SmallVector<Value> penstock::conversion::sumRows(const GpuSite &site, ResampleOp op,
                                                 const GpuRowTaps &taps, GpuIndices at,
                                                 ArrayRef<int64_t> counts) {
  auto [ctx, b, x, s] = site.parts();
  const GpuBuffer &rows = *site.bufferOf(op.getInput()), &weights = *site.bufferOf(op.getWeights());
  const int64_t axis = rowAxisOf(op), count = product(counts);
  SmallVector<Value> first(at);
  first[axis] = rows.origin[axis];
  if (count % bytesOfWord != 0 || runLength(rows.strides, counts) != count ||
      alignmentOf(site, rows, first) % bytesOfWord != 0)
    return {};
  auto sums = b.create<memref::AllocaOp>(site.loc, MemRefType::get({count}, b.getI32Type()));
  setInRegisters(sums);
  call(site, "pst_sum_rows", {},
       {sums, taps.table,
        x.mul(x.sub(at[axis], taps.first), x.constant(entriesOfRow * wordsOfEntry)), weights.memory,
        elementOffset(site, weights, {at[axis], x.constant(0)}), extent(site, op.getWeights(), 1),
        rows.memory, elementOffset(site, rows, first), rows.strides[axis]});
  SmallVector<Value> made;
  for (int64_t number = 0; number < count; ++number)
    made.push_back(call(site, "pst_pillow", typeOf(op.getResult()).getElementType(),
                        b.create<memref::LoadOp>(site.loc, sums, x.constant(number)).getResult()));
  return made;
}
