// SPDX-License-Identifier: Apache-2.0
//
// Boxes of operands that a box of an op's result reads.
#include "compiler/Dialect/Boxes.h"

using namespace mlir;
using namespace penstock::pipe;

void BoxRequest::needWhole(Value tensor) { need(tensor, Box(tensorOf(tensor).getRank())); }

void penstock::pipe::needAllInputs(Operation *op, BoxRequest &request) {
  for (Value operand : op->getOperands())
    if (llvm::isa<NamedTensorType>(operand.getType()))
      request.needWhole(operand);
}

//===--- copies ---------------------------------------------------------------===//

void ViewOp::requireInputs(const Box &wanted, BoxRequest &request) {
  ScalarBuilder scalars(request.at(), getLoc());
  SmallVector<AxisRange> dims;
  for (auto [axis, range] : llvm::enumerate(wanted))
    dims.push_back(numbersOf(getResult(), axis, range, scalars));
  if (!llvm::all_of(getSymbols(), [&](Value symbol) { return request.isKnown(symbol); }))
    return request.needWhole(getInput());
  Box result;
  for (auto [axis, expr] : llvm::enumerate(getMap().getResults())) {
    auto dim = llvm::dyn_cast<AffineDimExpr>(expr);
    const bool same = dim && extentOf(getInput(), axis) == extentOf(getResult(), dim.getPosition());
    if (same && wanted[dim.getPosition()].isWhole())
      result.push_back({});
    else
      result.push_back(rangeOf(expr, dims, getSymbols(), scalars));
  }
  request.need(getInput(), result);
}

static AxisRange padded(PadOp pad, int64_t axis, AxisRange wanted, OpBuilder &at) {
  const bool bounded = pad.getBorder() == Border::constant || pad.getBorder() == Border::edge;
  Value low;
  for (auto [name, value] : llvm::zip(pad.getOver().getAsRange<StringAttr>(), pad.getLow()))
    if (tensorOf(pad.getInput()).axisIndex(name) == axis)
      low = value;
  if (!low)
    return wanted;
  if (wanted.isWhole() || !bounded)
    return {};
  ScalarBuilder scalars(at, pad.getLoc());
  Value extent = scalars.extent(pad.getInput(), axis);
  Value zero = scalars.constant(0), one = scalars.constant(1);
  Value first = scalars.sub(wanted.low, low);
  Value end = scalars.sub(wanted.high, low);
  if (pad.getBorder() == Border::edge) // the edge is read from outside too
    return {scalars.max(scalars.min(first, scalars.sub(extent, one)), zero),
            scalars.min(scalars.max(end, one), extent)};
  return {scalars.min(scalars.max(first, zero), extent),
          scalars.min(scalars.max(end, zero), extent)};
}

void PadOp::requireInputs(const Box &wanted, BoxRequest &request) {
  Box result;
  for (auto [axis, range] : llvm::enumerate(wanted))
    result.push_back(padded(*this, axis, range, request.at()));
  request.need(getInput(), result);
}

void ConcatOp::requireInputs(const Box &wanted, BoxRequest &request) {
  Box result = wanted;
  result[tensorOf(getResult()).axisIndex(getAxis())] = {};
  for (Value input : getInputs())
    request.need(input, result);
}

void StackOp::requireInputs(const Box &wanted, BoxRequest &request) {
  for (Value input : getInputs())
    request.need(input, Box(llvm::drop_begin(wanted)));
}

void PlaceOp::requireInputs(const Box &wanted, BoxRequest &request) {
  request.need(getBase(), wanted);
  Box result = wanted;
  for (auto name : getOver().getAsRange<StringAttr>())
    result[tensorOf(getResult()).axisIndex(name)] = {};
  request.need(getPatch(), result);
}

//===--- elements of inputs, one or several -----------------------------------===//

void CastOp::requireInputs(const Box &wanted, BoxRequest &request) {
  request.need(getValue(), wanted);
}

void MapOp::requireInputs(const Box &wanted, BoxRequest &request) {
  for (Value input : getInputs()) {
    Box result;
    for (const Axis &axis : tensorOf(input).getAxes())
      result.push_back(wanted[tensorOf(getResult()).axisIndex(axis.name)]);
    request.need(input, result);
  }
}

/// `wanted` with `below` more elements before and `above` behind, clamped.
static AxisRange widened(Value input, int64_t axis, AxisRange wanted, int64_t below, int64_t above,
                         OpBuilder &at) {
  if (wanted.isWhole())
    return {};
  ScalarBuilder scalars(at, input.getLoc());
  Value extent = scalars.extent(input, axis);
  return {scalars.max(scalars.add(wanted.low, scalars.constant(below)), scalars.constant(0)),
          scalars.min(scalars.add(wanted.high, scalars.constant(above)), extent)};
}

