// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-sink-casts.
//
// Views move towards the source, so conversions end up behind them. A view
// moves through a value with several users only if all of them are views:
// else the value would be computed twice.
#include "compiler/Dialect/Drawn.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Regions.h"
#include "compiler/Transforms/Rewrite.h"
#include "compiler/Transforms/Views.h"
#include "mlir/IR/IRMapping.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_SINKCASTS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;

/// Returns whether nothing but views uses the value that `view` reads, where it is made
/// or in the batch block: in an arm, what moves would be computed anew.
static bool onlyViewsUse(ViewOp view) {
  Operation *producer = view.getInput().getDefiningOp();
  return llvm::all_of(view.getInput().getUsers(), [&](Operation *user) {
    Operation *place = llvm::isa<BatchOp>(user->getParentOp()) ? user->getParentOp() : user;
    return llvm::isa<ViewOp>(user) &&
           (user->getBlock() == producer->getBlock() || place->getBlock() == producer->getBlock());
  });
}

/// Returns whether a view of a map that reads `value` reads a view of it, which would be
/// computed anew: not what all elements share, as the mean of an image.
static bool isViewedAnew(Value value) {
  return !llvm::isa_and_present<ConstantOp>(value.getDefiningOp()) && tensorOf(value).getRank() > 0;
}

/// Replaces `op`, and erases `producer`, which it read, where nothing else does: what
/// stands before it then has one user less at once, and can move in its turn.
static void replaceOver(PatternRewriter &rewriter, Operation *op, Operation *producer,
                        Value value) {
  rewriter.replaceOp(op, value);
  if (producer->use_empty())
    rewriter.eraseOp(producer);
}

namespace {

struct ViewOfPoint : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    Operation *producer = view.getInput().getDefiningOp();
    if (inputAccessOf(producer) != InputAccess::own)
      return rewriter.notifyMatchFailure(view, "it does not read a map");
    if (!onlyViewsUse(view))
      return rewriter.notifyMatchFailure(view, "the map has other users");
    if (!readsOnce(view))
      return rewriter.notifyMatchFailure(view, "it reads elements twice");
    if (scattersDraws(view))
      return rewriter.notifyMatchFailure(view, "what follows each other would be drawn one by one");
    if (auto cast = llvm::dyn_cast<CastOp>(producer)) {
      // Not viewOperand(): a cast broadcasts nothing, not even an axis of 1.
      NamedTensorType source = tensorOf(cast.getValue());
      Value moved =
          makeView(rewriter, view.getLoc(), cast.getValue(), view.getMap(), view.getSymbols(),
                   tensorOf(view).withElementType(source.getElementType()), view.getSizes());
      replaceOver(rewriter, view, cast,
                  rewriter.create<CastOp>(view.getLoc(), view.getType(), cast.getMode(), moved,
                                          view.getSizes()));
      return success();
    }
    auto map = llvm::cast<MapOp>(producer);
    // In a chain of such maps every one would double what is below it.
    if (!view.getInput().hasOneUse() && llvm::count_if(map.getInputs(), isViewedAnew) > 1)
      return rewriter.notifyMatchFailure(
          view, "it would compute a map of several values once for each view");
    SmallVector<Value> inputs;
    for (Value input : map.getInputs())
      inputs.push_back(viewOperand(rewriter, view, input));
    auto moved = rewriter.create<MapOp>(map.getLoc(), view.getType(), inputs, view.getSizes());
    if (Attribute remarks = map->getAttr("pipe.remarks"))
      moved->setAttr("pipe.remarks", remarks);
    Block *body = startBody(rewriter, moved);
    // The logical coordinates of an element are those it had in the producer.
    SmallVector<Value> arguments(body->getArguments().take_front(inputs.size()));
    ValueRange dims = body->getArguments().drop_front(inputs.size());
    ScalarBuilder scalars(rewriter, map.getLoc());
    Block &old = map.getBody().front();
    for (auto [i, expr] : llvm::enumerate(view.getMap().getResults()))
      arguments.push_back(old.getArgument(inputs.size() + i).use_empty()
                              ? Value()
                              : scalars.apply(expr, dims, view.getSymbols()));
    SmallVector<Value> yields = cloneBody(rewriter, old, arguments);
    rewriter.create<YieldOp>(map.getLoc(), yields);
    replaceOver(rewriter, view, map, moved);
    return success();
  }
};

