// SPDX-License-Identifier: Apache-2.0
//
// The draws that people are shown.
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
