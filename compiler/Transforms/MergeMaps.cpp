// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-merge-maps.
#include "compiler/Dialect/UserPlaces.h"
#include "compiler/Transforms/Passes.h"
#include "compiler/Transforms/Regions.h"
#include "compiler/Transforms/Rewrite.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_MERGEMAPS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::transforms;

/// A map, or a cast of a tensor, which is a map of one op.
static bool isPoint(Operation *op) {
  return inputAccessOf(op) == InputAccess::own &&
         llvm::isa<NamedTensorType>(op->getResult(0).getType());
}

static ValueRange inputsOf(Operation *op) {
  if (auto map = llvm::dyn_cast<MapOp>(op))
    return map.getInputs();
  return op->getOperands().take_front(1);
}

/// Emits the element of `op` at the insertion point. `coordinate` gives the
/// value of an axis by name.
static Value emitElement(OpBuilder &builder, Operation *op, ArrayRef<Value> elements,
                         llvm::function_ref<Value(StringRef)> coordinate) {
  if (auto cast = llvm::dyn_cast<CastOp>(op))
    return builder.create<CastOp>(op->getLoc(), tensorOf(op->getResult(0)).getElementType(),
                                  cast.getMode(), elements.front(), ValueRange());
  auto map = llvm::cast<MapOp>(op);
  SmallVector<Value> arguments(elements);
  for (const Axis &axis : tensorOf(map).getAxes())
    arguments.push_back(coordinate(axis.name));
  return cloneBody(builder, map.getBody().front(), arguments).front();
}

static size_t lengthOf(Operation *op) {
  auto map = llvm::dyn_cast<MapOp>(op);
  return map ? map.getBody().front().getOperations().size() : 1;
}

/// In the time that the shorter one takes.
static bool isLonger(Operation *one, Operation *other) {
  auto map = llvm::dyn_cast<MapOp>(one), against = llvm::dyn_cast<MapOp>(other);
  if (!map || !against)
    return lengthOf(one) > lengthOf(other);
  Block &a = map.getBody().front(), &b = against.getBody().front();
  auto i = a.begin(), j = b.begin();
  while (i != a.end() && j != b.end())
    ++i, ++j;
  return i != a.end();
}

/// Returns the block in which `op` runs for each sample: what reads values of the sample in a batch
/// runs as if it stood in front of it.
static Block *sampleBlockOf(Operation *op) {
  Operation *parent = op->getParentOp();
  return llvm::isa_and_present<BatchOp>(parent) ? parent->getBlock() : op->getBlock();
}

/// Returns the reason that `producer` is not joined with `user`; empty if it is.
static StringRef refusal(Operation *producer, Operation *user) {
  if (producer->getBlock() != user->getBlock())
    return "stays apart: its user stands in a branch";
  for (Operation *other : producer->getUsers()) {
    Operation *outer = user->getBlock()->findAncestorOpInBlock(*other);
    if (outer != user)
      return "stays apart: several ops use it";
    if (other != user)
      return "stays apart: its user reads it at computed indices";
  }
  if (tensorOf(producer->getResult(0)).getRank() != tensorOf(user->getResult(0)).getRank())
    return "stays apart: its user broadcasts it, and computes it once so";
  return {};
}

