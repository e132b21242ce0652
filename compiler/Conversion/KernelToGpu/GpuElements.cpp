// SPDX-License-Identifier: Apache-2.0
//
// The element of a tensor at given indices.
#include "compiler/Conversion/KernelToGpu/GpuElements.h"
#include "compiler/Conversion/KernelToGpu/GpuLoops.h"
#include "compiler/Conversion/KernelToGpu/GpuScalars.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static Value makeElement(const GpuSite &site, Value tensor, GpuIndices at);
static Value constantElement(const GpuSite &site, ConstantOp op, GpuIndices at);
static Value mapped(const GpuSite &site, MapOp op, GpuIndices at);
static Value padded(const GpuSite &site, PadOp op, GpuIndices at);
static Value windowed(const GpuSite &site, WindowOp op, GpuIndices at);
static Value joined(const GpuSite &site, ConcatOp op, GpuIndices at);
static Value placed(const GpuSite &site, PlaceOp op, GpuIndices at);

Value penstock::conversion::element(const GpuSite &site, Value tensor, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  IndexMath::Key key{tensor.getAsOpaquePointer(), &ctx};
  for (Value index : at)
    key.push_back(index.getAsOpaquePointer());
  if (Value known = x.find(key))
    return known;
  const GpuSite there = site.of(tensor);
  const GpuBuffer *stored = site.bufferOf(tensor);
  Value made = stored ? load(there, *stored, at) : makeElement(there, tensor, at);
  return x.remember(key, made);
}

static Value makeElement(const GpuSite &site, Value tensor, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  Type type = typeOf(tensor).getElementType();
  return llvm::TypeSwitch<Operation *, Value>(tensor.getDefiningOp())
      .Case([&](ViewOp op) {
        SmallVector<Value> symbols, inner;
        for (Value symbol : op.getSymbols())
          symbols.push_back(asIndex(site, symbol));
        for (AffineExpr expr : op.getMap().getResults())
          inner.push_back(x.affine(expr, at, symbols));
        return element(site, op.getInput(), inner);
      })
      .Case([&](CastOp op) -> Value {
        Value value = element(site, op.getValue(), at);
        return value.getType() == type
                   ? value
                   : b.create<CastOp>(site.loc, type, op.getMode(), value, ValueRange{})
                         .getResult();
      })
      .Case([&](ConstantOp op) { return constantElement(site, op, at); })
      .Case([&](MapOp op) { return mapped(site, op, at); })
      .Case([&](PadOp op) { return padded(site, op, at); })
      .Case([&](WindowOp op) { return windowed(site, op, at); })
      .Case([&](ConcatOp op) { return joined(site, op, at); })
      .Case([&](StackOp op) {
        auto arm = [&](int64_t number) {
          return SmallVector<Value>{element(site, op.getInputs()[number], at.drop_front())};
        };
        return oneOf(site, armOf(site, op, [&] { return at[0]; }),
                     static_cast<int64_t>(op.getInputs().size()), type, arm)
            .front();
      })
      .Case([&](PlaceOp op) { return placed(site, op, at); })
      .Case([&](ResampleOp op) {
        return resampled(site, op, at, SmallVector<int64_t>(at.size(), 1)).front();
      })
      .Case([&](GatherOp op) { return gathered(site, op, at); })
      .Case([&](ReduceOp op) { return reduced(site, op, at); })
      .Case([&](ChooseOp op) {
        const unsigned number = llvm::cast<OpResult>(tensor).getResultNumber();
        auto arm = [&](int64_t taken) {
          return SmallVector<Value>{
              element(site, op.getArms()[taken].front().getTerminator()->getOperand(number), at)};
        };
        return oneOf(site, armOf(site, op, [&] { return asIndex(site, op.getIndex()); }),
                     static_cast<int64_t>(op.getArms().size()), type, arm)
            .front();
      })
      .Default([&](Operation *) -> Value { llvm_unreachable("statement() admits no other"); });
}

//===--- constants ---------------------------------------------------------===//

/// A table of the module; equal ones are the same.
Value penstock::conversion::tableOf(const GpuSite &site, DenseElementsAttr elements, Type element) {
  auto [ctx, b, x, s] = site.parts();
  auto module = ctx.function->getParentOfType<ModuleOp>();
  const int64_t size = elements.getNumElements();
  // Tables are told apart by content and type.
  auto content = DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get({size}, elements.getElementType()), elements.getRawData());
  auto memory = MemRefType::get({size}, element);
  memref::GlobalOp global;
  int64_t count = 0;
  for (auto present : module.getOps<memref::GlobalOp>()) {
    ++count;
    if (elementsOf(present) == content && present.getType() == memory)
      global = present;
  }
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    global = b.create<memref::GlobalOp>(site.loc, b.getStringAttr("table" + std::to_string(count)),
                                        b.getStringAttr("private"), TypeAttr::get(memory),
                                        Attribute(), b.getUnitAttr(), IntegerAttr());
    setElements(global, content);
  }
  return b.create<memref::GetGlobalOp>(site.loc, memory, global.getSymName());
}

/// From a table, unless the element is known.
static Value constantElement(const GpuSite &site, ConstantOp op, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  auto elements = llvm::cast<DenseElementsAttr>(op.getValue());
  NamedTensorType type = typeOf(op.getResult());
  Type element = type.getElementType();
  auto one = [&](int64_t number) {
    auto value = llvm::cast<TypedAttr>(elements.getValues<Attribute>()[number]);
    if (auto integer =
            llvm::dyn_cast<IntegerAttr>(value)) // signless in the table, ours by type here
      value = IntegerAttr::get(element, integer.getValue());
    return s.constant(value, element);
  };
  if (elements.isSplat())
    return one(0);
  int64_t number = 0;
  bool isKnown = true;
  GpuBuffer table;
  int64_t stride = 1;
  table.strides.resize(type.getRank());
  for (int64_t axis = type.getRank() - 1; axis >= 0; --axis) {
    auto index = IndexMath::constantOf(at[axis]);
    isKnown &= index.has_value();
    number += index.value_or(0) * stride;
    table.strides[axis] = x.constant(stride);
    stride *= type.getAxes()[axis].extent;
  }
  if (isKnown)
    return one(number);
  table.memory = tableOf(site, elements, element);
  return load(site, table, at);
}

