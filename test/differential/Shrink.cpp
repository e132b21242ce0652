// SPDX-License-Identifier: Apache-2.0
//
// The smallest pipeline that still differs.
#include "test/differential/Shrink.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

static void eraseDead(ModuleOp module) {
  bool again = true;
  while (again) {
    again = false;
    module.walk<WalkOrder::PostOrder>([&](Operation *op) {
      if (!isOpTriviallyDead(op))
        return;
      op->erase();
      again = true;
    });
  }
}

/// A constant that may stand for a value.
static Attribute plainConstant(Type type, int variant) {
  Builder b(type.getContext());
  if (auto tensor = llvm::dyn_cast<NamedTensorType>(type)) {
    if (!tensor.isStatic() || tensor.numElements() > 4096)
      return {};
    SmallVector<int64_t> shape;
    for (const Axis &axis : tensor.getAxes())
      shape.push_back(axis.extent);
    Attribute element = plainConstant(tensor.getElementType(), variant);
    return DenseElementsAttr::get(RankedTensorType::get(shape, tensor.getElementType()), element);
  }
  if (!isScalarType(type))
    return {};
  if (llvm::isa<FloatType>(type))
    return b.getFloatAttr(type, variant);
  return b.getIntegerAttr(type, variant);
}

/// Edit number `edit` of a module; false past the last one. An edit may leave a
/// module that means nothing: it then does not count as failing.
static bool apply(ModuleOp module, int64_t edit) {
  Operation *target = nullptr;
  int variant = 0;
  std::vector<Operation *> outputs;
  module.walk([&](Operation *op) {
    if (llvm::isa<OutputOp>(op))
      outputs.push_back(op);
  });
  if (edit < static_cast<int64_t>(outputs.size())) {
    if (outputs.size() > 1)
      outputs[static_cast<size_t>(edit)]->erase();
    return true;
  }
  edit -= static_cast<int64_t>(outputs.size());
  // Four for each value, the latest first: an operand of its type, or a constant.
  constexpr int variants = 4;
  std::vector<Operation *> ops;
  module.walk([&](Operation *op) {
    if (op->getNumResults() > 0 && !llvm::isa<ConstantOp, SourceOp, RowOp, KeyOp>(op))
      ops.push_back(op);
  });
  if (edit >= static_cast<int64_t>(ops.size()) * variants)
    return false;
  target = ops[ops.size() - 1 - static_cast<size_t>(edit / variants)];
  variant = static_cast<int>(edit % variants);
  OpBuilder builder(target);
  for (Value result : target->getResults()) {
    Value other;
    if (variant < 2) {
      int skip = variant;
      for (Value operand : target->getOperands())
        if (operand.getType() == result.getType() && skip-- == 0)
          other = operand;
    } else if (Attribute value = plainConstant(result.getType(), variant - 2)) {
      other = builder.create<ConstantOp>(target->getLoc(), result.getType(),
                                         llvm::cast<TypedAttr>(value));
    }
    if (other)
      result.replaceAllUsesWith(other);
  }
  return true;
}

static int64_t opCount(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Operation *) { ++count; });
  return count;
}

Case shrink(MLIRContext &context, const Recipe &recipe, const Fails &fails) {
  Recipe best = recipe;
  auto keeps = [&](const Recipe &smaller) {
    Case made = generate(context, smaller);
    return succeeded(made.module->verify()) && fails(*made.module, made.inputs);
  };
  for (int ops = 0; ops < best.maxOps; ++ops) {
    Recipe smaller = best;
    smaller.maxOps = ops;
    if (keeps(smaller)) {
      best = smaller;
      break;
    }
  }
  for (int64_t extent : {1, 2, 3, 4, 8, 16, 33, 65}) {
    Recipe smaller = best;
    smaller.maxExtent = extent;
    if (keeps(smaller)) {
      best = smaller;
      break;
    }
  }

  if (Recipe fixed = best; fixed.fixedExtents = true, keeps(fixed))
    best = fixed;

  Case result = generate(context, best);
  bool again = true;
  for (int rounds = 0; again && rounds < 20; ++rounds) {
    again = false;
    for (int64_t edit = 0;; ++edit) {
      OwningOpRef<ModuleOp> trial(result.module->clone());
      const int64_t before = opCount(*trial);
      if (!apply(*trial, edit))
        break;
      eraseDead(*trial);
      if (opCount(*trial) >= before || failed(trial->verify()) || !fails(*trial, result.inputs))
        continue;
      result.module = std::move(trial);
      again = true;
      --edit; // what followed has moved up
    }
  }
  return result;
}

} // namespace penstock::differential
