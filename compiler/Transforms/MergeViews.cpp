// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-merge-views.
//
// A map is linear in its dimensions where it holds no division: then its value
// at 0 and at the unit vectors is all there is to know, and two linear maps
// are one map whose coefficients a scalar selects.
#include "compiler/Analysis/HoistScalars.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Rewrite.h"
#include "compiler/Transforms/Views.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_MERGEVIEWS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;
namespace analysis = penstock::analysis;

/// The value that an arm yields, as a view of `root`.
namespace {
struct ArmView {
  Value root;
  AffineMap map;
  SmallVector<Value> symbols;
};
} // namespace

/// `beyond`: also through views that stand before the choice.
static ArmView armView(Value yielded, Region &arm, bool beyond) {
  auto rank = llvm::cast<NamedTensorType>(yielded.getType()).getRank();
  ArmView result{yielded, AffineMap::getMultiDimIdentityMap(rank, yielded.getContext()), {}};
  while (auto view = result.root.getDefiningOp<ViewOp>()) {
    if (!beyond && !arm.isAncestor(view->getParentRegion()))
      break;
    SmallVector<Value> symbols(view.getSymbols());
    llvm::append_range(symbols, result.symbols);
    result = {view.getInput(), view.getMap().compose(result.map), symbols};
  }
  return result;
}

static bool isLinear(AffineMap map) {
  for (AffineExpr result : map.getResults()) {
    bool divides = false;
    result.walk([&](AffineExpr part) {
      divides |= part.getKind() == AffineExprKind::Mod ||
                 part.getKind() == AffineExprKind::FloorDiv ||
                 part.getKind() == AffineExprKind::CeilDiv;
    });
    if (divides)
      return false;
  }
  return true;
}

/// `expr` where dimension `unit` is 1 and all others are 0 (unit -1: all 0).
static AffineExpr valueAt(AffineExpr expr, unsigned dims, unsigned symbols, int64_t unit) {
  MLIRContext *context = expr.getContext();
  SmallVector<AffineExpr> at;
  for (unsigned i = 0; i < dims; ++i)
    at.push_back(getAffineConstantExpr(static_cast<int64_t>(i) == unit, context));
  SmallVector<AffineExpr> same;
  for (unsigned i = 0; i < symbols; ++i)
    same.push_back(getAffineSymbolExpr(i, context));
  return simplifyAffineExpr(expr.replaceDimsAndSymbols(at, same), 0, symbols);
}

/// Returns the reason that the arms of result `number` are not one view; empty if they are, and
/// `result` is then that view.
static std::string mergeResult(ChooseOp choose, unsigned number, PatternRewriter &rewriter,
                               Value &result) {
  SmallVector<ArmView> arms;
  auto follow = [&](bool beyond) {
    arms.clear();
    for (Region &arm : choose.getArms())
      arms.push_back(armView(arm.front().getTerminator()->getOperand(number), arm, beyond));
  };
  follow(false);
  const Value root = arms.front().root;
  if (llvm::any_of(arms, [&](const ArmView &arm) { return arm.root != root; }))
    follow(true);
  for (auto [arm, region] : llvm::zip(arms, choose.getArms())) {
    if (region.isAncestor(arm.root.getParentRegion()))
      return "an arm computes something";
    if (arm.root != arms.front().root)
      return "the arms read different tensors";
    if (!isLinear(arm.map))
      return "a view divides its index";
  }
  for (ArmView &arm : arms)
    for (Value symbol : arm.symbols)
      if (!analysis::hoistScalars(symbol, choose))
        return "a scalar of a view cannot leave its arm";

  auto type = llvm::cast<NamedTensorType>(choose.getResult(number).getType());
  const auto dims = static_cast<unsigned>(type.getRank());
  const unsigned inputs = arms.front().map.getNumResults();
  ScalarBuilder scalars(rewriter, choose.getLoc());
  MLIRContext *context = rewriter.getContext();
  SmallVector<Value> symbols;
  // One expression for all arms: theirs if it is one constant, else a symbol
  // with the value that the index selects.
  auto unite = [&](unsigned row, int64_t unit) -> AffineExpr {
    SmallVector<Value> values;
    SmallVector<AffineExpr> expressions;
    for (ArmView &arm : arms) {
      AffineExpr expr = valueAt(arm.map.getResult(row), dims, arm.map.getNumSymbols(), unit);
      if (unit >= 0) {
        AffineExpr offset = valueAt(arm.map.getResult(row), dims, arm.map.getNumSymbols(), -1);
        expr = simplifyAffineExpr(expr - offset, 0, arm.map.getNumSymbols());
      }
      expressions.push_back(expr);
    }
    if (llvm::isa<AffineConstantExpr>(expressions.front()) && llvm::all_equal(expressions))
      return expressions.front();
    for (auto [expr, arm] : llvm::zip(expressions, arms))
      values.push_back(scalars.apply(expr, {}, arm.symbols));
    symbols.push_back(scalars.selectByIndex(choose.getIndex(), values));
    return getAffineSymbolExpr(symbols.size() - 1, context);
  };
  SmallVector<AffineExpr> results;
  for (unsigned row = 0; row < inputs; ++row) {
    AffineExpr sum = getAffineConstantExpr(0, context);
    for (unsigned dim = 0; dim < dims; ++dim)
      sum = sum + unite(row, dim) * getAffineDimExpr(dim, context);
    results.push_back(sum + unite(row, -1));
  }
  // `sizes` of the choose stand for all results; ours are a part of them.
  size_t first = 0;
  for (unsigned i = 0; i < number; ++i)
    if (auto before = llvm::dyn_cast<NamedTensorType>(choose.getResult(i).getType()))
      first += before.dynamicAxes().size();
  result = makeView(rewriter, choose.getLoc(), arms.front().root,
                    AffineMap::get(dims, symbols.size(), results, context), symbols, type,
                    choose.getSizes().slice(first, type.dynamicAxes().size()));
  return {};
}

namespace {

struct ChooseOfViews : OpRewritePattern<ChooseOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ChooseOp choose, PatternRewriter &rewriter) const override {
    if (!llvm::all_of(choose.getResultTypes(), llvm::IsaPred<NamedTensorType>))
      return rewriter.notifyMatchFailure(choose, "not all results are tensors");
    for (Region &arm : choose.getArms())
      for (Operation &op : arm.front())
        if (!llvm::isa<ViewOp, YieldOp>(op) && !isPureScalar(&op))
          return rewriter.notifyMatchFailure(choose, "an arm computes");
    SmallVector<Value> results(choose->getNumResults());
    for (unsigned i = 0; i < choose->getNumResults(); ++i) {
      std::string reason = mergeResult(choose, i, rewriter, results[i]);
      if (!reason.empty())
        return rewriter.notifyMatchFailure(choose, reason);
    }
    for (Value result : results)
      if (auto view = result.getDefiningOp<ViewOp>())
        addRemark(view, "merge-views",
                  Twine("one view for the ") + Twine(choose.getArms().size()) +
                      " arms of a choice; scalars of the sample decide");
    rewriter.replaceOp(choose, results);
    return success();
  }
};

struct MergeViewsPass : penstock::transforms::impl::MergeViewsBase<MergeViewsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ChooseOfViews>(&getContext());
    if (failed(rewriteGreedily(*this, getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([](ChooseOp choose) {
      if (touchesTensors(choose))
        addRemark(choose, "merge-views", "stays a choice: its arms are not views of one tensor");
    });
  }
};

} // namespace
