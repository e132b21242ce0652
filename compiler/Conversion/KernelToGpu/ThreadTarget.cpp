// SPDX-License-Identifier: Apache-2.0
//
// Elements of a thread.
#include "compiler/Conversion/KernelToGpu/ThreadTarget.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

//===--- reads -------------------------------------------------------------===//

Value ThreadTarget::element(Value tensor, GpuIndices at) const {
  return conversion::element(site, tensor, at);
}

Value ThreadTarget::tabled(ConstantOp op, GpuIndices at) const {
  NamedTensorType type = typeOf(op.getResult());
  GpuBuffer table;
  table.memory = tableOf(site, llvm::cast<DenseElementsAttr>(op.getValue()), type.getElementType());
  table.strides.resize(type.getRank());
  int64_t stride = 1;
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    table.strides[axis] = site.x.constant(stride);
    stride *= type.getAxes()[axis].extent;
  }
  return load(site, table, at);
}

Value ThreadTarget::extent(Value tensor, int64_t axis) const {
  return conversion::extent(site, tensor, axis);
}

SmallVector<Value> ThreadTarget::valuesOf(Block &body, ArrayRef<Value> arguments,
                                          GpuIndices at) const {
  for (auto [axis, argument] : llvm::enumerate(body.getArguments().drop_front(arguments.size())))
    if (!argument.use_empty())
      site.ctx.scalars.map(argument, site.x.toI64(at[axis]));
  site.ctx.scalars.map(body.getArguments().take_front(arguments.size()), arguments);
  return results(site, body);
}

//===--- numbers -----------------------------------------------------------===//

/// Integers are signless in tables, and ours by type here.
Value ThreadTarget::constant(TypedAttr value, Type type) const {
  if (auto integer = llvm::dyn_cast<IntegerAttr>(value))
    value = IntegerAttr::get(type, integer.getValue());
  return site.s.constant(value, type);
}

Value ThreadTarget::binary(BinaryKind kind, Value x, Value y) const {
  return site.s.binary(kind, x, y);
}

Value ThreadTarget::cast(Value x, Type type, CastMode mode) const {
  return site.s.cast(x, type, mode);
}

Value ThreadTarget::ofPillowSum(Value sum, Type type) const {
  return call(site, "pst_pillow", type, sum);
}

/// A half of 22-bit weights: what is rounded at the end.
Value penstock::conversion::pillowSum(const GpuSite &site) {
  auto [ctx, b, x, s] = site.parts();
  return s.constant(b.getI32IntegerAttr(1 << 21), b.getI32Type());
}

//===--- places ------------------------------------------------------------===//

Value ThreadTarget::scalarPlace(Value scalar) const { return asIndex(site, scalar); }

Value ThreadTarget::placeOf(Value whole, bool hasNeighbours) const {
  const IndexMath &x = site.x;
  Value place = x.toIndex(site.s.cast(whole, site.ctx.b.getI64Type()));
  if (!hasNeighbours)
    return place;
  return x.min(x.max(place, x.constant(INT64_MIN / 2)), x.constant(INT64_MAX / 2));
}

Value ThreadTarget::affine(AffineExpr expr, GpuIndices dims, GpuIndices symbols) const {
  return site.x.affine(expr, dims, symbols);
}

Value ThreadTarget::bordered(Value place, Value extent, Border border, Value &inside) const {
  if (border == Border::constant) {
    inside = site.x.both(inside, site.x.inside(place, extent));
    return place;
  }
  const StringRef name = border == Border::edge      ? "pst_edge"
                         : border == Border::reflect ? "pst_reflect"
                         : border == Border::wrap    ? "pst_wrap"
                                                     : "pst_symmetric";
  return movedBy(site, name, place, extent);
}

//===--- choices -----------------------------------------------------------===//

Value ThreadTarget::within(Value number, Value extent, Value inside) const {
  auto [ctx, b, x, s] = site.parts();
  Value size = s.cast(x.toI64(extent), b.getF64Type());
  inside = x.both(inside, s.compare(Predicate::ge, number, s.real(0)));
  return x.both(inside, s.compare(Predicate::lt, number, size));
}

Value ThreadTarget::orFill(Value condition, Make<> element, Value fill) const {
  return branch(site, condition, fill.getType(), element, [&] { return scalarOf(site, fill); });
}

Value ThreadTarget::elementOr(Value inside, Value tensor, GpuIndices at, GpuIndices,
                              Make<> other) const {
  return branch(
      site, inside, typeOf(tensor).getElementType(), [&] { return element(tensor, at); }, other);
}

Value ThreadTarget::split(Value place, Value extent, Type type, Make<Value> here,
                          Make<Value> beyond) const {
  const IndexMath &x = site.x;
  return branch(
      site, x.compare(CmpIPredicate::slt, place, extent), type, [&] { return here(place); },
      [&] { return beyond(x.sub(place, extent)); });
}

Value ThreadTarget::oneOf(Operation *op, llvm::function_ref<Value()> index, int64_t count,
                          Type type, Make<int64_t> arm) const {
  return conversion::oneOf(site, armOf(site, op, index), count, type,
                           [&](int64_t number) { return SmallVector<Value>{arm(number)}; })
      .front();
}

SmallVector<Value> ThreadTarget::accumulate(Value tensor, int64_t axis, ArrayRef<Value> inits,
                                            Step step) const {
  SmallVector<Value> results =
      loop(site, site.x.constant(0), extent(tensor, axis), 1, inits,
           [&](Value place, ValueRange sofar) { return step(place, SmallVector<Value>(sofar)); });
  // Where blocks share memory, turns one by one: several at once take registers, and few blocks
  // fit a multiprocessor.
  if (site.ctx.launch.shared)
    setUnrolled(results.front().getDefiningOp<scf::ForOp>(), 1);
  return results;
}
