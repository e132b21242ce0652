// SPDX-License-Identifier: Apache-2.0
//
// Draws: those that people are shown, and those of each element.
#include "compiler/Dialect/Drawn.h"

using namespace mlir;
using namespace penstock::pipe;

SmallVector<StringRef> penstock::pipe::drawnNames(Operation *op) {
  SmallVector<StringRef> names(op->getNumResults());
  if (auto given = op->getAttrOfType<ArrayAttr>("pipe.drawn")) {
    for (auto [name, text] : llvm::zip(names, given.getAsRange<StringAttr>()))
      name = text.strref();
    return names;
  }
  auto draw = llvm::dyn_cast<DrawOp>(op);
  if (draw && !draw.getElement() &&
      (draw.getKind() == DrawKind::uniform || draw.getKind() == DrawKind::integer))
    names[0] = draw.getPath();
  return names;
}

void penstock::pipe::setDrawn(Operation *op, ArrayRef<std::string> names) {
  SmallVector<StringRef> texts(names.begin(), names.end());
  op->setAttr("pipe.drawn", Builder(op->getContext()).getStrArrayAttr(texts));
}

void penstock::pipe::numberDrawn(Operation *copy, int64_t index) {
  copy->walk([&](Operation *op) {
    SmallVector<std::string> names;
    bool shown = false;
    for (StringRef name : drawnNames(op)) {
      shown |= !name.empty();
      names.push_back(name.empty() ? "" : (name + "[" + Twine(index) + "]").str());
    }
    if (shown)
      setDrawn(op, names);
  });
}

/// Returns whether a step of the view is a number of the sample.
static bool hasStepsOfSample(AffineMap map) {
  return llvm::any_of(map.getResults(), [](AffineExpr place) {
    bool found = false;
    place.walk([&](AffineExpr part) {
      auto product = llvm::dyn_cast<AffineBinaryOpExpr>(part);
      found |= product && product.getKind() == AffineExprKind::Mul &&
               !product.isSymbolicOrConstant() && !llvm::isa<AffineConstantExpr>(product.getRHS());
    });
    return found;
  });
}

bool penstock::pipe::scattersDraws(ViewOp view) {
  auto map = view.getInput().getDefiningOp<MapOp>();
  auto made = llvm::cast<NamedTensorType>(view.getInput().getType()),
       read = llvm::cast<NamedTensorType>(view.getType());
  // What a crop leaves out is not worth making.
  if (!map || !made.isStatic() || !read.isStatic() || read.numElements() * 2 < made.numElements() ||
      !hasStepsOfSample(view.getMap()))
    return false;
  return llvm::any_of(map.getBody().front().getOps<DrawOp>(),
                      [](DrawOp draw) { return draw.getElement(); });
}