/// The map of `view` as a permutation of axes after a view that keeps their
/// order: the order in which the view's expressions first use its dimensions.
/// Empty if one is not used.
SmallVector<int64_t> orderOfUse(ViewOp view) {
  SmallVector<int64_t> order;
  for (AffineExpr expr : view.getMap().getResults())
    for (unsigned dim = 0; dim < view.getMap().getNumDims(); ++dim)
      if (expr.isFunctionOfDim(dim) && !llvm::is_contained(order, dim))
        order.push_back(dim);
  if (order.size() != view.getMap().getNumDims())
    order.clear();
  return order;
}

struct ViewOfResample : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    auto resample = view.getInput().getDefiningOp<ResampleOp>();
    if (!resample)
      return rewriter.notifyMatchFailure(view, "it does not read a resample");
    // Channels picked apart would be resampled apart.
    if (!view.getInput().hasOneUse() || !onlyViewsUse(view))
      return rewriter.notifyMatchFailure(view, "the resample has other users");
    NamedTensorType source = tensorOf(resample.getInput());
    NamedTensorType type = tensorOf(view);
    const int64_t axis = source.axisIndex(resample.getAxis());
    SmallVector<AffineExpr> exprs(view.getMap().getResults());

    // The resampled axis: one dimension, which no other axis uses.
    std::optional<unsigned> dim;
    for (unsigned i = 0; i < view.getMap().getNumDims(); ++i)
      if (exprs[axis].isFunctionOfDim(i)) {
        if (dim)
          return rewriter.notifyMatchFailure(view, "it mixes the axis");
        dim = i;
      }
    const SmallVector<int64_t> order = orderOfUse(view);
    if (!dim || order.empty())
      return rewriter.notifyMatchFailure(view, "it drops or adds an axis");
    for (auto [i, expr] : llvm::enumerate(exprs))
      if (static_cast<int64_t>(i) != axis && expr.isFunctionOfDim(*dim))
        return rewriter.notifyMatchFailure(view, "it mixes the axis");
    if (!readsOnce(view))
      return rewriter.notifyMatchFailure(view, "it reads elements twice");
    // Of as many columns as are known, passes go row by row, in less time than they take of half of
    // them.
    if (resample.getNumerics() == Numerics::pillow && tensorOf(resample.getResult()).isStatic() &&
        !type.isStatic())
      return rewriter.notifyMatchFailure(view, "only a sample knows what is left");

    // Only a permutation stays behind.
    if (llvm::is_sorted(order) && view.getMap().isIdentity() &&
        isIdentity(view.getInput(), view.getMap(), type, view.getSizes()))
      return rewriter.notifyMatchFailure(view, "it changes nothing");
    if (!llvm::is_sorted(order) && view.getMap().isPermutation() && keepsExtents(view))
      return rewriter.notifyMatchFailure(view, "it only permutes axes");

    // Along the axis to the tables, along the others to the input. The axes of
    // both stand in the order of use.
    SmallVector<Axis> tableAxes{type.getAxes()[*dim], tensorOf(resample.getWeights()).getAxes()[1]};
    if (tableAxes[1].name == tableAxes[0].name) // that is free now
      tableAxes[1].name = resample.getAxis().str();
    MLIRContext *context = getContext();
    Part along = partOf(view, {exprs[axis]});
    Value weights = resample.getWeights();
    SmallVector<Value> tableSizes = sizesFor(view, along.dims);
    SmallVector<Value> weightSizes = tableSizes;
    if (!tableAxes[1].isStatic())
      weightSizes.push_back(extentValue(rewriter, view.getLoc(), weights, 1));
    weights =
        makeView(rewriter, view.getLoc(), weights,
                 AffineMap::get(2, along.map.getNumSymbols(),
                                {along.map.getResult(0), getAffineDimExpr(1, context)}, context),
                 view.getSymbols(), tensorOf(weights).withAxes(tableAxes), weightSizes);
    Value start = makeView(
        rewriter, view.getLoc(), resample.getStart(), along.map, view.getSymbols(),
        tensorOf(resample.getStart()).withAxes(ArrayRef<Axis>(tableAxes).take_front()), tableSizes);

    SmallVector<Axis> inputAxes, resultAxes;
    SmallVector<Value> inputSizes, resultSizes;
    SmallVector<AffineExpr> place(order.size());
    for (auto [i, at] : llvm::enumerate(order)) {
      place[at] = getAffineDimExpr(i, context);
      Axis wanted = type.getAxes()[at];
      resultAxes.push_back(wanted);
      for (Value size : sizesFor(view, at))
        resultSizes.push_back(size);
      if (at == *dim) {
        wanted.extent = source.getAxes()[axis].extent;
        wanted.bound = source.getAxes()[axis].bound;
        if (!wanted.isStatic())
          inputSizes.push_back(extentValue(rewriter, view.getLoc(), resample.getInput(), axis));
      } else {
        for (Value size : sizesFor(view, at))
          inputSizes.push_back(size);
      }
      inputAxes.push_back(wanted);
    }
    SmallVector<AffineExpr> symbols, across;
    for (unsigned i = 0; i < view.getMap().getNumSymbols(); ++i)
      symbols.push_back(getAffineSymbolExpr(i, context));
    for (auto [i, expr] : llvm::enumerate(exprs))
      across.push_back(static_cast<int64_t>(i) == axis
                           ? place[*dim]
                           : expr.replaceDimsAndSymbols(place, symbols));
    Value input = makeView(rewriter, view.getLoc(), resample.getInput(),
                           AffineMap::get(order.size(), symbols.size(), across, context),
                           view.getSymbols(), source.withAxes(inputAxes), inputSizes);
    auto moved = rewriter.create<ResampleOp>(
        resample.getLoc(), source.withAxes(resultAxes), resample.getNumerics(), input,
        type.getAxes()[*dim].name, weights, start, resultSizes);
    if (llvm::is_sorted(order)) {
      replaceOver(rewriter, view, resample, moved);
      return success();
    }
    SmallVector<AffineExpr> back;
    for (int64_t at : order)
      back.push_back(getAffineDimExpr(at, context));
    replaceOver(
        rewriter, view, resample,
        rewriter.create<ViewOp>(view.getLoc(), type, moved,
                                AffineMapAttr::get(AffineMap::get(order.size(), 0, back, context)),
                                ValueRange(), view.getSizes()));
    return success();
  }

