// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-compose-views.
//
// A pad of a pad is only composed where no amount is negative: a negative one
// cuts, and what it cut does not come back.
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Regions.h"
#include "compiler/Transforms/Rewrite.h"
#include "compiler/Transforms/Views.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_COMPOSEVIEWS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;

namespace {

/// Returns whether a symbol multiplies what another one moves, in sums and products alone.
bool isNested(AffineExpr place) {
  bool found = false, linear = true;
  place.walk([&](AffineExpr part) {
    auto pair = llvm::dyn_cast<AffineBinaryOpExpr>(part);
    if (!pair || part.isSymbolicOrConstant())
      return;
    const bool product = pair.getKind() == AffineExprKind::Mul;
    linear &=
        product ? pair.getRHS().isSymbolicOrConstant() : pair.getKind() == AffineExprKind::Add;
    found |= product && !llvm::isa<AffineDimExpr>(pair.getLHS()) &&
             !llvm::isa<AffineConstantExpr>(pair.getRHS());
  });
  return found && linear;
}

/// Returns whether a branch reads `view`, and something else does, too: what branches read lies in
/// memory, so reading past the view would have both there, the view and its input. What is decoded
/// or read lies there anyway.
bool isReadAnyway(ViewOp view, Operation *reader) {
  return view->getBlock() != reader->getBlock() &&
         !llvm::isa_and_present<DecodeOp, FieldOp>(view.getInput().getDefiningOp()) &&
         llvm::any_of(view->getUsers(), [](Operation *user) { return !llvm::isa<ViewOp>(user); });
}

struct ViewOfView : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    auto inner = view.getInput().getDefiningOp<ViewOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(view, "its input is not a view");
    if (isReadAnyway(inner, view))
      return rewriter.notifyMatchFailure(view, "branches read its input from memory");
    // Each of several turns reads both axes, so that a chain of them would double with each.
    if (llvm::any_of(inner.getMap().getResults(), isNested) ||
        llvm::any_of(view.getMap().getResults(), isNested))
      return rewriter.notifyMatchFailure(view, "it is multiplied out first");
    // Symbols of the composed map: the inner view's, then the outer one's.
    SmallVector<Value> symbols(inner.getSymbols());
    llvm::append_range(symbols, view.getSymbols());
    rewriter.replaceOp(view,
                       makeView(rewriter, view.getLoc(), inner.getInput(),
                                inner.getMap().compose(view.getMap()), symbols,
                                llvm::cast<NamedTensorType>(view.getType()), view.getSizes()));
    return success();
  }
};

struct SimplifyView : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    SmallVector<Value> symbols(view.getSymbols());
    AffineMap map = simplifySymbols(view.getMap(), symbols);
    auto type = llvm::cast<NamedTensorType>(view.getType());
    if (map == view.getMap() && symbols.size() == view.getSymbols().size() &&
        !isIdentity(view.getInput(), map, type, view.getSizes()))
      return rewriter.notifyMatchFailure(view, "it is simple");
    rewriter.replaceOp(view, makeView(rewriter, view.getLoc(), view.getInput(), map, symbols, type,
                                      view.getSizes()));
    return success();
  }
};

/// Symbols that only ever stand in one sum are one number of the sample: a crop of a crop has one
/// corner, added up once and not for each element. LLVM takes hundreds of them as hundreds of
/// terms, and the time of its analyses grows with their square.
struct AddUpSymbols : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    const AffineMap map = view.getMap();
    SmallVector<unsigned> uses(map.getNumSymbols());
    for (AffineExpr result : map.getResults())
      result.walk([&](AffineExpr part) {
        if (auto symbol = llvm::dyn_cast<AffineSymbolExpr>(part))
          ++uses[symbol.getPosition()];
      });
    SmallVector<Value> symbols(view.getSymbols());
    SmallVector<AffineExpr> replaced;
    for (unsigned i = 0; i < map.getNumSymbols(); ++i)
      replaced.push_back(rewriter.getAffineSymbolExpr(i));
    ScalarBuilder scalars(rewriter, view.getLoc());
    bool any = false;
    for (AffineExpr result : map.getResults()) {
      std::optional<unsigned> first;
      for (SmallVector<AffineExpr> open{result}; !open.empty();) {
        AffineExpr part = open.pop_back_val();
        if (auto sum = llvm::dyn_cast<AffineBinaryOpExpr>(part);
            sum && sum.getKind() == AffineExprKind::Add)
          open.append({sum.getRHS(), sum.getLHS()});
        auto symbol = llvm::dyn_cast<AffineSymbolExpr>(part);
        if (!symbol || uses[symbol.getPosition()] != 1)
          continue;
        if (!first) {
          first = symbol.getPosition();
          continue;
        }
        symbols[*first] = scalars.add(symbols[*first], symbols[symbol.getPosition()]);
        replaced[symbol.getPosition()] = rewriter.getAffineConstantExpr(0);
        any = true;
      }
    }
    if (!any)
      return rewriter.notifyMatchFailure(view, "no two symbols stand in one sum alone");
    rewriter.replaceOp(
        view,
        makeView(rewriter, view.getLoc(), view.getInput(),
                 map.replaceDimsAndSymbols({}, replaced, map.getNumDims(), map.getNumSymbols()),
                 symbols, llvm::cast<NamedTensorType>(view.getType()), view.getSizes()));
    return success();
  }
};