//===--- points and neighbourhoods -----------------------------------------===//

static Value mapped(const GpuSite &site, MapOp op, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType domain = typeOf(op.getResult());
  Block &body = op.getBody().front();
  SmallVector<Value> arguments;
  for (Value input : op.getInputs()) {
    SmallVector<Value> inner;
    for (const Axis &axis : typeOf(input).getAxes())
      inner.push_back(at[domain.axisIndex(axis.name)]);
    arguments.push_back(element(site, input, inner));
  }
  for (auto [axis, argument] : llvm::enumerate(body.getArguments().drop_front(arguments.size())))
    if (!argument.use_empty())
      ctx.scalars.map(argument, x.toI64(at[axis]));
  ctx.scalars.map(body.getArguments().take_front(arguments.size()), arguments);
  return results(site, body).front();
}

Value penstock::conversion::bordered(const GpuSite &site, Value index, Value size, Border border,
                                     Value &inside) {
  auto [ctx, b, x, s] = site.parts();
  if (border == Border::constant) {
    inside = x.both(inside, x.inside(index, size));
    return index;
  }
  const StringRef name = border == Border::edge      ? "pst_edge"
                         : border == Border::reflect ? "pst_reflect"
                         : border == Border::wrap    ? "pst_wrap"
                                                     : "pst_symmetric";
  return movedBy(site, name, index, size);
}

static Value padded(const GpuSite &site, PadOp op, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  SmallVector<Value> inner(at);
  Value inside;
  for (auto [name, low] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getLow())) {
    const int64_t axis = type.axisIndex(name);
    inner[axis] = bordered(site, x.sub(at[axis], asIndex(site, low)),
                           extent(site, op.getInput(), axis), op.getBorder(), inside);
  }
  if (!inside)
    return element(site, op.getInput(), inner);
  return branch(
      site, inside, type.getElementType(), [&] { return element(site, op.getInput(), inner); },
      [&] { return scalarOf(site, op.getFill()); });
}

static Value windowed(const GpuSite &site, WindowOp op, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getInput());
  Block &body = op.getBody().front();
  SmallVector<int64_t> axes, offset(op.getLow());
  for (auto name : op.getOver().getAsRange<StringAttr>())
    axes.push_back(type.axisIndex(name));
  SmallVector<Value> arguments;
  for (bool more = true; more;) {
    SmallVector<Value> inner(at);
    Value inside;
    for (auto [k, axis] : llvm::enumerate(axes))
      inner[axis] = bordered(site, x.add(at[axis], x.constant(offset[k])),
                             extent(site, op.getInput(), axis), op.getBorder(), inside);
    arguments.push_back(inside ? branch(
                                     site, inside, type.getElementType(),
                                     [&] { return element(site, op.getInput(), inner); },
                                     [&] { return scalarOf(site, op.getFill()); })
                               : element(site, op.getInput(), inner));
    more = false; // row-major: the last axis moves first
    for (auto k = static_cast<int64_t>(axes.size()) - 1; k >= 0 && !more; --k) {
      more = offset[k] < op.getHigh()[k];
      offset[k] = more ? offset[k] + 1 : op.getLow()[k];
    }
  }
  for (auto [axis, argument] : llvm::enumerate(body.getArguments().drop_front(arguments.size())))
    if (!argument.use_empty())
      ctx.scalars.map(argument, x.toI64(at[axis]));
  ctx.scalars.map(body.getArguments().take_front(arguments.size()), arguments);
  return results(site, body).front();
}

//===--- joins -------------------------------------------------------------===//

static Value joined(const GpuSite &site, ConcatOp op, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  Type type = typeOf(op.getResult()).getElementType();
  std::function<Value(size_t, Value)> from = [&](size_t number, Value index) -> Value {
    Value input = op.getInputs()[number];
    auto here = [&] {
      SmallVector<Value> inner(at);
      inner[axis] = index;
      return element(site, input, inner);
    };
    if (number + 1 == op.getInputs().size())
      return here();
    Value size = extent(site, input, axis);
    return branch(site, x.compare(CmpIPredicate::slt, index, size), type, here,
                  [&] { return from(number + 1, x.sub(index, size)); });
  };
  return from(0, at[axis]);
}

static Value placed(const GpuSite &site, PlaceOp op, GpuIndices at) {
  auto [ctx, b, x, s] = site.parts();
  NamedTensorType type = typeOf(op.getResult());
  SmallVector<Value> inner(at);
  Value inside;
  for (auto [name, offset] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getAt())) {
    const int64_t axis = type.axisIndex(name);
    inner[axis] = x.sub(at[axis], asIndex(site, offset));
  }
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const Axis &patch = typeOf(op.getPatch()).getAxes()[axis];
    if (inner[axis] == at[axis] && patch.isStatic() && patch.extent == type.getAxes()[axis].extent)
      continue;
    inside = x.both(inside, x.inside(inner[axis], extent(site, op.getPatch(), axis)));
  }
  if (!inside)
    return element(site, op.getPatch(), inner);
  return branch(
      site, inside, type.getElementType(), [&] { return element(site, op.getPatch(), inner); },
      [&] { return element(site, op.getBase(), at); });
}