private:
  /// Returns whether each axis of the result has the extent of the axis it reads.
  static bool keepsExtents(ViewOp view) {
    for (auto [i, expr] : llvm::enumerate(view.getMap().getResults())) {
      const unsigned at = llvm::cast<AffineDimExpr>(expr).getPosition();
      if (extentOf(view.getInput(), i) != extentOf(view.getResult(), at))
        return false;
    }
    return true;
  }
};

struct ViewOfStack : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    auto stack = view.getInput().getDefiningOp<StackOp>();
    if (!stack)
      return rewriter.notifyMatchFailure(view, "it does not read a stack");
    NamedTensorType type = tensorOf(view);
    ArrayRef<AffineExpr> exprs = view.getMap().getResults();
    if (auto number = llvm::dyn_cast<AffineConstantExpr>(exprs[0])) {
      replaceOver(rewriter, view, stack,
                  makeView(rewriter, view.getLoc(), stack.getInputs()[number.getValue()],
                           AffineMap::get(view.getMap().getNumDims(), view.getMap().getNumSymbols(),
                                          exprs.drop_front(), getContext()),
                           view.getSymbols(), type, view.getSizes()));
      return success();
    }
    // The stacked axis stays outermost and whole.
    const bool whole = exprs[0] == getAffineDimExpr(0, getContext()) &&
                       type.getAxes()[0].extent == static_cast<int64_t>(stack.getInputs().size());
    if (!whole ||
        llvm::any_of(exprs.drop_front(), [](AffineExpr expr) { return expr.isFunctionOfDim(0); }))
      return rewriter.notifyMatchFailure(view, "it moves the stacked axis");
    if (!onlyViewsUse(view))
      return rewriter.notifyMatchFailure(view, "the stack has other users");
    SmallVector<AffineExpr> dims{getAffineConstantExpr(0, getContext())};
    SmallVector<AffineExpr> symbols;
    for (unsigned i = 1; i < view.getMap().getNumDims(); ++i)
      dims.push_back(getAffineDimExpr(i - 1, getContext()));
    for (unsigned i = 0; i < view.getMap().getNumSymbols(); ++i)
      symbols.push_back(getAffineSymbolExpr(i, getContext()));
    SmallVector<AffineExpr> inner;
    for (AffineExpr expr : exprs.drop_front())
      inner.push_back(expr.replaceDimsAndSymbols(dims, symbols));
    AffineMap map = AffineMap::get(dims.size() - 1, symbols.size(), inner, getContext());
    SmallVector<Value> views;
    for (Value input : stack.getInputs())
      views.push_back(makeView(rewriter, view.getLoc(), input, map, view.getSymbols(),
                               type.withAxes(type.getAxes().drop_front()), view.getSizes()));
    replaceOver(rewriter, view, stack,
                rewriter.create<StackOp>(view.getLoc(), type, type.getAxes()[0].name, views,
                                         view.getSizes()));
    return success();
  }
};