/// The places that a view reads along one axis of its input, as numbers of the sample: a start
/// (null: zero), and a step for each of its own axes (null: it does not move).
struct Steps {
  SmallVector<Value> steps;
  Value start;
};

/// `expr` is linear in the view's axes.
Steps stepsOf(AffineExpr expr, ViewOp view, ScalarBuilder &scalars) {
  Steps result{SmallVector<Value>(view.getMap().getNumDims()), nullptr};
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr)) {
    result.steps[dim.getPosition()] = scalars.constant(1);
    return result;
  }
  if (expr.isSymbolicOrConstant()) {
    result.start = scalars.apply(expr, {}, view.getSymbols());
    return result;
  }
  auto pair = llvm::cast<AffineBinaryOpExpr>(expr);
  const Steps left = stepsOf(pair.getLHS(), view, scalars);
  const Steps right = stepsOf(pair.getRHS(), view, scalars);
  const bool product = pair.getKind() == AffineExprKind::Mul;
  auto combined = [&](Value a, Value b) {
    if (product)
      return a ? scalars.mul(a, right.start) : a;
    return a && b ? scalars.add(a, b) : a ? a : b;
  };
  for (size_t dim = 0; dim < result.steps.size(); ++dim)
    result.steps[dim] = combined(left.steps[dim], right.steps[dim]);
  result.start = combined(left.start, right.start);
  return result;
}

/// A flip of a flip goes one way from one start: hundreds of products in each address are as dear
/// as hundreds of sums, and kernels know a way by the factor that stands at an axis itself.
struct MultiplySymbolsOut : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    const AffineMap map = view.getMap();
    if (llvm::none_of(map.getResults(), isNested))
      return rewriter.notifyMatchFailure(view, "no symbol multiplies what another one moves");
    ScalarBuilder scalars(rewriter, view.getLoc());
    SmallVector<Value> symbols(view.getSymbols());
    SmallVector<AffineExpr> results(map.getResults());
    for (AffineExpr &result : results) {
      if (!isNested(result))
        continue;
      const Steps read = stepsOf(result, view, scalars);
      auto symbol = [&](Value number) {
        symbols.push_back(number);
        return rewriter.getAffineSymbolExpr(symbols.size() - 1);
      };
      result = read.start ? symbol(read.start) : rewriter.getAffineConstantExpr(0);
      for (auto [dim, step] : llvm::enumerate(read.steps))
        if (step)
          result = rewriter.getAffineDimExpr(dim) * symbol(step) + result;
    }
    rewriter.replaceOp(
        view, makeView(rewriter, view.getLoc(), view.getInput(),
                       AffineMap::get(map.getNumDims(), symbols.size(), results, getContext()),
                       symbols, llvm::cast<NamedTensorType>(view.getType()), view.getSizes()));
    return success();
  }
};

