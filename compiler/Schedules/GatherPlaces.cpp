// SPDX-License-Identifier: Apache-2.0
//
// Places of a gather that many of its elements share.
//
// A signal of sixteen channels that is resampled at given places has the same places in each: a
// rounding, a conversion and two clamps for each element are as much as the interpolation, and a
// place in memory is read by the load that it leads to, where one in a register is taken out first.
#include "compiler/Schedules/GatherPlaces.h"
#include "compiler/Schedules/Tables.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;
using namespace penstock::pipe;
using penstock::schedules::isWorthATable;
using penstock::schedules::operationsFor;

/// Numbers from which neighbours' numbers are not told any more: no sum of them wraps around.
static constexpr int64_t farthest = int64_t{1} << 62;

static NamedTensorType typeOf(Value value) { return llvm::cast<NamedTensorType>(value.getType()); }

namespace {
/// Arithmetic in a body.
struct Arithmetic {
  OpBuilder &b;
  Location loc;

  Value constant(Type type, double number) const {
    TypedAttr value = llvm::isa<FloatType>(type)
                          ? TypedAttr(b.getFloatAttr(type, number))
                          : b.getIntegerAttr(type, static_cast<int64_t>(number));
    return b.create<ConstantOp>(loc, type, value);
  }
  Value unary(UnaryKind kind, Value x) const {
    return b.create<UnaryOp>(loc, x.getType(), kind, x);
  }
  Value binary(BinaryKind kind, Value x, Value y) const {
    return b.create<BinaryOp>(loc, x.getType(), kind, x, y);
  }
  Value compare(Predicate predicate, Value x, Value y) const {
    return b.create<CompareOp>(loc, b.getI1Type(), predicate, x, y);
  }
  Value cast(Value x, Type type) const {
    return x.getType() == type
               ? x
               : Value(b.create<CastOp>(loc, type, CastMode::value, x, ValueRange()));
  }
};

/// Values that an element needs along one axis of `over`.
struct Along {
  SmallVector<Value> places; ///< of the elements that it reads, inside
  Value behind;              ///< how far behind the first one's centre; null for `nearest`
  Value inside;              ///< null for borders that are not constant
};

class Split {
public:
  Split(GatherOp op, SmallVectorImpl<MapOp> &made)
      : op(op), body(op.getBody().front()), made(made), input(typeOf(op.getInput())),
        domain(typeOf(op.getResult())) {}
  void run();

private:
  using Axes = llvm::SmallBitVector;
  Axes axesOf(Value coordinate);
  bool paysOff(const Axes &axes);
  Value coordinateIn(OpBuilder &b, Value coordinate, ArrayRef<Value> at);
  SmallVector<int64_t> offsets();
  Value placeAt(const Arithmetic &a, Value x, int64_t axis, int64_t offset);
  Value behind(const Arithmetic &a, Value x);
  Value inside(const Arithmetic &a, Value x, int64_t axis);
  Value table(const Axes &axes, Value coordinate, Type element,
              llvm::function_ref<Value(const Arithmetic &, Value)> make);
  Value interpolate(const Arithmetic &a, ArrayRef<Along> along, SmallVector<Value> &at,
                    ArrayRef<int64_t> axes);

  GatherOp op;
  Block &body;
  SmallVectorImpl<MapOp> &made;
  const NamedTensorType input, domain;
};
} // namespace

/// The axes of the result that a coordinate depends on.
Split::Axes Split::axesOf(Value coordinate) {
  Axes axes(static_cast<unsigned>(domain.getRank()));
  auto note = [&](Value value) {
    if (auto argument = llvm::dyn_cast<BlockArgument>(value);
        argument && argument.getOwner() == &body)
      axes.set(argument.getArgNumber());
  };
  note(coordinate);
  for (Operation *inner : operationsFor(body, coordinate))
    inner->walk([&](Operation *part) { llvm::for_each(part->getOperands(), note); });
  return axes;
}

bool Split::paysOff(const Axes &axes) {
  const auto numbers = static_cast<int64_t>(offsets().size()) + 1;
  return axes.any() && isWorthATable(domain, axes, numbers * 8);
}

/// `coordinate` once more, at the result's coordinates `at`.
Value Split::coordinateIn(OpBuilder &b, Value coordinate, ArrayRef<Value> at) {
  IRMapping copies;
  for (auto [argument, place] : llvm::zip(body.getArguments(), at))
    if (place)
      copies.map(argument, place);
  for (Operation *inner : operationsFor(body, coordinate))
    b.clone(*inner, copies);
  return copies.lookupOrDefault(coordinate);
}