/// A stack of equal conversions becomes the conversion of a stack.
struct StackOfPoint : OpRewritePattern<StackOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(StackOp stack, PatternRewriter &rewriter) const override {
    Operation *first = stack.getInputs().front().getDefiningOp();
    if (inputAccessOf(first) != InputAccess::own)
      return rewriter.notifyMatchFailure(stack, "it does not stack maps");
    for (Value input : stack.getInputs())
      if (!input.hasOneUse() || !isSamePoint(first, input.getDefiningOp()))
        return rewriter.notifyMatchFailure(stack, "the maps differ, or have other users");
    auto map = llvm::dyn_cast<MapOp>(first);
    const size_t inputs = map ? map.getInputs().size() : 1;
    SmallVector<SmallVector<Value>> columns(inputs);
    int64_t moved = 0;
    for (size_t i = 0; i < inputs; ++i) {
      for (Value input : stack.getInputs())
        columns[i].push_back(input.getDefiningOp()->getOperand(i));
      if (llvm::all_equal(columns[i]))
        continue;
      moved += scalarBytes(tensorOf(columns[i].front()).getElementType());
      // Extents that differ from view to view would be another value.
      for (Value input : columns[i])
        if (input.getType() != columns[i].front().getType() || !tensorOf(input).isStatic() ||
            tensorOf(input).axisIndex(stack.getAxis()) >= 0)
          return rewriter.notifyMatchFailure(stack, "the maps read different types");
    }
    NamedTensorType type = tensorOf(stack);
    if (moved == 0 || moved > scalarBytes(type.getElementType()))
      return rewriter.notifyMatchFailure(stack, "the maps do not widen");
    SmallVector<Value> operands;
    for (ArrayRef<Value> column : columns) {
      if (llvm::all_equal(column)) {
        operands.push_back(column.front());
        continue;
      }
      NamedTensorType source = tensorOf(column.front());
      SmallVector<Axis> axes{type.getAxes().front()};
      llvm::append_range(axes, source.getAxes());
      operands.push_back(rewriter.create<StackOp>(stack.getLoc(), source.withAxes(axes),
                                                  stack.getAxis(), column, ValueRange()));
    }
    const SmallVector<Value> stacked(stack.getInputs());
    auto replace = [&](Value joined) {
      rewriter.replaceOp(stack, joined);
      for (Value input : stacked)
        rewriter.eraseOp(input.getDefiningOp());
    };
    if (auto cast = llvm::dyn_cast<CastOp>(first)) {
      replace(rewriter.create<CastOp>(stack.getLoc(), type, cast.getMode(), operands.front(),
                                      stack.getSizes()));
      return success();
    }
    auto joined = rewriter.create<MapOp>(map.getLoc(), type, operands, stack.getSizes());
    Block *body = startBody(rewriter, joined);
    // Without the coordinate along the new axis.
    SmallVector<Value> arguments(body->getArguments().take_front(inputs));
    llvm::append_range(arguments, body->getArguments().drop_front(inputs + 1));
    SmallVector<Value> yields = cloneBody(rewriter, map.getBody().front(), arguments);
    rewriter.create<YieldOp>(map.getLoc(), yields);
    replace(joined);
    return success();
  }

