// SPDX-License-Identifier: Apache-2.0
//
// Views of joined tensors, in the pass pipe-compose-views.
#include "compiler/Transforms/Views.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace penstock::pipe;

namespace {

/// What a view reads of tensors side by side are such views of each, side by side: one channel of
/// two pictures, or a part that lies in one of them alone.
struct ViewOfConcat : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    auto joined = view.getInput().getDefiningOp<ConcatOp>();
    if (!joined || !joined->hasOneUse())
      return rewriter.notifyMatchFailure(view, "its input is not joined for it alone");
    auto type = llvm::cast<NamedTensorType>(view.getType());
    const auto along = static_cast<unsigned>(
        llvm::cast<NamedTensorType>(joined.getType()).axisIndex(joined.getAxis()));
    AffineMap map = view.getMap();
    int64_t first = 0;
    AffineExpr place = map.getResult(along);
    if (auto sum = llvm::dyn_cast<AffineBinaryOpExpr>(place);
        sum && sum.getKind() == AffineExprKind::Add)
      if (auto moved = llvm::dyn_cast<AffineConstantExpr>(sum.getRHS())) {
        first = moved.getValue();
        place = sum.getLHS();
      }
    auto dim = llvm::dyn_cast<AffineDimExpr>(place);
    if (!dim || !type.getAxes()[dim.getPosition()].isStatic())
      return rewriter.notifyMatchFailure(view, "it reads the joined axis in another order");
    for (unsigned axis = 0; axis < map.getNumResults(); ++axis)
      if (axis != along && map.getResult(axis).isFunctionOfDim(dim.getPosition()))
        return rewriter.notifyMatchFailure(view, "it reads two axes along one");
    const int64_t end = first + type.getAxes()[dim.getPosition()].extent;
    SmallVector<Value> parts;
    int64_t begin = 0;
    for (Value input : joined.getInputs()) {
      const Axis &own = llvm::cast<NamedTensorType>(input.getType()).getAxes()[along];
      if (!own.isStatic())
        return rewriter.notifyMatchFailure(view, "a part's extent is not known");
      const int64_t low = std::max(begin, first), high = std::min(begin + own.extent, end);
      if (low < high) {
        SmallVector<Axis> axes(type.getAxes());
        axes[dim.getPosition()].extent = high - low;
        SmallVector<AffineExpr> places(map.getResults());
        places[along] = dim + (low - begin);
        parts.push_back(penstock::transforms::makeView(
            rewriter, view.getLoc(), input,
            AffineMap::get(map.getNumDims(), map.getNumSymbols(), places, view.getContext()),
            view.getSymbols(), NamedTensorType::get(type.getElementType(), axes), view.getSizes()));
      }
      begin += own.extent;
    }
    if (parts.empty())
      return rewriter.notifyMatchFailure(view, "it has no elements");
    if (parts.size() == 1)
      rewriter.replaceOp(view, parts.front());
    else
      rewriter.replaceOpWithNewOp<ConcatOp>(view, type, type.getAxes()[dim.getPosition()].name,
                                            parts, view.getSizes());
    return success();
  }
};

} // namespace

void penstock::transforms::addViewsOfJoined(RewritePatternSet &patterns) {
  patterns.add<ViewOfConcat>(patterns.getContext());
}
