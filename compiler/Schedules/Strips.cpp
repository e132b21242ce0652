// SPDX-License-Identifier: Apache-2.0
//
// Neighbours along a row that a GPU's thread loads and stores in words of 16 bytes.
//
// A thread stores one word of each row, and the next thread the next one, so that each sector is
// written once; of pixels of three channels it stores three, which have a whole number of them. It
// loads the words around what it reads of an input, so that a row may begin anywhere; neighbours
// load some of them, too, from the cache. Where a single input is read with gaps, or element by
// element, threads that are neighbours are to read neighbours, and there is no strip.
#include "compiler/Schedules/Strips.h"
#include "compiler/Analysis/ViewSteps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace penstock::pipe;
using penstock::analysis::stepAlong;
using penstock::schedules::isChannels;

/// Bytes of the widest access.
static constexpr int64_t accessBytes = 16;
/// An axis such as channels, which a thread makes whole.
static constexpr int64_t mostChannels = 4;
/// Choices that are decided before a strip is made: each arm is code of its own.
static constexpr int64_t mostChoices = 3;
/// Operations of maps that the elements of a strip take, in all arms: a thread's code.
static constexpr int64_t mostOperations = 2048;
/// Elements along a strip of which there is code where all of it would be too much: of any type
/// they are whole words of four bytes.
static constexpr int64_t ofTurn = 4;

bool penstock::schedules::isChannels(const Axis &axis) {
  return axis.isStatic() && axis.extent > 1 && axis.extent <= mostChannels;
}

namespace {
/// What there is code for: choices are decided before a strip is made, for each arm apart.
struct Code {
  int64_t operations = 0; ///< in all arms, for an element
  int64_t arms = 1;
};

/// The computation of the elements along a row, as far as memory.
class Rows {
public:
  /// Nothing where some of what `value` reads along its axis `along` is no row.
  std::optional<Code> read(Value value, int64_t along);

  llvm::StringSet<> interleaved, planar; ///< channels that are innermost in memory, or are not

private:
  bool readMemory(NamedTensorType type, int64_t along);
  std::optional<Code> readMap(MapOp map, int64_t along);
  bool readPad(PadOp pad, int64_t along, bool isPadded = false);
  std::optional<Code> readView(ViewOp view, int64_t along);
  std::optional<Code> readArms(ArrayRef<Value> values, int64_t along);

  llvm::DenseSet<Value> known;
  int64_t choices = 0;
};
} // namespace

/// One computation for each arm of the other.
static Code both(Code a, Code b) {
  return {a.operations * b.arms + b.operations * a.arms, a.arms * b.arms};
}

static std::optional<Code> noCodeIf(bool reads) {
  return reads ? std::optional<Code>(Code()) : std::nullopt;
}

/// The outermost axis lies where the runtime says: its elements are no row's.
bool Rows::readMemory(NamedTensorType type, int64_t along) {
  auto axes = type.getAxes();
  const int64_t last = type.getRank() - 1;
  if (type.getElementType().isInteger(1) || (along == 0 && last > 0))
    return false;
  for (auto [place, axis] : llvm::enumerate(axes))
    if (isChannels(axis) && static_cast<int64_t>(place) != along)
      (static_cast<int64_t>(place) == last ? interleaved : planar).insert(axis.name);
  return along == last || (along == last - 1 && isChannels(axes[last]));
}

std::optional<Code> Rows::readMap(MapOp map, int64_t along) {
  NamedTensorType type = tensorOf(map.getResult());
  Block &body = map.getBody().front();
  bool looksUp = false;
  Code code;
  int64_t own = 0;
  body.walk([&](Operation *op) {
    ++own;
    looksUp |= llvm::isa<LoadOp>(op);
  });
  Value index = body.getArgument(static_cast<unsigned>(map.getInputs().size()) +
                                 static_cast<unsigned>(along));
  if (looksUp && !index.use_empty())
    return std::nullopt;
  for (Value input : map.getInputs()) {
    const auto of = read(input, tensorOf(input).axisIndex(type.getAxes()[along].name));
    if (!of)
      return std::nullopt;
    code = both(code, *of);
  }
  code.operations += own * code.arms;
  return code;
}