private:
  static bool isSamePoint(Operation *a, Operation *b) {
    if (!b || a->getName() != b->getName() || a->getNumOperands() != b->getNumOperands() ||
        a->getResultTypes() != b->getResultTypes())
      return false;
    if (auto cast = llvm::dyn_cast<CastOp>(a))
      return cast.getMode() == llvm::cast<CastOp>(b).getMode();
    return OperationEquivalence::isRegionEquivalentTo(&a->getRegion(0), &b->getRegion(0),
                                                      OperationEquivalence::IgnoreLocations);
  }
};

/// Returns whether kernels in the arms of a choice read a picture from outside as the choice gives
/// it, or hand it on.
static bool keepsOrder(ChooseOp choose) {
  const auto found = choose->walk([&](Operation *op) {
    return llvm::any_of(op->getOperands(),
                        [&](Value operand) {
                          return operand.getType() == choose->getResult(0).getType() &&
                                 !choose->isAncestor(operand.getParentBlock()->getParentOp());
                        })
               ? WalkResult::interrupt()
               : WalkResult::advance();
  });
  return classOf(choose) == OpClass::branch && found.wasInterrupted();
}

struct ViewOfChoose : OpRewritePattern<ViewOp> {
  ViewOfChoose(MLIRContext *context, bool device)
      : OpRewritePattern<ViewOp>(context), device(device) {}
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    auto choose = view.getInput().getDefiningOp<ChooseOp>();
    if (!choose || choose->getNumResults() != 1)
      return rewriter.notifyMatchFailure(view, "it does not read a choose");
    if (!view.getInput().hasOneUse())
      return rewriter.notifyMatchFailure(view, "the choose has other users");
    if (device && view.getMap().isPermutation() && keepsOrder(choose))
      return rewriter.notifyMatchFailure(view, "arms keep the order of axes");
    auto moved =
        rewriter.create<ChooseOp>(choose.getLoc(), view->getResultTypes(), choose.getIndex(),
                                  view.getSizes(), choose.getArms().size());
    for (auto [from, to] : llvm::zip(choose.getArms(), moved.getArms())) {
      rewriter.inlineRegionBefore(from, to, to.end());
      Operation *yield = to.front().getTerminator();
      rewriter.setInsertionPoint(yield);
      Value inner = makeView(rewriter, view.getLoc(), yield->getOperand(0), view.getMap(),
                             view.getSymbols(), tensorOf(view), view.getSizes());
      rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, inner); });
    }
    rewriter.replaceOp(view, moved);
    rewriter.eraseOp(choose);
    return success();
  }

private:
  bool device;
};