/// The static amounts of a pad along one axis: before, after. Nothing where
/// they are not known, or where the axis is cut.
std::optional<std::pair<int64_t, int64_t>> amounts(PadOp pad, int64_t axis) {
  auto input = llvm::cast<NamedTensorType>(pad.getInput().getType());
  auto result = llvm::cast<NamedTensorType>(pad.getType());
  if (!input.getAxes()[axis].isStatic() || !result.getAxes()[axis].isStatic())
    return std::nullopt;
  std::optional<int64_t> low = 0;
  for (auto [name, value] : llvm::zip(pad.getOver().getAsRange<StringAttr>(), pad.getLow()))
    if (input.axisIndex(name) == axis)
      low = constantOf(value);
  if (!low || *low < 0)
    return std::nullopt;
  const int64_t high = result.getAxes()[axis].extent - input.getAxes()[axis].extent - *low;
  if (high < 0)
    return std::nullopt;
  return std::pair(*low, high);
}

struct PadOfPad : OpRewritePattern<PadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PadOp pad, PatternRewriter &rewriter) const override {
    auto inner = pad.getInput().getDefiningOp<PadOp>();
    if (!inner)
      return rewriter.notifyMatchFailure(pad, "its input is not a pad");
    const bool constant = pad.getBorder() == Border::constant && pad.getFill() == inner.getFill();
    const bool edge = pad.getBorder() == Border::edge;
    if (pad.getBorder() != inner.getBorder() || !(constant || edge))
      return rewriter.notifyMatchFailure(pad, "the borders do not compose");
    auto type = llvm::cast<NamedTensorType>(pad.getType());
    ScalarBuilder scalars(rewriter, pad.getLoc());
    SmallVector<Attribute> over;
    SmallVector<int64_t> sums;
    for (int64_t axis = 0; axis < type.getRank(); ++axis) {
      StringAttr name = rewriter.getStringAttr(type.getAxes()[axis].name);
      const bool here =
          llvm::is_contained(pad.getOver(), name) || llvm::is_contained(inner.getOver(), name);
      if (!here)
        continue;
      auto first = amounts(inner, axis), second = amounts(pad, axis);
      if (!first || !second)
        return rewriter.notifyMatchFailure(pad, "an amount is not known");
      over.push_back(name);
      sums.push_back(first->first + second->first);
    }
    SmallVector<Value> low;
    for (int64_t sum : sums)
      low.push_back(scalars.constant(sum));
    rewriter.replaceOpWithNewOp<PadOp>(pad, type, pad.getBorder(), inner.getInput(),
                                       rewriter.getArrayAttr(over), low, pad.getFill(),
                                       pad.getSizes());
    return success();
  }
};

/// The least and the greatest value of `expr`, where all of it is static.
std::optional<std::pair<int64_t, int64_t>> boundsOf(AffineExpr expr, NamedTensorType domain) {
  if (auto number = llvm::dyn_cast<AffineConstantExpr>(expr))
    return std::pair(number.getValue(), number.getValue());
  if (auto dim = llvm::dyn_cast<AffineDimExpr>(expr)) {
    const Axis &axis = domain.getAxes()[dim.getPosition()];
    if (axis.extent < 1)
      return std::nullopt;
    return std::pair<int64_t, int64_t>(0, axis.extent - 1);
  }
  auto pair = llvm::dyn_cast<AffineBinaryOpExpr>(expr);
  if (!pair || (expr.getKind() != AffineExprKind::Add && expr.getKind() != AffineExprKind::Mul))
    return std::nullopt;
  auto a = boundsOf(pair.getLHS(), domain), b = boundsOf(pair.getRHS(), domain);
  if (!a || !b)
    return std::nullopt;
  if (expr.getKind() == AffineExprKind::Add)
    return std::pair(a->first + b->first, a->second + b->second);
  const auto [low, high] = std::minmax(
      {a->first * b->first, a->first * b->second, a->second * b->first, a->second * b->second});
  return std::pair(low, high);
}

struct ViewInsidePad : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    auto pad = view.getInput().getDefiningOp<PadOp>();
    if (!pad)
      return rewriter.notifyMatchFailure(view, "its input is not a pad");
    auto input = llvm::cast<NamedTensorType>(pad.getInput().getType());
    auto type = llvm::cast<NamedTensorType>(view.getType());
    SmallVector<AffineExpr> results(view.getMap().getResults());
    for (auto [name, value] : llvm::zip(pad.getOver().getAsRange<StringAttr>(), pad.getLow())) {
      const int64_t axis = input.axisIndex(name);
      auto low = constantOf(value);
      auto bounds = boundsOf(results[axis], type);
      if (!low || !bounds || !input.getAxes()[axis].isStatic() || bounds->first < *low ||
          bounds->second >= *low + input.getAxes()[axis].extent)
        return rewriter.notifyMatchFailure(view, "it may read the border");
      results[axis] = results[axis] - *low;
    }
    AffineMap map = AffineMap::get(view.getMap().getNumDims(), view.getMap().getNumSymbols(),
                                   results, getContext());
    rewriter.replaceOp(view, makeView(rewriter, view.getLoc(), pad.getInput(), map,
                                      view.getSymbols(), type, view.getSizes()));
    return success();
  }
};

