// SPDX-License-Identifier: Apache-2.0
//
// Schedule attributes of matrix products.
#include "compiler/Dialect/ScheduleDialect.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;

static constexpr int64_t sumsOfProduct = penstock::scalar::reductionLanes;
/// Products that are unrolled, of all results that are made together.
static constexpr int64_t productsUnrolled = 256;

LogicalResult ContractAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                                   StringAttr along, int64_t lanes, StringAttr unroll,
                                   int64_t beside, ProductSums, bool) {
  if (!isPowerUpTo(lanes, lanesAtMost) || !isPowerUpTo(beside, besideAtMost))
    return emitError() << "C1: " << lanes << " lanes, " << beside
                       << " beside; known are powers of two up to " << lanesAtMost << " and "
                       << besideAtMost;
  if ((along && along == unroll) || (lanes > 1 && !along) || (beside > 1 && !unroll))
    return emitError() << "C2: " << lanes << " lanes along " << (along ? along : Attribute())
                       << ", " << beside << " beside along " << (unroll ? unroll : Attribute())
                       << "; each has an axis of its own";
  return success();
}

ContractAttr penstock::pipe::contractOf(ContractOp op) {
  if (auto stated = op->getAttrOfType<ContractAttr>("contract"))
    return stated;
  return ContractAttr::get(
      op.getContext(), StringAttr(), 1,
      StringAttr::get(op.getContext(), tensorOf(op.getMatrix()).getAxes()[1].name), 1,
      ProductSums::memory, false);
}

std::optional<int64_t> penstock::pipe::extentOfProduct(ContractOp op, int64_t axis) {
  const Axis &own = tensorOf(op.getResult()).getAxes()[axis],
             &column = tensorOf(op.getMatrix()).getAxes()[1];
  if (own.name != column.name)
    return extentInCode(op, tensorOf(op.getValue()).axisIndex(own.name));
  return column.isStatic() ? std::optional<int64_t>(column.extent) : std::nullopt;
}

static std::string whyNoBands(ContractOp op, ContractAttr contract, std::optional<int64_t> summed) {
  NamedTensorType out = tensorOf(op.getResult());
  const int64_t lanes = contract.getLanes();
  if (!llvm::isa<FloatType>(out.getElementType()) ||
      !isRowOfSquare(lanes * scalarBytes(out.getElementType())) || lanes < 2 ||
      !contract.getUnroll() ||
      contract.getAlong().getValue() != tensorOf(op.getMatrix()).getAxes()[1].name)
    return "C19: bands are of floats, with rows of 16, 32 or 64 bytes in the lanes, along the "
           "matrix's columns, and `unroll` along another axis";
  const auto rows = extentOfProduct(op, out.axisIndex(contract.getUnroll()));
  if (summed.value_or(0) < lanes || rows.value_or(lanes) < lanes || contract.getBeside() > lanes)
    return "C19: what is summed, and what is transposed, has as many elements as there are lanes, "
           "and no more go beside";
  return "";
}

std::string penstock::pipe::whyNot(ContractOp op, ContractAttr contract) {
  NamedTensorType in = tensorOf(op.getValue()), out = tensorOf(op.getResult());
  auto reaches = [&](StringAttr name, int64_t count) {
    const int64_t axis = name ? out.axisIndex(name) : -1;
    return !name || (axis >= 0 && (count == 1 || extentOfProduct(op, axis).value_or(0) >= count));
  };
  if (!reaches(contract.getAlong(), contract.getLanes()) ||
      !reaches(contract.getUnroll(), contract.getBeside()))
    return "C18: `along` and `unroll` name axes of the result, with as many elements, known when "
           "compiling, as are made together";
  const auto summed = extentInCode(op, in.axisIndex(tensorOf(op.getMatrix()).getAxes()[0].name));
  const int64_t products = summed.value_or(0);
  if (contract.getSums() == ProductSums::unrolled &&
      (products < 1 || products > 2 * sumsOfProduct ||
       products * contract.getBeside() > productsUnrolled))
    return "C18: what is unrolled are 1 to 64 products, and 256 of all results together";
  if (contract.getSums() == ProductSums::registers && products < sumsOfProduct)
    return "C18: partial sums in registers are of 32 products at least, known when compiling";
  return contract.getBands() ? whyNoBands(op, contract, summed) : "";
}