/// Of the elements that are read along an axis from the first one on.
SmallVector<int64_t> Split::offsets() {
  switch (op.getInterpolation()) {
  case Interpolation::nearest:
    return {0};
  case Interpolation::linear:
    return {0, 1};
  case Interpolation::cubic:
    return {-1, 0, 1, 2};
  }
  llvm_unreachable("an interpolation");
}

Value Split::placeAt(const Arithmetic &a, Value x, int64_t axis, int64_t offset) {
  Type i64 = a.b.getI64Type();
  auto number = [&](int64_t value) -> Value {
    return a.b.create<ConstantOp>(a.loc, i64, a.b.getI64IntegerAttr(value));
  };
  if (op.getInterpolation() != Interpolation::nearest)
    x = a.binary(BinaryKind::sub, x, a.constant(x.getType(), 0.5));
  Value place = a.cast(a.unary(UnaryKind::floor, x), i64);
  place = a.binary(BinaryKind::max, place, number(-farthest));
  place = a.binary(BinaryKind::min, place, number(farthest));
  place = a.binary(BinaryKind::add, place, number(offset));
  place = a.binary(BinaryKind::max, place, number(0));
  return a.binary(BinaryKind::min, place, number(input.getAxes()[axis].extent - 1));
}

Value Split::behind(const Arithmetic &a, Value x) {
  x = a.binary(BinaryKind::sub, x, a.constant(x.getType(), 0.5));
  return a.binary(BinaryKind::sub, x, a.unary(UnaryKind::floor, x));
}

Value Split::inside(const Arithmetic &a, Value x, int64_t axis) {
  const auto size = static_cast<double>(input.getAxes()[axis].extent);
  return a.binary(BinaryKind::bit_and, a.compare(Predicate::ge, x, a.constant(x.getType(), 0)),
                  a.compare(Predicate::lt, x, a.constant(x.getType(), size)));
}

/// A map over `axes` of what `make` makes of the coordinate there.
Value Split::table(const Axes &axes, Value coordinate, Type element,
                   llvm::function_ref<Value(const Arithmetic &, Value)> make) {
  OpBuilder b(op);
  SmallVector<Axis> own;
  for (unsigned axis : axes.set_bits())
    own.push_back(domain.getAxes()[axis]);
  auto map =
      b.create<MapOp>(op.getLoc(), NamedTensorType::get(element, own), ValueRange(), ValueRange());
  Block *block = b.createBlock(&map.getBody(), {}, SmallVector<Type>(own.size(), b.getI64Type()),
                               SmallVector<Location>(own.size(), op.getLoc()));
  SmallVector<Value> at(static_cast<size_t>(domain.getRank()));
  for (auto [axis, argument] : llvm::zip(axes.set_bits(), block->getArguments()))
    at[axis] = argument;
  Value x = coordinateIn(b, coordinate, at);
  b.create<YieldOp>(op.getLoc(), make({b, op.getLoc()}, x));
  made.push_back(map);
  return map.getResult();
}

/// The element, or what lies between several, as the op's description has it; `at` names what is
/// read along other axes.
Value Split::interpolate(const Arithmetic &a, ArrayRef<Along> along, SmallVector<Value> &at,
                         ArrayRef<int64_t> axes) {
  if (along.empty()) {
    Value element = a.b.create<LoadOp>(a.loc, input.getElementType(), op.getInput(), at);
    return op.getInterpolation() == Interpolation::nearest ? element
                                                           : a.cast(element, a.b.getF64Type());
  }
  SmallVector<Value> v;
  for (Value place : along[0].places) {
    at[axes[0]] = place;
    v.push_back(interpolate(a, along.drop_front(), at, axes.drop_front()));
  }
  if (v.size() == 1)
    return v[0];
  Value d = along[0].behind;
  auto add = [&](Value x, Value y) { return a.binary(BinaryKind::add, x, y); };
  auto sub = [&](Value x, Value y) { return a.binary(BinaryKind::sub, x, y); };
  auto mul = [&](Value x, Value y) { return a.binary(BinaryKind::mul, x, y); };
  if (v.size() == 2)
    return add(v[0], mul(sub(v[1], v[0]), d));
  Value twice = mul(a.constant(d.getType(), 2), sub(v[0], v[1]));
  Value p3 = sub(add(twice, v[2]), v[3]);
  Value p4 = add(sub(sub(v[1], v[0]), v[2]), v[3]);
  return add(v[1], mul(d, add(sub(v[2], v[0]), mul(d, add(p3, mul(d, p4))))));
}

