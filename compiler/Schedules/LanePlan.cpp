// SPDX-License-Identifier: Apache-2.0
//
// Lanes of weights, Fourier transforms and orders.
//
// Outputs, transforms or rows go side by side where there are enough of them.
#include "compiler/Dialect/Filters.h"
#include "compiler/Schedules/ReductionPlan.h"

using namespace mlir;
using namespace penstock::pipe;

/// Transforms side by side that no longer fit the caches are no faster than one after the other.
static constexpr int64_t mostBytesTogether = 1 << 16;
/// Elements of a row, for each byte of one, from which on digits are faster than merges: their
/// tables are cleared and added up for each row.
static constexpr int64_t fewestForDigits = 16;
/// Elements of a row of bytes up to which rows side by side are faster than digits.
static constexpr int64_t longestOfBytes = 512;
/// Squares smaller than this are not worth transposing.
static constexpr int64_t fewestTransforms = 4;

/// Sines are scalar.
WeightsAttr penstock::schedules::weightsFor(WeightsOp op, const lane::Features &has) {
  const Axis &outputs = tensorOf(op.getStart()).getAxes()[0];
  int64_t lanes = outputs.isStatic() && !hasSine(op.getFilter()) ? has.lanesOf(8) : 1;
  while (outputs.isStatic() && lanes > 1 && lanes > outputs.extent)
    lanes /= 2;
  return WeightsAttr::get(op.getContext(), lanes);
}

/// Returns whether the arrays of so many transforms, complex numbers, fit; an even length has half
/// as many of these.
static bool fitsTogether(FftOp op, int64_t lanes) {
  NamedTensorType in = tensorOf(op.getValue());
  const int64_t n = in.getAxes()[in.axisIndex(op.getAxis())].extent;
  return (n % 2 ? n : n / 2) * scalarBytes(in.getElementType()) * lanes <= mostBytesTogether;
}

/// With lanes along the axis whose elements are nearest to each other, where those of the
/// transform's axis are further apart; null where there is none.
static FftAttr acrossFor(FftOp op, const penstock::schedules::StoredValues &stored,
                         int64_t mostLanes) {
  NamedTensorType in = tensorOf(op.getValue());
  auto apart = [&](int64_t axis) {
    return penstock::analysis::elementsApart(stored.memory(), op.getValue(), axis)
        .value_or(std::numeric_limits<int64_t>::max());
  };
  FftAttr best;
  int64_t nearest = apart(in.axisIndex(op.getAxis()));
  for (int64_t axis = 0; axis < in.getRank(); ++axis)
    if (const int64_t here = apart(axis); here >= 1 && here < nearest)
      for (int64_t lanes = mostLanes; lanes >= 2; lanes /= 2) {
        const auto across =
            FftAttr::get(op.getContext(), StringAttr::get(op.getContext(), in.getAxes()[axis].name),
                         lanes, true);
        if (!fitsTogether(op, lanes) || !whyNot(op, across).empty())
          continue;
        best = across;
        nearest = here;
        break;
      }
  return best;
}

FftAttr penstock::schedules::fftFor(FftOp op, const StoredValues &stored,
                                    const lane::Features &has) {
  NamedTensorType in = tensorOf(op.getValue());
  const int64_t lanes = has.lanesOf(scalarBytes(in.getElementType()));
  if (const FftAttr across = acrossFor(op, stored, lanes))
    return across;
  const FftAttr alone = FftAttr::get(op.getContext(), StringAttr(), lanes, false);
  if (lanes < fewestTransforms || !fitsTogether(op, lanes))
    return alone;
  FftAttr best = alone;
  int64_t longest = 0;
  for (const Axis &axis : in.getAxes()) {
    // How many there are when running is taken to be many.
    const int64_t extent = axis.isStatic() ? axis.extent : std::numeric_limits<int64_t>::max();
    const FftAttr together =
        FftAttr::get(op.getContext(), StringAttr::get(op.getContext(), axis.name), lanes, false);
    if (extent > longest && whyNot(op, together).empty()) {
      best = together;
      longest = extent;
    }
  }
  return best;
}

/// Lanes lie along the innermost axis that has enough rows.
SortAttr penstock::schedules::sortFor(SortOp op, const lane::Features &has) {
  NamedTensorType type = tensorOf(op.getValue());
  const int64_t lanes = has.lanesOf(bytesOfKey(op)), bytes = scalarBytes(type.getElementType());
  const Axis &row = type.getAxes()[type.axisIndex(op.getAxis())];
  const int64_t most = row.isStatic() ? row.extent : row.bound;
  if (lanes > 1 && (bytes > 1 || most <= longestOfBytes))
    for (const Axis &axis : llvm::reverse(type.getAxes()))
      for (SortWay way : {SortWay::transposed, SortWay::across}) {
        auto sort =
            SortAttr::get(op.getContext(), way, StringAttr::get(op.getContext(), axis.name), lanes);
        if (whyNot(op, sort).empty())
          return sort;
      }
  const bool isShort = most >= 0 && most < fewestForDigits * bytes;
  return SortAttr::get(op.getContext(), isShort ? SortWay::merged : SortWay::digits, StringAttr(),
                       1);
}