/// A thread fills up rows with constants, of types that it computes in; one padding may make them
/// longer.
bool Rows::readPad(PadOp pad, int64_t along, bool isPadded) {
  NamedTensorType type = tensorOf(pad.getInput());
  const Axis &last = type.getAxes().back();
  if (along != type.getRank() - 1 &&
      llvm::is_contained(pad.getOver(), StringAttr::get(pad.getContext(), last.name)))
    return false;
  if (pad.getBorder() != Border::constant || type.getElementType().isF16() ||
      type.getElementType().isBF16())
    return false;
  if (llvm::is_contained(pad.getOver(),
                         StringAttr::get(pad.getContext(), type.getAxes()[along].name)) &&
      std::exchange(isPadded, true))
    return false;
  if (auto inner = pad.getInput().getDefiningOp<PadOp>())
    return inner.getFill() == pad.getFill() && readPad(inner, along, isPadded);
  return !pad.getInput().getDefiningOp() && readMemory(type, along);
}

/// Returns whether it is known which channel of an input each channel of a view is.
static bool keepsChannels(ViewOp view, int64_t along) {
  NamedTensorType type = tensorOf(view.getResult());
  AffineExpr last = view.getMap().getResults().back();
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    if (axis == along || !isChannels(type.getAxes()[axis]))
      continue;
    const auto step = stepAlong(view, axis);
    if (!step)
      return false;
    const bool isLast = step->axis + 1 == static_cast<int64_t>(view.getMap().getNumResults());
    if (isLast && (!llvm::isa<AffineConstantExpr>(step->step) || !last.isPureAffine() ||
                   llvm::any_of(llvm::seq<unsigned>(0, view.getMap().getNumSymbols()),
                                [&](unsigned symbol) { return last.isFunctionOfSymbol(symbol); })))
      return false;
  }
  return true;
}

/// Returns whether a view only puts a row, and channels, elsewhere among the axes.
static bool leavesAsItIs(ViewOp view, int64_t along) {
  NamedTensorType type = tensorOf(view.getResult());
  return llvm::all_of(llvm::seq<int64_t>(0, type.getRank()), [&](int64_t axis) {
    if (axis != along && !isChannels(type.getAxes()[axis]))
      return true;
    return llvm::all_of(view.getMap().getResults(), [&](AffineExpr expr) {
      return !expr.isFunctionOfDim(static_cast<unsigned>(axis)) ||
             expr == getAffineDimExpr(static_cast<unsigned>(axis), view.getContext());
    });
  });
}

/// One element after the other, in the direction that the sample says.
std::optional<Code> Rows::readView(ViewOp view, int64_t along) {
  const auto step = stepAlong(view, along);
  if (!step || !keepsChannels(view, along))
    return std::nullopt;
  if (step->axis < 0)
    return Code();
  if (auto number = llvm::dyn_cast<AffineConstantExpr>(step->step);
      (number && std::abs(number.getValue()) != 1) || !step->step.isSymbolicOrConstant())
    return std::nullopt;
  if (auto pad = view.getInput().getDefiningOp<PadOp>())
    return noCodeIf(readPad(pad, step->axis));
  if (!view.getInput().getDefiningOp())
    return noCodeIf(readMemory(tensorOf(view.getInput()), step->axis));
  // Of what is computed, elements as they are.
  return leavesAsItIs(view, along) ? read(view.getInput(), step->axis) : std::nullopt;
}

std::optional<Code> Rows::readArms(ArrayRef<Value> values, int64_t along) {
  if (++choices > mostChoices)
    return std::nullopt;
  Code all{0, 0};
  const llvm::DenseSet<Value> before = known;
  for (Value value : values) {
    known = before; // arms have their own code
    const auto arm = read(value, along);
    if (!arm)
      return std::nullopt;
    all = {all.operations + arm->operations, all.arms + arm->arms};
  }
  return all;
}

