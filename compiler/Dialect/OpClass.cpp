// SPDX-License-Identifier: Apache-2.0
//
// The class of an op, where its types or body tell.
#include "compiler/Dialect/SmallReduction.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace penstock::pipe;

static bool isTensor(Value value) { return llvm::isa<NamedTensorType>(value.getType()); }

bool penstock::pipe::touchesTensors(Operation *op) {
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

bool penstock::pipe::isPureScalar(Operation *op) {
  return !op->walk([](Operation *inner) {
              const bool scalar =
                  isPure(inner) && llvm::all_of(inner->getResultTypes(), [](Type type) {
                    return isScalarType(type) || llvm::isa<KeyType>(type);
                  });
              return scalar && !touchesTensors(inner) ? WalkResult::advance()
                                                      : WalkResult::interrupt();
            }).wasInterrupted();
}

/// Returns whether every op in the arms is I, P or scalar.
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

OpClass ConstantOp::getOpClass() { return isTensor(*this) ? OpClass::constant : OpClass::scalar; }

OpClass CastOp::getOpClass() { return isTensor(*this) ? OpClass::point : OpClass::scalar; }

OpClass FieldOp::getOpClass() { return isTensor(*this) ? OpClass::media : OpClass::scalar; }

OpClass ParamOp::getOpClass() { return isTensor(*this) ? OpClass::other : OpClass::scalar; }

OpClass RowOp::getOpClass() { return getList() ? OpClass::other : OpClass::scalar; }

OpClass SearchOp::getOpClass() { return touchesTensors(*this) ? OpClass::other : OpClass::scalar; }

OpClass ReduceOp::getOpClass() {
  return isSmallReduction(*this) ? OpClass::halo : OpClass::barrier;
}

static OpClass classOfScope(Operation *scope) {
  if (!touchesTensors(scope))
    return OpClass::scalar;
  return hasPointwiseArms(scope) ? OpClass::point : OpClass::branch;
}

OpClass ChooseOp::getOpClass() { return classOfScope(*this); }

OpClass RepeatOp::getOpClass() { return classOfScope(*this); }