void WindowOp::requireInputs(const Box &wanted, BoxRequest &request) {
  const bool bounded = getBorder() == Border::constant || getBorder() == Border::edge;
  Box result = wanted;
  for (auto [i, name] : llvm::enumerate(getOver().getAsRange<StringAttr>())) {
    const int64_t axis = tensorOf(getResult()).axisIndex(name);
    // Reflected elements may lie further inside than the neighbourhood.
    result[axis] = bounded
                       ? widened(getInput(), axis, wanted[axis], std::min<int64_t>(getLow()[i], 0),
                                 std::max<int64_t>(getHigh()[i], 0), request.at())
                       : AxisRange();
  }
  request.need(getInput(), result);
}

/// Half the width of a filter at scale 1, in input elements.
static double supportOf(Filter filter) {
  switch (filter) {
  case Filter::nearest:
    return 0.0;
  case Filter::box:
    return 0.5;
  case Filter::bilinear:
  case Filter::hamming:
    return 1.0;
  case Filter::bicubic:
    return 2.0;
  case Filter::lanczos:
    return 3.0;
  }
  llvm_unreachable("not a filter");
}

// The first tap of output o is max(trunc((o + 0.5) * scale - support + 0.5), 0)
// and rises with o; windows that would leave the input move left, to in - taps.
// So the taps of lo ..< hi lie in min(first(lo), in - taps) ..< first(hi - 1) +
// taps. One element more on each side covers the rounding of this f64
// arithmetic against that of pipe.weights.
static AxisRange resampled(ResampleOp op, AxisRange wanted, OpBuilder &at) {
  // Through the views that moved to the tables.
  Value start = op.getStart();
  SmallVector<ViewOp> views;
  while (auto view = start.getDefiningOp<ViewOp>()) {
    views.push_back(view);
    start = view.getInput();
  }
  auto weights = start.getDefiningOp<WeightsOp>();
  if (!weights)
    return {};
  ScalarBuilder scalars(at, op.getLoc());
  for (ViewOp view : views) {
    // A mirrored table is still the whole table.
    const bool covers = extentOf(view.getInput(), 0) == extentOf(view.getResult(), 0);
    if (wanted.isWhole() && covers)
      continue;
    AxisRange dim = numbersOf(view.getResult(), 0, wanted, scalars);
    wanted = rangeOf(view.getMap().getResult(0), dim, view.getSymbols(), scalars);
  }
  if (wanted.isWhole())
    return {};
  Type f64 = at.getF64Type();
  Value one = scalars.constant(1), zero = scalars.constant(0);
  Value in = weights.getIn();
  Value scale =
      scalars.binary(BinaryKind::div, scalars.cast(in, f64), scalars.cast(weights.getOut(), f64));
  Value widening =
      weights.getAntialias() ? scalars.max(scale, scalars.number(1.0)) : scalars.number(1.0);
  Value support = scalars.mul(widening, scalars.number(supportOf(weights.getFilter())));
  Value taps = at.create<TapsOp>(op.getLoc(), at.getI64Type(), weights.getFilter(), in,
                                 weights.getOut(), weights.getAntialias());
  auto first = [&](Value output) {
    Value center = scalars.mul(scalars.add(scalars.cast(output, f64), scalars.number(0.5)), scale);
    Value place = scalars.add(scalars.sub(center, support), scalars.number(0.5));
    return scalars.max(scalars.cast(place, at.getI64Type()), zero);
  };
  Value low = scalars.sub(scalars.min(first(wanted.low), scalars.sub(in, taps)), one);
  Value high = scalars.add(scalars.add(first(scalars.sub(wanted.high, one)), taps), one);
  return {scalars.max(low, zero), scalars.min(high, in)};
}

void ResampleOp::requireInputs(const Box &wanted, BoxRequest &request) {
  const int64_t axis = tensorOf(getResult()).axisIndex(getAxis());
  Box result = wanted;
  result[axis] = resampled(*this, wanted[axis], request.at());
  request.need(getInput(), result);
  request.needWhole(getWeights());
  request.needWhole(getStart());
}

void GatherOp::requireInputs(const Box &wanted, BoxRequest &request) {
  Box result;
  for (int64_t own : readAt())
    result.push_back(own < 0 ? AxisRange() : wanted[own]);
  request.need(getInput(), result);
}

void ReduceOp::requireInputs(const Box &wanted, BoxRequest &request) {
  Box result;
  for (const Axis &axis : tensorOf(getValue()).getAxes()) {
    const int64_t kept = tensorOf(getResult()).axisIndex(axis.name);
    result.push_back(kept < 0 ? AxisRange() : wanted[kept]);
  }
  request.need(getValue(), result);
}