std::optional<Code> Rows::read(Value value, int64_t along) {
  if (along < 0 || !known.insert(value).second)
    return Code(); // the same for all of the strip, or known
  Operation *op = value.getDefiningOp();
  if (!op)
    return noCodeIf(readMemory(tensorOf(value), along));
  return llvm::TypeSwitch<Operation *, std::optional<Code>>(op)
      .Case([&](CastOp cast) { return read(cast.getValue(), along); })
      .Case([&](MapOp map) { return readMap(map, along); })
      .Case([&](PadOp pad) { return noCodeIf(readPad(pad, along)); })
      .Case([&](ViewOp view) { return readView(view, along); })
      .Case([&](StackOp stack) {
        return along > 0 ? readArms(SmallVector<Value>(stack.getInputs()), along - 1)
                         : std::nullopt;
      })
      .Case([&](ChooseOp choose) {
        SmallVector<Value> yielded;
        for (Region &arm : choose.getArms())
          yielded.push_back(arm.front().getTerminator()->getOperand(
              llvm::cast<OpResult>(value).getResultNumber()));
        return readArms(yielded, along);
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Returns whether planes of `axis` lie words apart, so that their rows have words at the same
/// places.
static bool areWordsApart(NamedTensorType type, int64_t axis) {
  int64_t bytes = scalarBytes(type.getElementType());
  for (const Axis &inner : type.getAxes().drop_front(static_cast<size_t>(axis) + 1)) {
    if (!inner.isStatic())
      return false;
    bytes *= inner.extent;
  }
  return bytes % accessBytes == 0;
}

bool penstock::schedules::chooseStrip(Value value, bool inTurns) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumResults() != 1 || op->hasAttr("vector") || formOf(op) != KernelForm::inlined)
    return false;
  NamedTensorType type = tensorOf(value);
  auto axes = type.getAxes();
  const int64_t row = type.getRank() - (type.getRank() > 0 && isChannels(axes.back()) ? 2 : 1);
  if (row < 0 || (row == 0 && type.getRank() > 1) || type.getElementType().isInteger(1))
    return false;
  const int64_t channels = row + 1 < type.getRank() ? axes.back().extent : 1;
  const int64_t elements = accessBytes / scalarBytes(type.getElementType());
  const int64_t count = elements / std::gcd(elements, channels);
  if (count < 2 || (axes[row].isStatic() && axes[row].extent < 2 * count))
    return false;
  Rows rows;
  const auto code = rows.read(value, row);
  if (!code)
    return false;
  Builder builder(op->getContext());
  SmallVector<NamedAttribute> vector;
  int64_t made = 1;
  auto take = [&](const Axis &axis, int64_t many) {
    vector.push_back(builder.getNamedAttr(axis.name, builder.getI64IntegerAttr(many)));
    made *= many;
  };
  take(axes[row], count);
  if (channels > 1) {
    if (rows.planar.contains(axes.back().name))
      return false;
    take(axes.back(), axes.back().extent);
  }
  for (int64_t axis = 0; axis < row && vector.size() == 1; ++axis)
    if (isChannels(axes[axis]) && rows.interleaved.contains(axes[axis].name) &&
        !rows.planar.contains(axes[axis].name) && areWordsApart(type, axis))
      take(axes[axis], axes[axis].extent);
  // Of much code there is that of a few elements, in turns.
  inTurns = (inTurns || made * code->operations > mostOperations) && count > ofTurn &&
            count % ofTurn == 0;
  if ((inTurns ? made / count * ofTurn : made) * code->operations > mostOperations)
    return false;
  op->setAttr("vector", builder.getDictionaryAttr(vector));
  op->setAttr("along", builder.getStringAttr(axes[row].name));
  if (inTurns)
    op->setAttr("unrolled", builder.getI64IntegerAttr(ofTurn));
  return true;
}
