// SPDX-License-Identifier: Apache-2.0
//
// Elements that a GPU's thread makes together.
#include "compiler/Schedules/Vectors.h"
#include "compiler/Analysis/ViewSteps.h"
#include "compiler/Schedules/Strips.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace penstock;
using namespace penstock::pipe;

/// Sums that a thread keeps in registers, and elements that it only moves or maps.
static constexpr int64_t mostSums = 12, mostElements = 48;
/// Operations of maps that a thread's elements take: its code.
static constexpr int64_t mostMapped = 512;
/// Bytes of a row that a thread writes, or reads of memory.
static constexpr int64_t mostRowBytes = 32;
/// Threads that have a box each before boxes grow, where one block makes all of a sample.
static constexpr int64_t threadsWithWork = 256;

namespace {
/// The computation of one element, as far as memory.
struct Made {
  bool together = true;          ///< every op on the way makes several elements at once
  bool inWords = true;           ///< views read rows that are loaded in words, wherever they begin
  bool isChosen = false;         ///< arms of a choice make it
  int64_t operations = 1;        ///< of an element
  int64_t widest = 1;            ///< bytes of an element of what is read, or made
  llvm::StringSet<> resampled;   ///< axes whose elements have weights of their own
  llvm::StringSet<> interleaved; ///< short axes that are innermost in memory
};
} // namespace

/// Returns whether neighbours are neighbours in its input, in an order that is known, and at a
/// place that is known, too, or of elements that are loaded in the words around them.
static bool readsInWords(ViewOp view) {
  for (int64_t axis = 0; axis < tensorOf(view.getResult()).getRank(); ++axis) {
    const auto found = analysis::stepAlong(view, axis);
    if (!found || (found->axis >= 0 && !llvm::isa<AffineConstantExpr>(found->step)))
      return false;
  }
  return view.getSymbols().empty() || scalarBytes(tensorOf(view.getInput()).getElementType()) < 4;
}

static Made behind(Value value) {
  Made made;
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t next = 0; next < reached.size(); ++next) {
    Operation *op = reached[next].getDefiningOp();
    const bool isMemory = !op || (op->hasAttr("schedule") && reached[next] != value);
    if (isMemory || reached[next] == value)
      made.widest = std::max(made.widest, scalarBytes(tensorOf(reached[next]).getElementType()));
    if (isMemory) {
      auto axes = tensorOf(reached[next]).getAxes();
      if (!axes.empty() && schedules::isChannels(axes.back()))
        made.interleaved.insert(axes.back().name);
      continue;
    }
    made.together &= llvm::isa<ViewOp, CastOp, MapOp, ResampleOp, ConstantOp, ChooseOp>(op);
    if (auto choose = llvm::dyn_cast<ChooseOp>(op)) {
      made.isChosen = true;
      for (Region &arm : choose.getArms())
        reached.insert(arm.front().getTerminator()->getOperand(
            llvm::cast<OpResult>(reached[next]).getResultNumber()));
      continue;
    }
    if (auto view = llvm::dyn_cast<ViewOp>(op))
      made.inWords &= readsInWords(view);
    if (auto resample = llvm::dyn_cast<ResampleOp>(op)) {
      made.resampled.insert(resample.getAxis());
      reached.insert(resample.getInput());
      continue;
    }
    op->walk([&](Operation *inner) { made.operations += inner != op; });
    for (Value operand : op->getOperands())
      if (llvm::isa<NamedTensorType>(operand.getType()))
        reached.insert(operand);
  }
  return made;
}

/// Returns whether a block's threads have a box each, or only a sample knows.
static bool keepsThreadsBusy(NamedTensorType type, int64_t boxElements) {
  int64_t elements = 1;
  for (const Axis &axis : type.getAxes()) {
    if (!axis.isStatic())
      return true;
    elements *= axis.extent;
  }
  return elements >= boxElements * threadsWithWork;
}

/// The box of elements that a thread makes of a value; null: one element.
static DictionaryAttr boxOf(Value value, bool inPasses) {
  Operation *op = value.getDefiningOp();
  if (!op || op->hasAttr("vector") || op->getNumResults() != 1 || formOf(op) != KernelForm::inlined)
    return {};
  NamedTensorType type = tensorOf(value);
  if (type.getRank() == 0)
    return {};
  const Made made = behind(value);
  if (!made.together)
    return {};
  Builder builder(op->getContext());
  SmallVector<NamedAttribute> vector;
  int64_t elements = 1;
  const int64_t most =
      std::min(made.resampled.empty() ? mostElements : mostSums, mostMapped / made.operations);
  auto take = [&](const Axis &axis, int64_t count) {
    if (elements * count > most)
      return false;
    vector.push_back(builder.getNamedAttr(axis.name, builder.getI64IntegerAttr(count)));
    elements *= count;
    return true;
  };
  auto axes = type.getAxes();
  int64_t row = type.getRank() - 1; // the axis along which neighbours lie
  if (schedules::isChannels(axes.back())) {
    if (!made.resampled.contains(axes.back().name))
      take(axes.back(), axes.back().extent);
    --row;
  }
  for (int64_t axis = 0; axis < row && vector.empty(); ++axis)
    if (schedules::isChannels(axes[axis]) && made.interleaved.contains(axes[axis].name) &&
        !made.resampled.contains(axes[axis].name))
      take(axes[axis], axes[axis].extent);
  if (row >= 0 && axes[row].isStatic() && !made.resampled.contains(axes[row].name)) {
    for (int64_t count = 16; count > 1; count /= 2)
      if (axes[row].extent % count == 0 &&
          (count <= 4 || (count * made.widest <= mostRowBytes &&
                          (!inPasses || keepsThreadsBusy(type, elements * count)))) &&
          take(axes[row], count))
        break;
  }
  return vector.empty() ? DictionaryAttr() : builder.getDictionaryAttr(vector);
}

static void chooseVector(Value value, bool inPasses) {
  if (DictionaryAttr box = boxOf(value, inPasses))
    value.getDefiningOp()->setAttr("vector", box);
}

/// Returns whether a box has whole words of 16 bytes of each of its rows, and loads words of its
/// own: rows need no ends.
static bool isOfWords(Value value) {
  DictionaryAttr box = boxOf(value, /*inPasses=*/false);
  const Made made = behind(value);
  if (!box || !made.inWords || made.isChosen) // a strip decides for a row
    return false;
  NamedTensorType type = tensorOf(value);
  int64_t bytes = scalarBytes(type.getElementType());
  for (const Axis &axis : llvm::reverse(type.getAxes())) {
    auto count = box.getAs<IntegerAttr>(axis.name);
    bytes *= count ? count.getInt() : 1;
    if (!count || count.getInt() != axis.extent)
      break;
  }
  return bytes % 16 == 0;
}

void penstock::schedules::chooseVectors(KernelOp kernel, bool inPasses, bool inTurns) {
  kernel.walk([&](Operation *op) {
    if (op->getAttr("schedule") == StringAttr::get(op->getContext(), "scratch"))
      chooseVector(op->getResult(0), inPasses);
  });
  for (Value value : llvm::cast<ReturnOp>(kernel.getBody().front().getTerminator()).getValues())
    if (inPasses || isOfWords(value) || !chooseStrip(value, inTurns))
      chooseVector(value, inPasses);
}
