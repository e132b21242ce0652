// SPDX-License-Identifier: Apache-2.0
//
// Class I: elements at other places.
#include "mlir/IR/AffineExpr.h"
#include "stdlib/reference/Machine.h"

namespace penstock::reference {

//===--- view --------------------------------------------------------------===//

static int64_t floorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

/// The map's meaning, semi-affine maps included; division by 0 gives 0.
static int64_t evaluate(mlir::AffineExpr expr, const std::vector<int64_t> &dims,
                        const std::vector<int64_t> &symbols) {
  if (auto dim = llvm::dyn_cast<mlir::AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  if (auto symbol = llvm::dyn_cast<mlir::AffineSymbolExpr>(expr))
    return symbols[symbol.getPosition()];
  if (auto constant = llvm::dyn_cast<mlir::AffineConstantExpr>(expr))
    return constant.getValue();
  auto both = llvm::cast<mlir::AffineBinaryOpExpr>(expr);
  const int64_t a = evaluate(both.getLHS(), dims, symbols);
  const int64_t b = evaluate(both.getRHS(), dims, symbols);
  switch (expr.getKind()) {
  case mlir::AffineExprKind::Add:
    return a + b;
  case mlir::AffineExprKind::Mul:
    return a * b;
  case mlir::AffineExprKind::FloorDiv:
    return b == 0 ? 0 : floorDiv(a, b);
  case mlir::AffineExprKind::CeilDiv:
    return b == 0 ? 0 : -floorDiv(-a, b);
  default:
    return b == 0 ? 0 : a - floorDiv(a, b) * b;
  }
}

static std::string text(const std::vector<int64_t> &index) {
  std::string result;
  for (int64_t i : index)
    result += (result.empty() ? "" : ", ") + std::to_string(i);
  return "[" + result + "]";
}

void runView(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ViewOp>(self.op);
  const Tensor &input = machine.tensor(slot, op.getInput());
  Tensor result = machine.blank(slot, op.getResult());
  std::vector<int64_t> symbols, from(input.extents.size());
  for (mlir::Value symbol : op.getSymbols())
    symbols.push_back(machine.integer(slot, symbol));
  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    for (size_t axis = 0; axis < from.size(); ++axis) {
      from[axis] = evaluate(op.getMap().getResult(static_cast<unsigned>(axis)), index, symbols);
      if (from[axis] < 0 || from[axis] >= input.extents[axis])
        fault(op, "element " + text(index) + " reads " + text(from) + " of extents " +
                      text(input.extents));
    }
    result.store(element++, input.load(input.offset(from)));
  });
  machine.set(slot, op.getResult(), std::move(result));
}

//===--- pad ---------------------------------------------------------------===//

int64_t borderIndex(pipe::Border border, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent)
    return i;
  auto modulo = [](int64_t a, int64_t b) { return a - floorDiv(a, b) * b; };
  switch (border) {
  case pipe::Border::constant:
    return -1;
  case pipe::Border::edge:
    break;
  case pipe::Border::wrap:
    return modulo(i, extent);
  case pipe::Border::reflect: {
    if (extent == 1)
      return 0;
    const int64_t j = modulo(i, 2 * (extent - 1));
    return j < extent ? j : 2 * (extent - 1) - j;
  }
  case pipe::Border::symmetric: {
    const int64_t j = modulo(i, 2 * extent);
    return j < extent ? j : 2 * extent - 1 - j;
  }
  }
  return i < 0 ? 0 : extent - 1;
}

void runPad(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::PadOp>(self.op);
  const Tensor &input = machine.tensor(slot, op.getInput());
  Tensor result = machine.blank(slot, op.getResult());
  std::vector<int64_t> low(input.extents.size(), 0);
  for (auto [axis, amount] : llvm::zip(axesOf(input, op.getOver()), op.getLow()))
    low[static_cast<size_t>(axis)] = machine.integer(slot, amount);
  if (op.getBorder() != pipe::Border::constant && input.count() == 0 && result.count() != 0)
    fault(op, "pads a tensor without elements");
  const Scalar fill = op.getFill() ? machine.scalar(slot, op.getFill()) : Scalar();
  std::vector<int64_t> from(input.extents.size());
  int64_t element = 0;
  forEachIndex(result.extents, [&](const std::vector<int64_t> &index) {
    bool outside = false;
    for (size_t axis = 0; axis < from.size(); ++axis) {
      from[axis] = borderIndex(op.getBorder(), index[axis] - low[axis], input.extents[axis]);
      outside |= from[axis] < 0;
    }
    result.store(element++, outside ? fill : input.load(input.offset(from)));
  });
  machine.set(slot, op.getResult(), std::move(result));
}

//===--- concat, stack, place ----------------------------------------------===//

/// Copies `part` to `at` in `whole`; what lies outside is cut off.
static void write(Tensor &whole, const Tensor &part, const std::vector<int64_t> &at) {
  int64_t element = 0;
  std::vector<int64_t> to(part.extents.size());
  forEachIndex(part.extents, [&](const std::vector<int64_t> &index) {
    bool outside = false;
    for (size_t axis = 0; axis < to.size(); ++axis) {
      to[axis] = index[axis] + at[axis];
      outside |= to[axis] < 0 || to[axis] >= whole.extents[axis];
    }
    if (!outside)
      whole.store(whole.offset(to), part.load(element));
    ++element;
  });
}

void runConcat(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::ConcatOp>(self.op);
  Tensor result = machine.blank(slot, op.getResult());
  const auto axis = static_cast<size_t>(result.axis(op.getAxis().str()));
  std::vector<int64_t> at(result.extents.size(), 0);
  for (mlir::Value value : op.getInputs()) {
    const Tensor &input = machine.tensor(slot, value);
    for (size_t other = 0; other < at.size(); ++other)
      if (other != axis && input.extents[other] != result.extents[other])
        fault(op, "the inputs have different extents along `" + result.axes[other] + "`");
    write(result, input, at);
    at[axis] += input.extents[axis];
  }
  if (at[axis] != result.extents[axis])
    fault(op, "the inputs have " + std::to_string(at[axis]) + " elements, the result has " +
                  std::to_string(result.extents[axis]));
  machine.set(slot, op.getResult(), std::move(result));
}

void runStack(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::StackOp>(self.op);
  Tensor result = machine.blank(slot, op.getResult());
  int64_t element = 0;
  for (mlir::Value value : op.getInputs()) {
    const Tensor &input = machine.tensor(slot, value);
    if (!std::equal(input.extents.begin(), input.extents.end(), result.extents.begin() + 1,
                    result.extents.end()))
      fault(op, "the inputs have different extents");
    for (int64_t i = 0; i < input.count(); ++i)
      result.store(element++, input.load(i));
  }
  machine.set(slot, op.getResult(), std::move(result));
}

void runPlace(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::PlaceOp>(self.op);
  const Tensor &patch = machine.tensor(slot, op.getPatch());
  Tensor result = machine.tensor(slot, op.getBase());
  std::vector<int64_t> at(result.extents.size(), 0);
  for (auto [axis, offset] : llvm::zip(axesOf(result, op.getOver()), op.getAt()))
    at[static_cast<size_t>(axis)] = machine.integer(slot, offset);
  write(result, patch, at);
  machine.set(slot, op.getResult(), std::move(result));
}

} // namespace penstock::reference