/// A peer moves data as a view does, from another sample of the batch.
struct ViewOfPeer : OpRewritePattern<ViewOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ViewOp view, PatternRewriter &rewriter) const override {
    auto peer = view.getInput().getDefiningOp<PeerOp>();
    const bool isPeered = llvm::any_of(
        view->getUsers(), [](Operation *user) { return llvm::isa<PeerOp, PeersOp>(user); });
    if (!peer || !onlyViewsUse(view) || !peer->hasOneUse() || isPeered)
      return rewriter.notifyMatchFailure(view, "it is not a peer's only user");
    if (!view.getSymbols().empty() || !tensorOf(view).isStatic())
      return rewriter.notifyMatchFailure(view, "its scalars are not the peer's");
    Value moved =
        makeView(rewriter, view.getLoc(), peer.getValue(), view.getMap(), {}, tensorOf(view), {});
    replaceOver(rewriter, view, peer,
                rewriter.create<PeerOp>(view.getLoc(), view.getType(), moved, peer.getSlot()));
    return success();
  }
};

/// Returns the only tensor that `producer`, which makes a value that `reader` takes from other
/// samples, converts; fails if it is larger, or if the sample's own scalars have a part in it.
FailureOr<Value> convertedFrom(Operation *reader, Operation *producer, PatternRewriter &rewriter) {
  if (inputAccessOf(producer) != InputAccess::own)
    return rewriter.notifyMatchFailure(reader, "it does not read a map");
  Value source;
  for (Value input : producer->getOperands()) {
    if (input.getDefiningOp<ConstantOp>())
      continue;
    if (source || !llvm::isa<NamedTensorType>(input.getType()))
      return rewriter.notifyMatchFailure(reader, "the map reads other values");
    source = input;
  }
  if (source && source.getDefiningOp<PeerOp>())
    return rewriter.notifyMatchFailure(reader, "it would be a peer's peer, which has no buffer");
  NamedTensorType made = tensorOf(producer->getResult(0));
  if (!source || !tensorOf(source).isStatic() || tensorOf(source).getRank() != made.getRank() ||
      scalarBytes(tensorOf(source).getElementType()) > scalarBytes(made.getElementType()))
    return rewriter.notifyMatchFailure(reader, "its input is larger");
  bool captures = false;
  producer->walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      captures |= op != producer && !operand.getDefiningOp<ConstantOp>() &&
                  !producer->getRegion(0).isAncestor(operand.getParentRegion());
  });
  if (captures)
    return rewriter.notifyMatchFailure(reader, "the map reads scalars of its own sample");
  return source;
}

/// The peer's element before its conversion: the batch keeps the smaller type,
/// and each reader converts.
struct PeerOfPoint : OpRewritePattern<PeerOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PeerOp peer, PatternRewriter &rewriter) const override {
    Operation *producer = peer.getValue().getDefiningOp();
    FailureOr<Value> source = convertedFrom(peer, producer, rewriter);
    if (failed(source))
      return failure();
    Value other =
        rewriter.create<PeerOp>(peer.getLoc(), source->getType(), *source, peer.getSlot());
    IRMapping mapping;
    mapping.map(*source, other);
    replaceOver(rewriter, peer, producer, rewriter.clone(*producer, mapping)->getResult(0));
    return success();
  }
};

/// As PeerOfPoint, for the values of all samples, if the source type is smaller: each sample
/// converts its own value in parallel, but the batch one after the other.
struct PeersOfPoint : OpRewritePattern<PeersOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(PeersOp peers, PatternRewriter &rewriter) const override {
    Operation *producer = peers.getValue().getDefiningOp();
    FailureOr<Value> source = convertedFrom(peers, producer, rewriter);
    if (failed(source))
      return failure();
    NamedTensorType from = tensorOf(*source), to = tensorOf(peers.getResult());
    if (scalarBytes(from.getElementType()) >= scalarBytes(to.getElementType()))
      return rewriter.notifyMatchFailure(peers, "its input is no smaller");
    SmallVector<Axis> axes{to.getAxes().front()};
    llvm::append_range(axes, from.getAxes());
    Value all = rewriter.create<PeersOp>(peers.getLoc(), from.withAxes(axes), *source,
                                         peers.getAxis(), peers.getSizes());
    if (auto cast = llvm::dyn_cast<CastOp>(producer)) {
      replaceOver(
          rewriter, peers, producer,
          rewriter.create<CastOp>(cast.getLoc(), to, cast.getMode(), all, peers.getSizes()));
      return success();
    }
    auto map = llvm::cast<MapOp>(producer);
    SmallVector<Value> inputs;
    for (Value input : map.getInputs())
      inputs.push_back(input == *source ? all : input);
    auto moved = rewriter.create<MapOp>(map.getLoc(), to, inputs, peers.getSizes());
    IRMapping mapping;
    rewriter.cloneRegionBefore(map.getBody(), moved.getBody(), moved.getBody().end(), mapping);
    moved.getBody().front().insertArgument(static_cast<unsigned>(inputs.size()),
                                           rewriter.getI64Type(), map.getLoc()); // along the batch
    replaceOver(rewriter, peers, producer, moved.getResult());
    return success();
  }
};

