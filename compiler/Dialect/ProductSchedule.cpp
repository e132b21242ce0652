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
                                   int64_t beside, ProductSums, int64_t bands) {
  if (!isPowerUpTo(lanes, lanesAtMost) || !isPowerUpTo(beside, besideAtMost) ||
      (bands && !isPowerUpTo(bands, lanesAtMost)))
    return emitError() << "C1: " << lanes << " lanes, " << beside << " beside, " << bands
                       << " rows of bands; known are powers of two up to " << lanesAtMost << ", "
                       << besideAtMost << " and " << lanesAtMost << ", and no bands";
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
      ProductSums::memory, 0);
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
  const int64_t bands = contract.getBands();
  if (!llvm::isa<FloatType>(out.getElementType()) ||
      !isRowOfSquare(bands * scalarBytes(out.getElementType())) || bands < 2 ||
      !contract.getUnroll() || !contract.getAlong() ||
      contract.getAlong().getValue() != tensorOf(op.getMatrix()).getAxes()[1].name)
    return "C19: bands are of floats, which fill 16, 32 or 64 bytes, with lanes along the "
           "matrix's columns, and `unroll` along another axis";
  const auto rows = extentOfProduct(op, out.axisIndex(contract.getUnroll()));
  const auto columns = extentOfProduct(op, out.axisIndex(contract.getAlong()));
  if (summed.value_or(0) < bands || rows.value_or(bands) < bands || columns.value_or(0) < bands ||
      contract.getBeside() > bands)
    return "C19: what is summed, what is transposed, and the matrix's columns are as many as rows "
           "of bands, and no more go beside";
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
  if ((contract.getSums() == ProductSums::registers || contract.getSums() == ProductSums::stored) &&
      products < sumsOfProduct)
    return "C18: partial sums in registers, or stored, are of 32 products at least, known when "
           "compiling";
  return contract.getBands() ? whyNoBands(op, contract, summed) : "";
}