/// Merged axes of pieces are read where the pieces come from, so that nobody stores pieces.
struct LoadOfView : OpRewritePattern<LoadOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(LoadOp load, PatternRewriter &rewriter) const override {
    auto view = load.getTensor().getDefiningOp<ViewOp>();
    auto map = llvm::dyn_cast<MapOp>(load->getParentOp());
    if (!view || !map || map->isAncestor(view))
      return rewriter.notifyMatchFailure(load, "it reads no view from outside of a map");
    auto type = llvm::cast<NamedTensorType>(view.getType());
    auto input = llvm::cast<NamedTensorType>(view.getInput().getType());
    if (!type.isStatic() || !input.isStatic() || !view.getSymbols().empty())
      return rewriter.notifyMatchFailure(load, "the view differs from sample to sample");
    if (!readsInside(map, load))
      return rewriter.notifyMatchFailure(load, "it may read beyond the view");
    for (auto [place, axis] : llvm::zip(view.getMap().getResults(), input.getAxes())) {
      auto bounds = boundsOf(place, type);
      if (!bounds || bounds->first < 0 || bounds->second >= axis.extent)
        return rewriter.notifyMatchFailure(load, "the view may read beyond its input");
    }
    ScalarBuilder scalars(rewriter, load.getLoc());
    SmallVector<Value> indices;
    for (AffineExpr place : view.getMap().getResults())
      indices.push_back(scalars.apply(place, load.getIndices(), {}));
    rewriter.replaceOpWithNewOp<LoadOp>(load, load.getType(), view.getInput(), indices);
    return success();
  }
};

/// Another order of a product's axes is that of its value's, which costs nothing to read: the
/// product is not stored to be copied.
struct PermutedContract : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    auto contract = view.getInput().getDefiningOp<ContractOp>();
    if (!contract || !contract->hasOneUse())
      return rewriter.notifyMatchFailure(view, "its input is no product for it alone");
    auto type = llvm::cast<NamedTensorType>(view.getType());
    auto product = llvm::cast<NamedTensorType>(contract.getResult().getType());
    auto value = llvm::cast<NamedTensorType>(contract.getValue().getType());
    auto matrix = llvm::cast<NamedTensorType>(contract.getMatrix().getType());
    const AffineMap map = view.getMap();
    if (!map.isPermutation() || !type.isStatic() || !value.isStatic())
      return rewriter.notifyMatchFailure(view, "it is no other order of static axes");
    const int64_t made = product.axisIndex(matrix.getAxes()[1].name);
    SmallVector<Axis> axes(type.getAxes());
    const unsigned place = map.getDimPosition(made);
    if (axes[place] != product.getAxes()[made])
      return rewriter.notifyMatchFailure(view, "it renames the new axis");
    axes[place] = value.getAxes()[made];
    for (size_t axis = 0; axis < axes.size(); ++axis)
      if (axis != place && axes[axis].name == axes[place].name)
        return rewriter.notifyMatchFailure(view, "it has an axis of the name that goes");
    Value turned = makeView(rewriter, view.getLoc(), contract.getValue(), map, {},
                            NamedTensorType::get(value.getElementType(), axes), {});
    rewriter.replaceOpWithNewOp<ContractOp>(view, type, turned, contract.getMatrix(),
                                            contract.getSizes());
    return success();
  }
};

struct ComposeViewsPass : penstock::transforms::impl::ComposeViewsBase<ComposeViewsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ViewOfView, SimplifyView, AddUpSymbols, MultiplySymbolsOut, PadOfPad,
                 ViewInsidePad, LoadOfView, PermutedContract>(&getContext());
    addViewsOfJoined(patterns);
    if (failed(rewriteGreedily(*this, getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
