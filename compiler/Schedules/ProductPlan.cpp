// SPDX-License-Identifier: Apache-2.0
//
// How matrix products go.
//
// Lanes lie along the matrix's rows, or along an axis of the value that stays, whichever is the
// longer run; several results share what they read: rows of the value in the one case, columns of
// the matrix in the other.
#include "compiler/Schedules/ReductionPlan.h"
#include "runtime/abi/scalar.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::schedules;

/// Results along an axis of the value from which on lanes go along it.
static constexpr int64_t fewestResults = 4;
/// Results that are made together; more where they share a small matrix.
static constexpr int64_t together = 4, togetherOfSmall = 8, rowsOfSmall = 16, mostVectors = 4;
/// Products from which on partial sums are worth storing: four for each.
static constexpr int64_t fewestStored = 4 * penstock::scalar::reductionLanes;
/// From so many rows of the matrix on, and of the value, it is worth to know what is 0; and up to
/// so many bytes of weights.
static constexpr int64_t fewestRows = 64, fewestTogether = 4, mostWeightBytes = 1 << 20;

namespace {
class ProductPlanner {
public:
  ProductPlanner(ContractOp op, const StoredValues &stored, const penstock::lane::Features &has)
      : op(op), has(has), memory(stored.memory()) {}
  ContractAttr plan();

private:
  std::optional<int64_t> extent(int64_t axis) const { return extentOfProduct(op, axis); }
  void chooseLanes();
  void chooseBeside();
  void chooseVectors();
  ProductSums sums() const;
  bool hasBands() const;
  int64_t inRegister() const { return has.lanesOf(scalarBytes(out.getElementType())); }

  mutable ContractOp op; // a handle
  const penstock::lane::Features &has;
  const penstock::analysis::InMemory memory;
  const NamedTensorType in = tensorOf(op.getValue()), out = tensorOf(op.getResult()),
                        matrix = tensorOf(op.getMatrix());
  const int64_t to = out.axisIndex(matrix.getAxes()[1].name);
  const std::optional<int64_t> summed = extentInCode(op, in.axisIndex(matrix.getAxes()[0].name));
  int64_t lane = -1, lanes = 1, block = -1, beside = 1;
};
} // namespace

void ProductPlanner::chooseLanes() {
  auto isRun = [&](Value tensor, int64_t axis) {
    return penstock::analysis::elementsApart(memory, tensor, axis) == 1;
  };
  for (int64_t axis = 0; axis < out.getRank(); ++axis)
    if (axis != to && extent(axis).value_or(0) >= fewestResults &&
        isRun(op.getValue(), in.axisIndex(out.getAxes()[axis].name)))
      lane = axis;
  if (extent(to) && isRun(op.getMatrix(), 1) && (lane < 0 || *extent(to) > *extent(lane)))
    lane = to;
  if (lane < 0)
    return;
  lanes = inRegister();
  while (lanes > 1 && lanes > *extent(lane))
    lanes /= 2;
  if (lanes < 2)
    lane = -1;
}

void ProductPlanner::chooseBeside() {
  block = lane == to ? -1 : to;
  for (int64_t axis = out.getRank() - 1; axis >= 0 && block < 0; --axis)
    if (axis != to)
      block = axis;
  // All columns of a small matrix, where they share what is read of the value.
  const bool isSmall = block == to && summed && *summed <= rowsOfSmall;
  const int64_t results = block < 0 ? 1 : extent(block).value_or(1);
  while (2 * beside <= std::min(isSmall ? togetherOfSmall : together, results))
    beside *= 2;
}

/// What is read of the one operand serves as many vectors of the other as there are registers for:
/// a partial sum each, in half of them.
void ProductPlanner::chooseVectors() {
  const int64_t most = std::min<int64_t>(has.registers / 2 / beside, mostVectors) * inRegister();
  while (2 * lanes <= most && lanes >= inRegister() && *extent(lane) % (2 * lanes) == 0)
    lanes *= 2;
}

ProductSums ProductPlanner::sums() const {
  const ProductSums many =
      summed.value_or(0) < fewestStored ? ProductSums::registers : ProductSums::stored;
  for (ProductSums sums : {ProductSums::unrolled, many}) {
    const StringAttr unroll =
        block < 0 ? StringAttr() : StringAttr::get(op.getContext(), out.getAxes()[block].name);
    if (whyNot(op, ContractAttr::get(op.getContext(), {}, 1, unroll, beside, sums, 0)).empty())
      return sums;
  }
  return ProductSums::memory;
}

bool ProductPlanner::hasBands() const {
  const int64_t size = scalarBytes(out.getElementType());
  const auto rows = block < 0 ? std::nullopt : extent(block);
  return lane == to && lanes >= inRegister() && inRegister() >= 4 &&
         summed.value_or(0) >= fewestRows && *summed * *extent(to) * size <= mostWeightBytes &&
         (!rows || *rows >= fewestTogether * inRegister());
}

ContractAttr ProductPlanner::plan() {
  chooseLanes();
  chooseBeside();
  auto name = [&](int64_t axis) {
    return axis < 0 ? StringAttr() : StringAttr::get(op.getContext(), out.getAxes()[axis].name);
  };
  const ProductSums where = sums();
  if (where == ProductSums::stored)
    chooseVectors();
  auto with = [&](int64_t bands) {
    return ContractAttr::get(op.getContext(), name(lane), lanes, name(block), beside, where, bands);
  };
  return hasBands() && whyNot(op, with(inRegister())).empty() ? with(inRegister()) : with(0);
}

ContractAttr penstock::schedules::contractFor(ContractOp op, const StoredValues &stored,
                                              const lane::Features &has) {
  return ProductPlanner(op, stored, has).plan();
}
