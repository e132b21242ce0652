// SPDX-License-Identifier: Apache-2.0
//
// Constants, arithmetic, casts, loads.
#include "stdlib/reference/Arithmetic.h"
#include "stdlib/reference/Machine.h"

namespace penstock::reference {

static Scalar numberOf(const llvm::APInt &bits, DType type) {
  const bool isUnsigned = type == DType::u8 || type == DType::u16 || type == DType::boolean;
  return intScalar(isUnsigned ? static_cast<int64_t>(bits.getZExtValue()) : bits.getSExtValue(),
                   type);
}

static Scalar numberOf(llvm::APFloat value, DType type) {
  bool lossy = false;
  value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &lossy);
  return realScalar(value.convertToDouble(), type);
}

static Tensor tensorOf(mlir::DenseElementsAttr elements, pipe::NamedTensorType type) {
  std::vector<std::string> axes;
  std::vector<int64_t> extents;
  for (const pipe::Axis &axis : type.getAxes()) {
    axes.push_back(axis.name);
    extents.push_back(axis.extent);
  }
  Tensor tensor(dtypeOf(type.getElementType()), std::move(axes), std::move(extents));
  int64_t element = 0;
  if (isFloat(tensor.type))
    for (const llvm::APFloat &value : elements.getValues<llvm::APFloat>())
      tensor.store(element++, numberOf(value, tensor.type));
  else
    for (const llvm::APInt &value : elements.getValues<llvm::APInt>())
      tensor.store(element++, numberOf(value, tensor.type));
  return tensor;
}

void runConstant(Machine &machine, Slot &slot, const Instruction &self) {
  Value &result = slot.values[self.results[0]];
  if (result.index() != 0)
    return; // the same each time
  auto op = llvm::cast<pipe::ConstantOp>(self.op);
  if (auto type = llvm::dyn_cast<pipe::NamedTensorType>(op.getResult().getType())) {
    machine.set(slot, op.getResult(),
                tensorOf(llvm::cast<mlir::DenseElementsAttr>(op.getValue()), type));
    return;
  }
  if (auto real = llvm::dyn_cast<mlir::FloatAttr>(op.getValue()))
    result = numberOf(real.getValue(), self.type);
  else
    result = numberOf(llvm::cast<mlir::IntegerAttr>(op.getValue()).getValue(), self.type);
}

void runUnary(Machine &, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::UnaryOp>(self.op);
  slot.values[self.results[0]] = unary(op.getKind(), scalarIn(slot, self.operands[0]));
}

void runBinary(Machine &, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::BinaryOp>(self.op);
  slot.values[self.results[0]] =
      binary(op.getKind(), scalarIn(slot, self.operands[0]), scalarIn(slot, self.operands[1]));
}

void runCompare(Machine &, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::CompareOp>(self.op);
  slot.values[self.results[0]] = boolScalar(compare(
      op.getPredicate(), scalarIn(slot, self.operands[0]), scalarIn(slot, self.operands[1])));
}

void runSelect(Machine &, Slot &slot, const Instruction &self) {
  const bool condition = scalarIn(slot, self.operands[0]).integer != 0;
  slot.values[self.results[0]] = slot.values[self.operands[condition ? 1 : 2]];
}

void runCast(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::CastOp>(self.op);
  const pipe::CastMode mode = op.getMode();
  if (const auto *value = std::get_if<Scalar>(&slot.values[self.operands[0]])) {
    slot.values[self.results[0]] = cast(mode, *value, self.type);
    return;
  }
  const Tensor &input = machine.tensor(slot, op.getValue());
  Tensor result = machine.blank(slot, op.getResult());
  if (input.extents != result.extents)
    fault(op, "the sizes differ from the input's extents");
  for (int64_t i = 0; i < result.count(); ++i)
    result.store(i, cast(mode, input.load(i), result.type));
  machine.set(slot, op.getResult(), std::move(result));
}

void runLoad(Machine &machine, Slot &slot, const Instruction &self) {
  auto op = llvm::cast<pipe::LoadOp>(self.op);
  const Tensor &tensor = machine.tensor(slot, op.getTensor());
  slot.values[self.results[0]] = loadedAt(
      tensor, [&](size_t axis) { return scalarIn(slot, self.operands[axis + 1]).integer; });
}

Scalar loadedAt(const Tensor &tensor, llvm::function_ref<int64_t(size_t)> index) {
  int64_t element = 0;
  for (size_t axis = 0; axis < tensor.extents.size(); ++axis) {
    const int64_t extent = tensor.extents[axis];
    element =
        element * extent + std::clamp<int64_t>(index(axis), 0, std::max<int64_t>(extent - 1, 0));
  }
  return tensor.count() == 0 ? Scalar{tensor.type, 0, 0} : tensor.load(element);
}

} // namespace penstock::reference
