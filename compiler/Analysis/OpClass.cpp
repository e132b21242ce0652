//===- OpClass.cpp - the class of an op: I, P, H, G, R, M -----------------===//

#include "compiler/Analysis/OpClass.h"
#include "compiler/Dialect/SmallReduction.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::analysis {

static bool isTensor(Value value) { return llvm::isa<NamedTensorType>(value.getType()); }

bool touchesTensors(Operation *op) {
  auto touches = [](Operation *inner) {
    return llvm::any_of(inner->getOperands(), isTensor) ||
           llvm::any_of(inner->getResults(), isTensor);
  };
  return op
      ->walk([&](Operation *inner) {
        return touches(inner) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

bool isPureScalar(Operation *op) {
  return !op->walk([](Operation *inner) {
              const bool scalar =
                  isPure(inner) && llvm::all_of(inner->getResultTypes(), [](Type type) {
                    return isScalarType(type) || llvm::isa<KeyType>(type);
                  });
              return scalar && !touchesTensors(inner) ? WalkResult::advance()
                                                      : WalkResult::interrupt();
            }).wasInterrupted();
}

/// Whether every op in the arms is I, P or scalar.
static bool hasPointwiseArms(Operation *op) {
  for (Region &region : op->getRegions())
    for (Operation &inner : region.front()) {
      if (llvm::isa<YieldOp>(inner))
        continue;
      const OpClass found = classOf(&inner);
      if (found == OpClass::scalar && isPureScalar(&inner))
        continue;
      if (found != OpClass::constant && found != OpClass::index && found != OpClass::point)
        return false;
    }
  return true;
}

OpClass classOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, OpClass>(op)
      .Case([](ConstantOp constant) {
        return isTensor(constant) ? OpClass::constant : OpClass::scalar;
      })
      .Case<WeightsOp>([](auto) { return OpClass::weights; })
      .Case<ViewOp, PadOp, ConcatOp, StackOp, PlaceOp>([](auto) { return OpClass::index; })
      .Case<MapOp>([](auto) { return OpClass::point; })
      .Case([](CastOp cast) { return isTensor(cast) ? OpClass::point : OpClass::scalar; })
      .Case<WindowOp, ResampleOp>([](auto) { return OpClass::halo; })
      .Case<GatherOp>([](auto) { return OpClass::gather; })
      .Case([](ReduceOp reduce) {
        return isSmallReduction(reduce) ? OpClass::halo : OpClass::barrier;
      })
      .Case<ScanOp, HistogramOp, ContractOp, FftOp, CompactOp, GroupOp, ReduceByOp, SortOp>(
          [](auto) { return OpClass::barrier; })
      .Case<EncodeOp, RecompressOp>([](auto) { return OpClass::codec; })
      .Case([](DecodeOp) { return OpClass::media; })
      .Case([](FieldOp field) { return isTensor(field) ? OpClass::media : OpClass::scalar; })
      .Case<PeerOp, PeersOp>([](auto) { return OpClass::peer; })
      .Case<ChooseOp, RepeatOp>([](Operation *scope) {
        if (!touchesTensors(scope))
          return OpClass::scalar;
        return hasPointwiseArms(scope) ? OpClass::point : OpClass::branch;
      })
      .Case<BatchOp, OutputOp, LaunchOp, SwitchOp, EachOp, PipelineOp, KernelOp, ReturnOp,
            SetSlotOp, YieldOp, ExtentOp>([](auto) { return OpClass::other; })
      .Default(
          [](Operation *rest) { return touchesTensors(rest) ? OpClass::other : OpClass::scalar; });
}

bool hoistScalars(Value value, Operation *before) {
  DominanceInfo dominance;
  SetVector<Operation *> moved;
  // Operands first, so that the order of `moved` is a valid order.
  auto collect = [&](auto &self, Value wanted) -> bool {
    Operation *op = wanted.getDefiningOp();
    if (!op)
      return wanted.getParentRegion()->isAncestor(before->getParentRegion());
    if (moved.contains(op) || dominance.properlyDominates(op, before))
      return true;
    if (!isPureScalar(op))
      return false;
    SetVector<Value> needed(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(op->getRegions(), needed);
    for (Value operand : needed)
      if (!self(self, operand))
        return false;
    moved.insert(op);
    return true;
  };
  if (!collect(collect, value))
    return false;
  for (Operation *op : moved)
    op->moveBefore(before);
  return true;
}

} // namespace penstock::analysis