void Split::run() {
  const bool isConstant = op.getBorder() == Border::constant;
  SmallVector<int64_t> over;
  for (StringRef name : op.getOver().getAsValueRange<StringAttr>())
    over.push_back(input.axisIndex(name));
  if (!(isConstant || op.getBorder() == Border::edge) || llvm::any_of(over, [&](int64_t axis) {
        return !input.getAxes()[axis].isStatic() || input.getAxes()[axis].extent < 1;
      }))
    return;
  const auto coordinates = body.getTerminator()->getOperands();
  SmallVector<Axes> axes;
  for (Value coordinate : coordinates)
    axes.push_back(axesOf(coordinate));
  if (llvm::none_of(axes, [&](const Axes &own) { return paysOff(own); }))
    return;
  // Tables first, which become arguments of the map.
  SmallVector<Value> tensors;
  auto i64 = IntegerType::get(op.getContext(), 64);
  auto i1 = IntegerType::get(op.getContext(), 1);
  auto f64 = Float64Type::get(op.getContext());
  const bool isBetween = op.getInterpolation() != Interpolation::nearest;
  for (auto [coordinate, own, axis] : llvm::zip(coordinates, axes, over)) {
    if (!paysOff(own))
      continue;
    for (int64_t offset : offsets())
      tensors.push_back(table(own, coordinate, i64, [&](const Arithmetic &a, Value x) {
        return placeAt(a, x, axis, offset);
      }));
    if (isBetween)
      tensors.push_back(
          table(own, coordinate, f64, [&](const Arithmetic &a, Value x) { return behind(a, x); }));
    if (isConstant)
      tensors.push_back(table(own, coordinate, i1,
                              [&](const Arithmetic &a, Value x) { return inside(a, x, axis); }));
  }
  OpBuilder b(op);
  auto map = b.create<MapOp>(op.getLoc(), domain, tensors, op.getSizes());
  SmallVector<Type> types;
  for (Value tensor : tensors)
    types.push_back(typeOf(tensor).getElementType());
  types.append(static_cast<size_t>(domain.getRank()), i64);
  Block *block =
      b.createBlock(&map.getBody(), {}, types, SmallVector<Location>(types.size(), op.getLoc()));
  const Arithmetic a{b, op.getLoc()};
  const SmallVector<Value> here(block->getArguments().drop_front(tensors.size()));
  SmallVector<Along> along(over.size());
  unsigned next = 0;
  Value within;
  for (auto [mine, coordinate, own, axis] : llvm::zip(along, coordinates, axes, over)) {
    const bool isTable = paysOff(own);
    Value x = isTable ? Value() : coordinateIn(b, coordinate, here);
    for (int64_t offset : offsets())
      mine.places.push_back(isTable ? block->getArgument(next++) : placeAt(a, x, axis, offset));
    if (isBetween)
      mine.behind = isTable ? block->getArgument(next++) : behind(a, x);
    if (!isConstant)
      continue;
    Value inBounds = isTable ? block->getArgument(next++) : inside(a, x, axis);
    within = within ? a.binary(BinaryKind::bit_and, within, inBounds) : inBounds;
  }
  SmallVector<Value> at;
  for (int64_t own : op.readAt())
    at.push_back(own < 0 ? Value() : here[static_cast<size_t>(own)]);
  Value element = a.cast(interpolate(a, along, at, over), domain.getElementType());
  if (within)
    element = b.create<SelectOp>(op.getLoc(), element.getType(), within, element, op.getFill());
  b.create<YieldOp>(op.getLoc(), element);
  if (Attribute remarks = op->getAttr("pipe.remarks"))
    map->setAttr("pipe.remarks", remarks);
  addRemark(map, "schedule-cpu", "reads elements at places that are computed once for all of it");
  op.replaceAllUsesWith(map.getResult());
  op.erase();
}

SmallVector<MapOp> penstock::schedules::splitGatherPlaces(KernelOp kernel) {
  SmallVector<MapOp> made;
  for (auto op : llvm::make_early_inc_range(kernel.getBody().front().getOps<GatherOp>()))
    Split(op, made).run();
  return made;
}
