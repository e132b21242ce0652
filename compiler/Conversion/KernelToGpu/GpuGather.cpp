// SPDX-License-Identifier: Apache-2.0
//
// Sampling at computed coordinates.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// The value between the elements around the coordinates, in f64; the last axis
/// of `over` first.
static Value interpolated(const GpuSite &site, GatherOp op, ArrayRef<Value> coordinates,
                          GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  SmallVector<int64_t> axes;
  for (auto name : op.getOver().getAsRange<StringAttr>())
    axes.push_back(type.axisIndex(name));
  const Border border = op.getBorder() == Border::constant ? Border::edge : op.getBorder();
  SmallVector<Value> inner;
  for (int64_t own : op.readAt())
    inner.push_back(own < 0 ? Value() : at[own]);
  auto whole = [&](Value coordinate) { return s.unary(UnaryKind::floor, coordinate); };
  auto put = [&](size_t k, Value index) {
    Value ignored;
    inner[axes[k]] = bordered(site, index, extent(site, op.getInput(), axes[k]), border, ignored);
  };
  if (op.getInterpolation() == Interpolation::nearest) {
    for (auto [k, coordinate] : llvm::enumerate(coordinates))
      put(k, x.toIndex(s.cast(whole(coordinate), b.getI64Type())));
    return element(site, op.getInput(), inner);
  }
  const bool isCubic = op.getInterpolation() == Interpolation::cubic;
  auto add = [&](Value p, Value q) { return s.binary(BinaryKind::add, p, q); };
  auto sub = [&](Value p, Value q) { return s.binary(BinaryKind::sub, p, q); };
  auto mul = [&](Value p, Value q) { return s.binary(BinaryKind::mul, p, q); };
  std::function<Value(size_t)> along = [&](size_t k) -> Value {
    if (k == coordinates.size())
      return s.cast(element(site, op.getInput(), inner), b.getF64Type());
    Value place = sub(coordinates[k], s.real(0.5));
    Value floor = whole(place);
    Value d = sub(place, floor);
    // Far outside, so that the neighbours' numbers do not wrap around.
    Value first = x.min(x.max(x.toIndex(s.cast(floor, b.getI64Type())), x.constant(INT64_MIN / 2)),
                        x.constant(INT64_MAX / 2));
    auto tap = [&](int64_t offset) {
      put(k, x.add(first, x.constant(offset)));
      return along(k + 1);
    };
    if (!isCubic) {
      Value v0 = tap(0), v1 = tap(1);
      return add(v0, mul(sub(v1, v0), d));
    }
    Value v0 = tap(-1), v1 = tap(0), v2 = tap(1), v3 = tap(2);
    Value p2 = sub(v2, v0);
    Value p3 = sub(add(mul(s.real(2), sub(v0, v1)), v2), v3);
    Value p4 = add(sub(sub(v1, v0), v2), v3);
    return add(v1, mul(d, add(p2, mul(d, add(p3, mul(d, p4))))));
  };
  return s.cast(along(0), type.getElementType());
}

Value penstock::conversion::gathered(const GpuSite &site, GatherOp op, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  Block &body = op.getBody().front();
  for (auto [axis, argument] : llvm::enumerate(body.getArguments()))
    if (!argument.use_empty())
      ctx.scalars.map(argument, x.toI64(at[axis]));
  SmallVector<Value> coordinates = results(site, body);
  if (op.getBorder() != Border::constant)
    return interpolated(site, op, coordinates, at);
  Value inside;
  for (auto [name, coordinate] : llvm::zip(op.getOver().getAsRange<StringAttr>(), coordinates)) {
    Value size = s.cast(x.toI64(extent(site, op.getInput(), type.axisIndex(name))), b.getF64Type());
    inside = x.both(inside, s.compare(Predicate::ge, coordinate, s.real(0)));
    inside = x.both(inside, s.compare(Predicate::lt, coordinate, size));
  }
  return branch(
      site, inside, type.getElementType(), [&] { return interpolated(site, op, coordinates, at); },
      [&] { return scalarOf(site, op.getFill()); });
}
