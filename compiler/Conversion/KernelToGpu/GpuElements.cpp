// SPDX-License-Identifier: Apache-2.0
//
// The element of a tensor at given indices.
#include "compiler/Conversion/KernelToGpu/GpuEmitter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

Value GpuEmitter::element(Value tensor, Indices at) {
  IndexMath::Key key{tensor.getAsOpaquePointer(), this};
  for (Value index : at)
    key.push_back(index.getAsOpaquePointer());
  if (Value known = x.find(key))
    return known;
  const Location around = loc;
  if (Operation *op = tensor.getDefiningOp())
    moveTo(op->getLoc());
  auto stored = buffers.find(tensor);
  Value made = stored != buffers.end() ? load(stored->second, at) : makeElement(tensor, at);
  moveTo(around);
  return x.remember(key, made);
}

Value GpuEmitter::makeElement(Value tensor, Indices at) {
  Type type = typeOf(tensor).getElementType();
  return llvm::TypeSwitch<Operation *, Value>(tensor.getDefiningOp())
      .Case([&](ViewOp op) {
        SmallVector<Value> symbols, inner;
        for (Value symbol : op.getSymbols())
          symbols.push_back(asIndex(symbol));
        for (AffineExpr expr : op.getMap().getResults())
          inner.push_back(x.affine(expr, at, symbols));
        return element(op.getInput(), inner);
      })
      .Case([&](CastOp op) -> Value {
        Value value = element(op.getValue(), at);
        return value.getType() == type
                   ? value
                   : b.create<CastOp>(loc, type, op.getMode(), value, ValueRange{}).getResult();
      })
      .Case([&](ConstantOp op) { return constantElement(op, at); })
      .Case([&](MapOp op) { return mapped(op, at); })
      .Case([&](PadOp op) { return padded(op, at); })
      .Case([&](WindowOp op) { return windowed(op, at); })
      .Case([&](ConcatOp op) { return joined(op, at); })
      .Case([&](StackOp op) {
        auto arm = [&](int64_t number) {
          return SmallVector<Value>{element(op.getInputs()[number], at.drop_front())};
        };
        return oneOf(at[0], static_cast<int64_t>(op.getInputs().size()), type, arm).front();
      })
      .Case([&](PlaceOp op) { return placed(op, at); })
      .Case([&](ResampleOp op) {
        return resampled(op, at, SmallVector<int64_t>(at.size(), 1)).front();
      })
      .Case([&](GatherOp op) { return gathered(op, at); })
      .Case([&](ReduceOp op) { return reduced(op, at); })
      .Case([&](ChooseOp op) {
        const unsigned number = llvm::cast<OpResult>(tensor).getResultNumber();
        auto arm = [&](int64_t taken) {
          return SmallVector<Value>{
              element(op.getArms()[taken].front().getTerminator()->getOperand(number), at)};
        };
        return oneOf(asIndex(op.getIndex()), static_cast<int64_t>(op.getArms().size()), type, arm)
            .front();
      })
      .Default([&](Operation *) -> Value { llvm_unreachable("statement() admits no other"); });
}

//===--- constants ---------------------------------------------------------===//

/// A table of the module; equal ones are the same.
Value GpuEmitter::tableOf(DenseElementsAttr elements, Type element) {
  auto module = function->getParentOfType<ModuleOp>();
  const int64_t size = elements.getNumElements();
  // Tables are told apart by content and type.
  auto content = DenseElementsAttr::getFromRawBuffer(
      RankedTensorType::get({size}, elements.getElementType()), elements.getRawData());
  auto memory = MemRefType::get({size}, element);
  memref::GlobalOp global;
  int64_t count = 0;
  for (auto present : module.getOps<memref::GlobalOp>()) {
    ++count;
    if (present->getAttr("pipe.elements") == content && present.getType() == memory)
      global = present;
  }
  if (!global) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    global = b.create<memref::GlobalOp>(loc, b.getStringAttr("table" + std::to_string(count)),
                                        b.getStringAttr("private"), TypeAttr::get(memory),
                                        Attribute(), b.getUnitAttr(), IntegerAttr());
    global->setAttr("pipe.elements", content);
  }
  return b.create<memref::GetGlobalOp>(loc, memory, global.getSymName());
}

/// From a table, unless the element is known.
Value GpuEmitter::constantElement(ConstantOp op, Indices at) {
  auto elements = llvm::cast<DenseElementsAttr>(op.getValue());
  NamedTensorType type = typeOf(op.getResult());
  Type element = type.getElementType();
  auto one = [&](int64_t number) {
    auto value = llvm::cast<TypedAttr>(elements.getValues<Attribute>()[number]);
    if (auto integer =
            llvm::dyn_cast<IntegerAttr>(value)) // signless in the table, ours by type here
      value = IntegerAttr::get(element, integer.getValue());
    return constant(value, element);
  };
  if (elements.isSplat())
    return one(0);
  int64_t number = 0;
  bool isKnown = true;
  Buffer table;
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
  table.memory = tableOf(elements, element);
  return load(table, at);
}

//===--- points and neighbourhoods -----------------------------------------===//