namespace {

struct JoinProducer : RewritePattern {
  explicit JoinProducer(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}
  LogicalResult matchAndRewrite(Operation *user, PatternRewriter &rewriter) const override {
    if (!isPoint(user))
      return failure();
    Operation *producer = nullptr;
    for (Value input : inputsOf(user))
      if (Operation *op = input.getDefiningOp(); isPoint(op) && refusal(op, user).empty()) {
        producer = op;
        break;
      }
    if (!producer)
      return rewriter.notifyMatchFailure(user, "no producer can join it");
    SmallVector<Value> inputs;
    auto place = [&](Value input) {
      auto *at = llvm::find(inputs, input);
      const size_t index = at - inputs.begin();
      if (at == inputs.end())
        inputs.push_back(input);
      return index;
    };
    for (Value input : inputsOf(user))
      if (input.getDefiningOp() == producer)
        for (Value deeper : inputsOf(producer))
          place(deeper);
      else
        place(input);
    auto joined = rewriter.create<MapOp>(joinedPlaces(producer->getLoc(), user->getLoc()),
                                         user->getResult(0).getType(), inputs,
                                         llvm::cast<SizedOpInterface>(user).getSizes());
    // Copies the shorter body into the longer one: a chain of maps is joined link by
    // link, and copying all of the joined ones each time would be quadratic.
    Operation *longer = isLonger(producer, user) ? producer : user;
    Block *body = startBody(rewriter, joined);
    unsigned before = 0; // arguments that go
    auto from = llvm::dyn_cast<MapOp>(longer);
    if (from) {
      Block *own = &from.getBody().front();
      before = own->getNumArguments();
      for (BlockArgument argument : body->getArguments())
        own->addArgument(argument.getType(), argument.getLoc());
      rewriter.eraseBlock(body);
      rewriter.inlineRegionBefore(from.getBody(), joined.getBody(), joined.getBody().end());
      body = own;
    }
    auto coordinate = [&](StringRef axis) -> Value {
      return body->getArgument(before + inputs.size() + tensorOf(joined).axisIndex(axis));
    };
    auto element = [&](Value input) { return body->getArgument(before + place(input)); };
    auto argumentsBecome = [&](ArrayRef<Value> elements) {
      for (auto [i, value] : llvm::enumerate(elements))
        body->getArgument(i).replaceAllUsesWith(value);
      for (const Axis &axis : tensorOf(longer->getResult(0)).getAxes())
        body->getArgument(elements.size() + tensorOf(longer->getResult(0)).axisIndex(axis.name))
            .replaceAllUsesWith(coordinate(axis.name));
    };
    SmallVector<Value> deeper;
    for (Value input : inputsOf(producer))
      deeper.push_back(element(input));
    Value inner;
    if (from && longer == producer) {
      argumentsBecome(deeper);
      Operation *yield = body->getTerminator();
      inner = yield->getOperand(0);
      rewriter.eraseOp(yield);
    } else {
      rewriter.setInsertionPointToStart(body);
      inner = emitElement(rewriter, producer, deeper, coordinate);
    }
    SmallVector<Value> elements;
    for (Value input : inputsOf(user))
      elements.push_back(input.getDefiningOp() == producer ? inner : element(input));
    if (from && longer == user) {
      argumentsBecome(elements);
    } else {
      rewriter.setInsertionPointToEnd(body);
      Value outer = emitElement(rewriter, user, elements, coordinate);
      rewriter.create<YieldOp>(user->getLoc(), outer);
    }
    body->eraseArguments(0, before);
    for (Operation *old : {producer, user})
      if (auto remarks = old->getAttrOfType<ArrayAttr>("pipe.remarks"))
        for (auto remark : remarks.getAsRange<RemarkAttr>())
          addRemark(joined, remark.getPass().strref(), remark.getText().strref());
    rewriter.replaceOp(user, joined);
    rewriter.eraseOp(producer);
    return success();
  }
};

/// What is merged, or taken apart in another way, is computed where it belongs, so that nobody
/// stores it first. A map that reads no more elements than there are computes none of them twice.
struct LoadOfPoint : OpRewritePattern<LoadOp> {
  using OpRewritePattern::OpRewritePattern;
  /// A producer's body is copied each time.
  static constexpr size_t mostCopied = 32;

  LogicalResult matchAndRewrite(LoadOp load, PatternRewriter &rewriter) const override {
    Operation *producer = load.getTensor().getDefiningOp();
    auto user = llvm::dyn_cast<MapOp>(load->getParentOp());
    if (!producer || !isPoint(producer) || !user ||
        (producer->getBlock() != user->getBlock() && producer->getBlock() != sampleBlockOf(user)))
      return rewriter.notifyMatchFailure(load, "it reads no pointwise op beside its map");
    if (!producer->hasOneUse() || lengthOf(producer) > mostCopied)
      return rewriter.notifyMatchFailure(load, "others read that, or it is long");
    const NamedTensorType type = tensorOf(load.getTensor());
    if (!tensorOf(user).isStatic() || !readsInside(user, load) ||
        tensorOf(user).numElements() > type.numElements())
      return rewriter.notifyMatchFailure(load, "it may read beyond that, or elements twice");
    int whole = 0; // inputs of as many elements
    for (Value input : inputsOf(producer)) {
      whole += tensorOf(input).getRank() == type.getRank();
      if (scalarBytes(tensorOf(input).getElementType()) > scalarBytes(type.getElementType()))
        return rewriter.notifyMatchFailure(load, "what it is made of takes more memory");
    }
    if (whole > 1)
      return rewriter.notifyMatchFailure(load, "several elements would be read for one");
    auto coordinate = [&](StringRef axis) { return load.getIndices()[type.axisIndex(axis)]; };
    SmallVector<Value> elements;
    for (Value input : inputsOf(producer)) {
      SmallVector<Value> at;
      for (const Axis &axis : tensorOf(input).getAxes())
        at.push_back(coordinate(axis.name));
      elements.push_back(
          rewriter.create<LoadOp>(load.getLoc(), tensorOf(input).getElementType(), input, at));
    }
    rewriter.replaceOp(load, emitElement(rewriter, producer, elements, coordinate));
    rewriter.eraseOp(producer);
    return success();
  }
};

struct MergeMapsPass : penstock::transforms::impl::MergeMapsBase<MergeMapsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<JoinProducer, LoadOfPoint>(&getContext());
    if (failed(rewriteGreedily(*this, getOperation(), std::move(patterns))))
      return signalPassFailure();
    getOperation()->walk([](Operation *user) {
      if (!isPoint(user))
        return;
      for (Value input : inputsOf(user))
        if (Operation *producer = input.getDefiningOp(); isPoint(producer))
          addRemark(producer, "merge-maps", refusal(producer, user));
    });
  }
};

} // namespace
