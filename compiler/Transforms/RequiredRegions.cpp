// SPDX-License-Identifier: Apache-2.0
//
// The pass pipe-required-regions.
#include "compiler/Analysis/RequiredRegions.h"
#include "compiler/Dialect/ScalarBuilder.h"
#include "compiler/Transforms/Passes.h"
#include "mlir/Transforms/RegionUtils.h"
#include "runtime/abi/media.h"
#include "llvm/ADT/SetVector.h"

namespace penstock::transforms {
#define GEN_PASS_DEF_REQUIREDREGIONS
#include "compiler/Transforms/Passes.h.inc"
} // namespace penstock::transforms

using namespace mlir;
using namespace penstock::pipe;
namespace analysis = penstock::analysis;
namespace media = penstock::media;

/// Moves the scalars of arms and of the batch out, and all scalars before the
/// tensors. Returns the first op that stays behind them, or null.
static Operation *scalarsFirst(PipelineOp pipeline) {
  Block &body = pipeline.getBody().front();
  SmallVector<Operation *> nested;
  pipeline.walk([&](Operation *op) {
    const bool leaves =
        llvm::isa<ChooseOp>(op->getParentOp()) || llvm::isa<BatchOp>(op->getParentOp());
    if (leaves && op->getBlock() != &body && isPureScalar(op) &&
        !llvm::isa<YieldOp, PeerOp>(op)) // another sample's number belongs to the batch
      nested.push_back(op);
  });
  for (Operation *op : nested) {
    Operation *outer = body.findAncestorOpInBlock(*op);
    // Only from scopes that always see the values from outside.
    bool free = true;
    for (Operation *scope = op->getParentOp(); scope != pipeline; scope = scope->getParentOp())
      free &= llvm::isa<ChooseOp, BatchOp>(scope) && touchesTensors(scope);
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), used);
    for (Value operand : used)
      free &= operand.getParentBlock() == &body;
    if (free)
      op->moveBefore(outer);
  }
  Operation *first = nullptr;
  DenseSet<Operation *> late;
  for (Operation &op : llvm::make_early_inc_range(body)) {
    SetVector<Value> used(op.operand_begin(), op.operand_end());
    getUsedValuesDefinedAbove(op.getRegions(), used);
    const bool stays =
        touchesTensors(&op) || llvm::isa<BatchOp>(op) ||
        llvm::any_of(used, [&](Value value) { return late.contains(value.getDefiningOp()); });
    if (stays)
      late.insert(&op);
    if (stays && !first)
      first = &op;
    else if (!stays && first)
      op.moveBefore(first);
  }
  return first;
}

/// A video's frames refer to one another as wholes: a region of them saves making
/// pixels, and nothing before that.
static StringRef remarkOf(DecodeOp decode, bool isWhole, bool isSometimes) {
  const bool isVideo = decode.getMedia() == "video";
  if (media::isOfNumbers(std::string_view(decode.getMedia())))
    return isSometimes ? "copies what is read, only where a branch that reads it is taken"
           : isWhole   ? "copies all elements: all of them are read"
                       : "copies the elements that are read";
  if (decode.getMedia() == "wave")
    return isSometimes
               ? "decodes the samples that are read, only where a branch that reads them is taken"
           : isWhole ? "decodes all samples: all of them are read"
                     : "decodes the samples that are read";
  if (isSometimes)
    return isVideo ? "reads the clip and makes pixels of what is read, only where a branch that "
                     "reads it is taken"
                   : "decodes what is read, only where a branch that reads it is taken";
  if (isWhole)
    return isVideo ? "makes pixels of whole frames: all of them is read"
                   : "decodes the whole image: all of it is read";
  return isVideo ? "makes pixels of the region that is read of each frame"
                 : "decodes the region that is read, and stops after its last row";
}

/// The axes along which a part of the file can be asked for: those whose extents
/// stand in it. What a decode is asked for by its arguments is so already.
static SmallVector<int64_t> axesOfFile(DecodeOp decode) {
  auto type = llvm::cast<NamedTensorType>(decode.getType());
  SmallVector<int64_t> axes = type.dynamicAxes();
  // Arrays have no other axes, and may have said how long theirs are. Few numbers, such as those of
  // a point, lie side by side and are read together.
  constexpr int64_t few = 16;
  if (media::isOfNumbers(std::string_view(decode.getMedia()))) {
    axes.clear();
    for (auto [number, axis] : llvm::enumerate(type.getAxes()))
      if (!axis.isStatic() || axis.extent > few)
        axes.push_back(static_cast<int64_t>(number));
  }
  if (media::all[media::find(std::string_view(decode.getMedia()))].choosesByArguments)
    llvm::erase_if(axes, [](int64_t axis) { return axis == 0; });
  return axes;
}

static void setRegions(PipelineOp pipeline) {
  Operation *first = scalarsFirst(pipeline);
  if (!first)
    return;
  OpBuilder builder(first);
  analysis::RequiredRegions regions(pipeline, builder);
  pipeline.walk([&](DecodeOp decode) {
    const analysis::Need *need = regions.needOf(decode.getResult());
    const SmallVector<int64_t> axes = axesOfFile(decode);
    if (!need || decode.getOver() || axes.empty())
      return;
    if (llvm::all_of(axes, [&](int64_t axis) { return need->box[axis].isWhole(); }) &&
        !need->when) {
      addRemark(decode, "required-regions", remarkOf(decode, true, false));
      return;
    }
    ScalarBuilder scalars(builder, decode.getLoc());
    auto type = llvm::cast<NamedTensorType>(decode.getType());
    SmallVector<Value> region, ends;
    SmallVector<StringRef> names;
    for (int64_t axis : axes) {
      const AxisRange &wanted = need->box[axis];
      Value low = wanted.isWhole() ? scalars.constant(0) : wanted.low;
      Value high =
          wanted.isWhole() ? extentValue(builder, decode.getLoc(), decode, axis) : wanted.high;
      // Where no branch reads the result, its region is empty.
      if (need->when) {
        low = scalars.select(need->when, low, scalars.constant(0));
        high = scalars.select(need->when, high, scalars.constant(0));
      }
      region.push_back(low);
      ends.push_back(high);
      names.push_back(type.getAxes()[static_cast<size_t>(axis)].name);
    }
    region.append(ends);
    decode.setOverAttr(builder.getStrArrayAttr(names));
    decode.getRegionMutable().assign(region);
    addRemark(decode, "required-regions", remarkOf(decode, false, bool(need->when)));
  });
}

namespace {
struct RequiredRegionsPass : penstock::transforms::impl::RequiredRegionsBase<RequiredRegionsPass> {
  void runOnOperation() override {
    getOperation()->walk([](PipelineOp pipeline) { setRegions(pipeline); });
  }
};
} // namespace