/// The integers that `sum` adds up as f64, whose sums are exact in any order; null where they may
/// not be. As f32 they are as fast.
Value exactSummands(ReduceOp sum) {
  if (sum.getKind() != ReduceKind::sum || !tensorOf(sum.getValue()).getElementType().isF64())
    return {};
  Value source = sum.getValue();
  while (auto cast = source.getDefiningOp<CastOp>()) {
    const Type from = tensorOf(cast.getValue()).getElementType();
    if (cast.getMode() != CastMode::value || !(from.isF32() || from.isIntOrIndex()))
      return {};
    source = cast.getValue();
    if (!from.isF32())
      break;
  }
  auto integer = llvm::dyn_cast<IntegerType>(tensorOf(source).getElementType());
  // Each partial sum, and what these give, is a number of 53 bits: no memory holds more elements.
  return integer && integer.getWidth() > 1 && integer.getWidth() <= 16 ? source : Value();
}

/// A sum of converted integers is the conversion of their sum, which no order changes: they are
/// added as they are, many at a time.
struct SumOfCast : OpRewritePattern<ReduceOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(ReduceOp sum, PatternRewriter &rewriter) const override {
    Value source = exactSummands(sum);
    if (!source || classOf(sum) != OpClass::barrier)
      return rewriter.notifyMatchFailure(sum, "it adds up no integers, few, or not exactly");
    NamedTensorType in = tensorOf(source), out = tensorOf(sum.getResult());
    const Type i64 = rewriter.getI64Type();
    SmallVector<Value> sizes;
    for (int64_t axis : in.dynamicAxes())
      sizes.push_back(extentValue(rewriter, sum.getLoc(), source, axis));
    Value wide = rewriter.create<CastOp>(sum.getLoc(), in.withElementType(i64), CastMode::value,
                                         source, sizes);
    auto added = rewriter.create<ReduceOp>(sum.getLoc(), out.withElementType(i64), ReduceKind::sum,
                                           wide, sum.getOver(), sum.getSizes());
    rewriter.replaceOpWithNewOp<CastOp>(sum, out, CastMode::value, added, sum.getSizes());
    return success();
  }
};

struct SinkCastsPass : penstock::transforms::impl::SinkCastsBase<SinkCastsPass> {
  using SinkCastsBase::SinkCastsBase;
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ViewOfPoint, ViewOfResample, ViewOfStack, StackOfPoint, ViewOfPeer, PeerOfPoint,
                 PeersOfPoint, SumOfCast>(&getContext());
    patterns.add<ViewOfChoose>(&getContext(), device);
    if (failed(rewriteGreedily(*this, getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([](ViewOp view) {
      Operation *producer = view.getInput().getDefiningOp();
      if (inputAccessOf(producer) != InputAccess::own &&
          !llvm::isa_and_present<ResampleOp>(producer))
        return;
      if (!onlyViewsUse(view))
        addRemark(view, "sink-casts", "stays after the conversion, which others use too");
      else if (!readsOnce(view))
        addRemark(view, "sink-casts", "stays after the conversion: it reads elements twice");
    });
  }
};

} // namespace