Value GpuEmitter::mapped(MapOp op, Indices at) {
  NamedTensorType domain = typeOf(op.getResult());
  Block &body = op.getBody().front();
  SmallVector<Value> arguments;
  for (Value input : op.getInputs()) {
    SmallVector<Value> inner;
    for (const Axis &axis : typeOf(input).getAxes())
      inner.push_back(at[domain.axisIndex(axis.name)]);
    arguments.push_back(element(input, inner));
  }
  for (auto [axis, argument] : llvm::enumerate(body.getArguments().drop_front(arguments.size())))
    if (!argument.use_empty())
      map.map(argument, x.toI64(at[axis]));
  map.map(body.getArguments().take_front(arguments.size()), arguments);
  return results(body).front();
}

Value GpuEmitter::bordered(Value index, Value size, Border border, Value &inside) {
  if (border == Border::constant) {
    inside = x.both(inside, x.inside(index, size));
    return index;
  }
  const StringRef name = border == Border::edge      ? "pst_edge"
                         : border == Border::reflect ? "pst_reflect"
                         : border == Border::wrap    ? "pst_wrap"
                                                     : "pst_symmetric";
  return moved(name, index, size);
}

Value GpuEmitter::padded(PadOp op, Indices at) {
  NamedTensorType type = typeOf(op.getInput());
  SmallVector<Value> inner(at);
  Value inside;
  for (auto [name, low] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getLow())) {
    const int64_t axis = type.axisIndex(name);
    inner[axis] = bordered(x.sub(at[axis], asIndex(low)), extent(op.getInput(), axis),
                           op.getBorder(), inside);
  }
  if (!inside)
    return element(op.getInput(), inner);
  return branch(
      inside, type.getElementType(), [&] { return element(op.getInput(), inner); },
      [&] { return number(op.getFill()); });
}

Value GpuEmitter::windowed(WindowOp op, Indices at) {
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
      inner[axis] = bordered(x.add(at[axis], x.constant(offset[k])), extent(op.getInput(), axis),
                             op.getBorder(), inside);
    arguments.push_back(inside ? branch(
                                     inside, type.getElementType(),
                                     [&] { return element(op.getInput(), inner); },
                                     [&] { return number(op.getFill()); })
                               : element(op.getInput(), inner));
    more = false; // row-major: the last axis moves first
    for (auto k = static_cast<int64_t>(axes.size()) - 1; k >= 0 && !more; --k) {
      more = offset[k] < op.getHigh()[k];
      offset[k] = more ? offset[k] + 1 : op.getLow()[k];
    }
  }
  for (auto [axis, argument] : llvm::enumerate(body.getArguments().drop_front(arguments.size())))
    if (!argument.use_empty())
      map.map(argument, x.toI64(at[axis]));
  map.map(body.getArguments().take_front(arguments.size()), arguments);
  return results(body).front();
}

//===--- joins -------------------------------------------------------------===//

Value GpuEmitter::joined(ConcatOp op, Indices at) {
  const int64_t axis = typeOf(op.getResult()).axisIndex(op.getAxis());
  Type type = typeOf(op.getResult()).getElementType();
  std::function<Value(size_t, Value)> from = [&](size_t number, Value index) -> Value {
    Value input = op.getInputs()[number];
    auto here = [&] {
      SmallVector<Value> inner(at);
      inner[axis] = index;
      return element(input, inner);
    };
    if (number + 1 == op.getInputs().size())
      return here();
    Value size = extent(input, axis);
    return branch(x.compare(CmpIPredicate::slt, index, size), type, here,
                  [&] { return from(number + 1, x.sub(index, size)); });
  };
  return from(0, at[axis]);
}

Value GpuEmitter::placed(PlaceOp op, Indices at) {
  NamedTensorType type = typeOf(op.getResult());
  SmallVector<Value> inner(at);
  Value inside;
  for (auto [name, offset] : llvm::zip(op.getOver().getAsRange<StringAttr>(), op.getAt())) {
    const int64_t axis = type.axisIndex(name);
    inner[axis] = x.sub(at[axis], asIndex(offset));
  }
  for (int64_t axis = 0; axis < type.getRank(); ++axis) {
    const Axis &patch = typeOf(op.getPatch()).getAxes()[axis];
    if (inner[axis] == at[axis] && patch.isStatic() && patch.extent == type.getAxes()[axis].extent)
      continue;
    inside = x.both(inside, x.inside(inner[axis], extent(op.getPatch(), axis)));
  }
  if (!inside)
    return element(op.getPatch(), inner);
  return branch(
      inside, type.getElementType(), [&] { return element(op.getPatch(), inner); },
      [&] { return element(op.getBase(), at); });
}

//===--- resampling --------------------------------------------------------===//

Type GpuEmitter::sumTypeOf(ResampleOp op) {
  return op.getNumerics() == Numerics::pillow ? Type(b.getI32Type()) : b.getF64Type();
}

Value GpuEmitter::resampledFrom(ResampleOp op, Value sum) {
  Type type = typeOf(op.getResult()).getElementType();
  if (op.getNumerics() == Numerics::pillow)
    return call("pst_pillow", type, sum);
  if (llvm::isa<FloatType>(type))
    return cast(sum, type);
  return cast(b.create<UnaryOp>(loc, UnaryKind::round_away, sum), type);
}
