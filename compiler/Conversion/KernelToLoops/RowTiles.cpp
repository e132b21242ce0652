// SPDX-License-Identifier: Apache-2.0
//
// Row tiling.
//
// Where every op treats rows alone, the kernel is written once more for the rows of a tile, which
// views of its inputs pick, and that is the body of a loop over tiles. What is handed on from op to
// op stays in a near cache then.
#include "compiler/Conversion/KernelToLoops/KernelBody.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Dialect/Rows.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static NamedTensorType withRows(Value tensor, int64_t tile) {
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  SmallVector<Axis> axes(type.getAxes());
  axes[0].extent = tile;
  return NamedTensorType::get(type.getElementType(), axes);
}

namespace {
/// The kernel of one tile of rows, in a block of its own.
class RowTile {
public:
  RowTile(KernelOp kernel, const Axis &rows, int64_t tile)
      : kernel(kernel), rows(rows), tile(tile), b(kernel.getContext()) {
    first = block().addArgument(b.getI64Type(), kernel.getLoc());
    b.setInsertionPointToStart(&block());
  }

  void add(Operation &op) {
    llvm::SetVector<Value> read(op.operand_begin(), op.operand_end());
    for (Value value : read)
      if (!made.contains(value))
        if (auto type = llvm::dyn_cast<NamedTensorType>(value.getType());
            type && type.axisIndex(rows.name) == 0)
          made.map(value, viewOfTile(value, op.getLoc()));
    Operation *copy = b.clone(op, made);
    copy->getResult(0).setType(withRows(op.getResult(0), tile));
  }
  Block &block() { return kernel.getBody().back(); }
  Value numberOfFirst() const { return first; }
  Value of(Value value) const { return made.lookup(value); }

private:
  Value viewOfTile(Value value, Location loc) {
    NamedTensorType type = withRows(value, tile);
    SmallVector<AffineExpr> places{b.getAffineDimExpr(0) + b.getAffineSymbolExpr(0)};
    for (int64_t axis = 1; axis < type.getRank(); ++axis)
      places.push_back(b.getAffineDimExpr(static_cast<unsigned>(axis)));
    return b.create<ViewOp>(loc, type, value,
                            AffineMapAttr::get(AffineMap::get(static_cast<unsigned>(type.getRank()),
                                                              1, places, b.getContext())),
                            ValueRange(first), ValueRange());
  }

  KernelOp kernel;
  const Axis rows;
  const int64_t tile;
  OpBuilder b;
  IRMapping made;
  Value first;
};
} // namespace

LogicalResult penstock::conversion::emitRowTiles(const Site &site, const Axis &rows, int64_t tile) {
  auto [ctx, b, l, m] = site.parts();
  Block &body = ctx.kernel.getBody().front();
  ctx.kernel.getBody().push_back(new Block());
  RowTile one(ctx.kernel, rows, tile);
  for (Operation &op : body.without_terminator())
    if (llvm::isa<ConstantOp>(op) || !llvm::isa<NamedTensorType>(op.getResult(0).getType())) {
      if (failed(emitTopLevel(site, op)))
        return failure();
    } else {
      one.add(op);
    }
  Value used = ctx.scratchUsed;
  LogicalResult done = success();
  forLoop(site, l.i64(0), l.i64(rows.extent), tile, [&](Value index) {
    // The last tile overlaps the one before it: all is pure.
    Value first = rows.extent % tile ? l.minS(index, l.i64(rows.extent - tile)) : index;
    ctx.scalars[one.numberOfFirst()] = l.wrap(first, b.getI64Type());
    for (auto [value, output] : llvm::zip(body.getTerminator()->getOperands(), ctx.outputs)) {
      Buffer to = output;
      to.pointer = m.address(output.pointer, l.mul(first, output.strides[0]));
      ctx.tileOutputs.push_back({one.of(value), to});
    }
    for (Operation &op : one.block())
      if (failed(emitTopLevel(site, op)))
        done = failure();
    for (auto [output, operand] :
         llvm::zip(ctx.tileOutputs, body.getTerminator()->getOpOperands())) {
      auto &[value, to] = output;
      const Buffer *stored = site.buffer(value);
      if (!stored)
        storeTensor(site, value, to, shapeOf(value), l.i64(0), l.i64(tile));
      else if (stored->pointer != to.pointer)
        storeTensor(site, value, to, shapeFrom(copyLoopsOf(operand), typeOf(value)), l.i64(0),
                    l.i64(tile));
    }
  });
  ctx.tileOutputs.clear();
  ctx.scratchUsed = used; // nobody reads after the loop what is in there
  return done;
}
