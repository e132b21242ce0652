// SPDX-License-Identifier: Apache-2.0
//
// The rows that a tile reads.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "compiler/Conversion/KernelToGpu/GpuTiles.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using penstock::analysis::RowRegions;
using penstock::analysis::RowStep;

/// Of rows that may lie outside of `size`, those that are read.
static RowRange insideOf(const GpuSite &site, RowRange rows, Value size, Border border) {
  auto [ctx, b, x, s] = site.parts();
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

RowRange penstock::conversion::rowsRead(const GpuSite &site, const RowStep &step, RowRange rows) {
  auto [ctx, b, x, s] = site.parts();
  const std::string &axis = typeOf(step.op->getResult(0)).getAxes()[step.axis].name;
  auto extentOfRead = [&] { return extent(site, step.read, step.readAxis); };
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
          symbols.push_back(asIndex(site, symbol));
        auto dim = b.getAffineDimExpr(static_cast<unsigned>(step.axis));
        const bool isShifted =
            simplifyAffineExpr(expr.replace(dim, dim + 1) - expr, op.getMap().getNumDims(),
                               op.getMap().getNumSymbols()) == b.getAffineConstantExpr(1);
        dims[step.axis] = rows.low;
        Value first = x.affine(expr, dims, symbols);
        dims[step.axis] = isShifted ? rows.high : x.sub(rows.high, x.constant(1));
        if (isShifted)
          return RowRange{first, x.affine(expr, dims, symbols)};
        return hull(first, x.affine(expr, dims, symbols));
      })
      .Case([&](PadOp op) {
        auto place = placeIn(op.getOver(), axis);
        if (!place)
          return rows;
        Value low = asIndex(site, op.getLow()[*place]);
        return insideOf(site, {x.sub(rows.low, low), x.sub(rows.high, low)}, extentOfRead(),
                        op.getBorder());
      })
      .Case([&](WindowOp op) {
        auto place = placeIn(op.getOver(), axis);
        if (!place)
          return rows;
        return insideOf(site,
                        {x.add(rows.low, x.constant(op.getLow()[*place])),
                         x.add(rows.high, x.constant(op.getHigh()[*place]))},
                        extentOfRead(), op.getBorder());
      })
      .Case([&](ResampleOp op) {
        if (op.getAxis() != axis || step.read != op.getInput())
          return rows;
        auto start = [&](Value row) {
          return x.toIndex(s.cast(element(site, op.getStart(), row), b.getI64Type()));
        };
        RowRange taken = hull(start(rows.low), start(x.sub(rows.high, x.constant(1))));
        taken.high = x.add(taken.high, x.sub(extent(site, op.getWeights(), 1), x.constant(1)));
        return RowRange{x.max(taken.low, x.constant(0)), x.min(taken.high, extentOfRead())};
      })
      .Default([&](Operation *) { return rows; });
}

RowsOfValues penstock::conversion::rowsNeeded(const GpuSite &site, const RowRegions &regions,
                                              RowRange tile) {
  auto [ctx, b, x, s] = site.parts();
  RowsOfValues needed;
  auto add = [&](Value value, RowRange rows) {
    auto [found, isNew] = needed.insert({value, rows});
    if (!isNew)
      found->second = {x.min(found->second.low, rows.low), x.max(found->second.high, rows.high)};
  };
  for (auto [output, axis] : regions.outputs)
    add(output, tile);
  for (const RowStep &step : regions.steps)
    add(step.read, rowsRead(site, step, needed[step.op->getResult(0)]));
  return needed;
}

llvm::MapVector<Value, RowRange>
penstock::conversion::rowsStored(const GpuSite &site, const RowRegions &regions, RowRange tile) {
  const RowsOfValues needed = rowsNeeded(site, regions, tile);
  llvm::MapVector<Value, RowRange> stored;
  for (auto [value, axis] : regions.stored)
    stored.insert({value, needed.lookup(value)});
  return stored;
}
