// SPDX-License-Identifier: Apache-2.0
//
// Tensors made of tensors.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/ByteChains.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"
#include "compiler/Conversion/KernelToLoops/Rows/ResampledRows.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

LaneValue penstock::conversion::emitConcat(const Site &site, ConcatOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  Type element = typeOf(op.getResult()).getElementType();
  std::function<LaneValue(size_t, Index)> from = [&](size_t number, Index index) -> LaneValue {
    Value input = op.getInputs()[number];
    SmallVector<Index> inner(at);
    inner[axis] = index;
    if (number + 1 == op.getInputs().size())
      return emit(site, input, inner);
    Value size = extent(site, input, axis);
    Index rest = m.add(index, m.uniform(l.sub(l.i64(0), size)));
    if (index.uniform())
      return branch(
          site, l.cmp(CmpIPredicate::slt, index.base, size), element, anyLanes(at),
          [&] { return emit(site, input, inner); }, [&] { return from(number + 1, rest); });
    Value here = l.cmp(CmpIPredicate::slt, m.numbers(index), size);
    inner[axis] = m.clamp(index, size);
    LaneValue mine = emit(site, input, inner);
    Value next = m.numbers(rest);
    return l.select(l.wrap(here, b.getI1Type()), mine,
                    from(number + 1, m.of(l.maxS(next, l.integerLike(next, 0)))));
  };
  return from(0, at[axis]);
}

LaneValue penstock::conversion::emitStack(const Site &site, StackOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  ArrayRef<Index> inner = at.drop_front();
  auto number = at[0].uniform() ? Lanes::constantOf(at[0].base) : std::nullopt;
  const size_t count = op.getInputs().size();
  if (number && *number >= 0 && *number < static_cast<int64_t>(count))
    return emit(site, op.getInputs()[*number], inner);
  Type element = typeOf(op.getResult()).getElementType();
  std::function<LaneValue(size_t)> from = [&](size_t i) -> LaneValue {
    if (i + 1 == count)
      return emit(site, op.getInputs()[i], inner);
    if (at[0].uniform())
      return branch(
          site, l.cmp(CmpIPredicate::sle, at[0].base, l.i64(static_cast<int64_t>(i))), element,
          anyLanes(at), [&] { return emit(site, op.getInputs()[i], inner); },
          [&] { return from(i + 1); });
    Value numbers = m.numbers(at[0]);
    Value here =
        l.cmp(CmpIPredicate::sle, numbers, l.integerLike(numbers, static_cast<int64_t>(i)));
    LaneValue mine = emit(site, op.getInputs()[i], inner);
    return l.select(l.wrap(here, b.getI1Type()), mine, from(i + 1));
  };
  return from(0);
}

LaneValue penstock::conversion::emitPlace(const Site &site, PlaceOp op, ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  SmallVector<Index> moved(at), clamped(at);
  Value inside;
  bool uniform = true;
  for (auto [name, offset] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getAt())) {
    const int64_t axis = type.axisIndex(name);
    moved[axis] = m.add(at[axis], m.uniform(l.sub(l.i64(0), scalarOf(site, offset).value)));
    uniform &= at[axis].uniform();
    clamped[axis] =
        bordered(site, moved[axis], extent(site, op.getPatch(), axis), Border::constant, inside);
  }
  // Along the other axes the patch starts at 0, and may end early.
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const Axis &patch = typeOf(op.getPatch()).getAxes()[axis], &base = type.getAxes()[axis];
    const bool named = llvm::any_of(op.getOver().getAsRange<StringAttr>(),
                                    [&](StringAttr name) { return name.strref() == base.name; });
    if (named || (patch.isStatic() && patch.extent == base.extent))
      continue;
    uniform &= at[axis].uniform();
    clamped[axis] =
        bordered(site, at[axis], extent(site, op.getPatch(), axis), Border::constant, inside);
  }
  if (!inside)
    return emit(site, op.getPatch(), at);
  if (uniform)
    return branch(
        site, inside, type.getElementType(), anyLanes(at),
        [&] { return emit(site, op.getPatch(), moved); },
        [&] { return emit(site, op.getBase(), at); });
  // A patch without elements has none to clamp to.
  Value isThere;
  for (auto [axis, a] : llvm::enumerate(typeOf(op.getPatch()).getAxes())) {
    if (a.isStatic())
      continue;
    Value some = l.cmp(CmpIPredicate::sgt, extent(site, op.getPatch(), static_cast<int64_t>(axis)),
                       l.i64(0));
    isThere = isThere ? l.andInt(isThere, some) : some;
  }
  auto patch = [&] { return emit(site, op.getPatch(), clamped); };
  auto nothing = [&] {
    Value zero =
        b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(registerType(type.getElementType())));
    return LaneValue{zero, type.getElementType(), Interval::of(0, 0)};
  };
  LaneValue mine = isThere
                       ? branch(site, isThere, type.getElementType(), anyLanes(at), patch, nothing)
                       : patch();
  // Written once: a chain of them would be written again for each.
  return l.select(l.wrap(inside, b.getI1Type()), mine, emit(site, op.getBase(), at));
}
