// SPDX-License-Identifier: Apache-2.0
//
// Steps that compute each element in a region.
#include "test/differential/Draft.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

static Value castTo(Draft &draft, Value value, Type type) {
  if (value.getType() == type)
    return value;
  return draft.builder.create<CastOp>(draft.loc, type,
                                      draft.rng.chance(0.5) ? CastMode::value : CastMode::clamp,
                                      value, ValueRange());
}

/// A type that has arithmetic.
static Type computeType(Draft &draft) {
  static constexpr const char *names[] = {"i32", "f32", "f32", "f64", "i64",
                                          "u8",  "i16", "u16", "i8"};
  return scalarType(draft.builder.getContext(), names[draft.rng.below(9)]);
}

/// One operation on values of `type`.
static Value operate(Draft &draft, const std::vector<Value> &values, Type type) {
  Rng &rng = draft.rng;
  OpBuilder &b = draft.builder;
  const Value x = rng.pick(values), y = rng.pick(values);
  const bool real = llvm::isa<FloatType>(type);
  switch (rng.below(6)) {
  case 0: {
    static const std::vector<UnaryKind> integers = {UnaryKind::neg, UnaryKind::abs,
                                                    UnaryKind::bit_not};
    static const std::vector<UnaryKind> reals = {
        UnaryKind::neg,   UnaryKind::abs,   UnaryKind::floor,      UnaryKind::ceil,
        UnaryKind::trunc, UnaryKind::round, UnaryKind::round_away, UnaryKind::sqrt};
    return b.create<UnaryOp>(draft.loc, type, rng.pick(real ? reals : integers), x);
  }
  case 1: {
    const Value holds =
        b.create<CompareOp>(draft.loc, b.getI1Type(), static_cast<Predicate>(rng.below(6)), x, y);
    return b.create<SelectOp>(draft.loc, type, holds, rng.pick(values), rng.pick(values));
  }
  case 2: {
    static const std::vector<BinaryKind> rare = {
        BinaryKind::div, BinaryKind::bit_and, BinaryKind::bit_or, BinaryKind::bit_xor,
        BinaryKind::shl, BinaryKind::shr,     BinaryKind::rem};
    return draft.binary(real ? BinaryKind::div : rng.pick(rare), x, y);
  }
  default: {
    static const std::vector<BinaryKind> common = {
        BinaryKind::add, BinaryKind::sub, BinaryKind::mul, BinaryKind::min, BinaryKind::max};
    return draft.binary(rng.pick(common), x, y);
  }
  }
}

Value Draft::expression(std::vector<Value> leaves, Type wanted) {
  const Type type = computeType(*this);
  std::vector<Value> values;
  for (const Value leaf : leaves)
    values.push_back(castTo(*this, leaf, type));
  const int64_t steps = rng.between(0, 5);
  for (int64_t i = 0; i < steps; ++i)
    values.push_back(operate(*this, values, type));
  return castTo(*this, values.back(), wanted);
}

/// Opens a region with these elements and a coordinate per axis of `dims`.
static Block *openRegion(Draft &draft, Region &region, const std::vector<Type> &elements,
                         const Dims &dims) {
  Block *block = draft.builder.createBlock(&region);
  for (const Type type : elements)
    block->addArgument(type, draft.loc);
  for (size_t i = 0; i < dims.size(); ++i)
    block->addArgument(draft.builder.getI64Type(), draft.loc);
  return block;
}

/// A draw of its own for every element, numbered row-major, or for every element along some axes.
static Value elementDraw(Draft &draft, Block *block, size_t first, const Dims &dims,
                         const std::vector<Value> &sizes, const std::string &path) {
  OpBuilder &b = draft.builder;
  Rng own = draft.choicesFor(path + "/axes");
  const bool isOfAll = own.chance(0.5);
  Value number = draft.constant(0);
  for (size_t i = 0; i < dims.size(); ++i)
    if (isOfAll || own.chance(0.5))
      number = draft.binary(BinaryKind::add, draft.binary(BinaryKind::mul, number, sizes[i]),
                            block->getArgument(static_cast<unsigned>(first + i)));
  return b.create<DrawOp>(draft.loc, b.getF64Type(), DrawKind::uniform, draft.key,
                          ValueRange{draft.real(-2), draft.real(3)}, number,
                          static_cast<int64_t>(random::drawId(path)), path);
}

/// A number that takes long: so many roots of `term`.
static Value rootsOf(Draft &draft, Value term, Type type, int64_t steps) {
  OpBuilder &b = draft.builder;
  term = b.create<CastOp>(draft.loc, type, CastMode::value, term, ValueRange());
  for (; steps > 0; --steps) {
    term = b.create<UnaryOp>(draft.loc, type, UnaryKind::abs, term);
    term = draft.binary(BinaryKind::add, term,
                        b.create<ConstantOp>(draft.loc, type, b.getFloatAttr(type, 0.5)));
    term = b.create<UnaryOp>(draft.loc, type, UnaryKind::sqrt, term);
  }
  return term;
}

/// A number that takes long and is the same along some axes: of coordinates along the others, or of
/// an input that has no more axes. Schedules take it out.
static Value sharedTerm(Draft &draft, Block *block, const std::vector<Value> &inputs,
                        const Dims &dims, Rng &rng) {
  OpBuilder &b = draft.builder;
  const Type type = rng.chance(0.5) ? Type(b.getF32Type()) : b.getF64Type();
  Value term = draft.constant(rng.between(0, 3));
  const int64_t without = rng.below(static_cast<int64_t>(dims.size()));
  for (size_t i = 0; i < dims.size(); ++i)
    if (static_cast<int64_t>(i) != without && rng.chance(0.7))
      term = draft.binary(BinaryKind::add, term,
                          block->getArgument(static_cast<unsigned>(inputs.size() + i)));
  for (size_t i = 1; i < inputs.size(); ++i)
    if (draft.dimsOf(inputs[i]).size() < dims.size())
      term = block->getArgument(static_cast<unsigned>(i));
  return rootsOf(draft, term, type, rng.between(3, 6));
}

//===--- map ---------------------------------------------------------------===//

/// Returns whether every axis of `input` is one of `dims`, with provably equal extent.
static bool fits(Draft &draft, Value input, const Dims &dims) {
  for (const Dim &axis : draft.dimsOf(input)) {
    const auto found = llvm::find_if(dims, [&](const Dim &dim) { return dim.name == axis.name; });
    if (found == dims.end() || found->size != axis.size || (!axis.size && found->most != axis.most))
      return false;
  }
  return true;
}

/// Sometimes a tensor of any length, to be read at a computed index.
Value Draft::anyTable() {
  Value table;
  for (const Value other : tensors)
    if (rng.chance(0.2) && dimsOf(other).size() == 1 && !mayBeEmpty(dimsOf(other)[0]))
      table = other;
  return table;
}

Value Draft::constantsAlong(const Dims &dims) {
  std::vector<Dim> known;
  for (const Dim &dim : dims)
    if (!dim.size && dim.most > 0 && dim.most <= 16)
      known.push_back(dim);
  if (known.empty())
    return {};
  const Dim along = rng.pick(known);
  const Type type = computeType(*this);
  std::vector<Attribute> numbers;
  for (int64_t i = 0; i < along.most; ++i) {
    const int64_t number = rng.between(0, 9);
    numbers.push_back(llvm::isa<FloatType>(type)
                          ? Attribute(builder.getFloatAttr(type, static_cast<double>(number) / 4))
                          : builder.getIntegerAttr(type, number));
  }
  const auto values = DenseElementsAttr::get(RankedTensorType::get({along.most}, type), numbers);
  return remember(builder.create<ConstantOp>(loc, typeOf(type, {along}), values), {along});
}

Value Draft::map(Value x, bool sameType) {
  const Dims dims = dimsOf(x);
  std::vector<Value> inputs = {x};
  if (isChain && rng.chance(0.4))
    if (const Value constants = constantsAlong(dims))
      inputs.push_back(constants);
  for (const Value other : tensors)
    if (inputs.size() < 3 && rng.chance(0.5) && fits(*this, other, dims))
      inputs.push_back(other);
  std::vector<Type> elements;
  for (const Value input : inputs)
    elements.push_back(element(input));
  const Type type = sameType ? element(x) : anyElement();
  std::vector<Value> sizes;
  for (const Dim &dim : dims)
    sizes.push_back(sizeOf(dim));
  const Value table = anyTable();
  auto op = builder.create<MapOp>(loc, typeOf(type, dims), inputs, sizesOf(dims));
  const std::string path = "element/" + std::to_string(draws++);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = openRegion(*this, op.getBody(), elements, dims);
    std::vector<Value> leaves(block->args_begin(),
                              block->args_begin() + static_cast<int64_t>(inputs.size()));
    if (rng.chance(0.3) && !dims.empty())
      leaves.push_back(block->getArguments().back());
    if (rng.chance(0.4))
      leaves.push_back(rng.pick(scalars));
    if (rng.chance(0.3))
      leaves.push_back(scalarOf(type));
    if (rng.chance(0.15))
      leaves.push_back(elementDraw(*this, block, inputs.size(), dims, sizes, path));
    if (table) {
      const Value index = expression({leaves.front()}, builder.getI64Type());
      leaves.push_back(builder.create<LoadOp>(loc, element(table), table, ValueRange{index}));
    }
    if (Rng own = choicesFor(path); dims.size() > 1 && own.chance(0.5))
      leaves.push_back(sharedTerm(*this, block, inputs, dims, own));
    builder.create<YieldOp>(loc, expression(leaves, type));
  }
  return remember(op.getResult(), dims);
}

Value Draft::roots(Value x) {
  const Dims dims = dimsOf(x);
  const Type type = builder.getF32Type();
  auto op = builder.create<MapOp>(loc, typeOf(type, dims), ValueRange{x}, sizesOf(dims));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = openRegion(*this, op.getBody(), {element(x)}, dims);
  builder.create<YieldOp>(loc, rootsOf(*this, block->getArgument(0), type, 5));
  return remember(op.getResult(), dims);
}

Value Draft::mix(Value a, Value b) {
  const Dims dims = dimsOf(a);
  auto op = builder.create<MapOp>(loc, typeOf(element(a), dims), ValueRange{a, b}, sizesOf(dims));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = openRegion(*this, op.getBody(), {element(a), element(b)}, dims);
  builder.create<YieldOp>(loc,
                          expression({block->getArgument(0), block->getArgument(1)}, element(a)));
  return remember(op.getResult(), dims);
}

//===--- window ------------------------------------------------------------===//

/// Many neighbours, combined as reductions do: one after the other, or as 32 partial
/// results and a tree; each with a factor of its own, or as it is. With `from`, the squares of how
/// they differ from that, as a deviation from a mean.
static Value combineAll(Draft &draft, ArrayRef<Value> neighbours, Value from = {}) {
  Rng &rng = draft.rng;
  OpBuilder &b = draft.builder;
  const bool ofTruths = !from && neighbours.front().getType().isInteger(1) && rng.chance(0.5);
  const Type type = from ? from.getType() : ofTruths ? b.getI1Type() : computeType(draft);
  static const std::vector<BinaryKind> kinds = {BinaryKind::add, BinaryKind::add, BinaryKind::mul,
                                                BinaryKind::min, BinaryKind::max};
  static const std::vector<BinaryKind> bits = {BinaryKind::bit_and, BinaryKind::bit_or,
                                               BinaryKind::bit_xor};
  const bool ofBits = ofTruths || (llvm::isa<IntegerType>(type) && rng.chance(0.2));
  const BinaryKind kind = rng.pick(ofBits ? bits : kinds);
  const bool weighted = !ofTruths && rng.chance(0.5);
  std::vector<Value> sums(rng.chance(0.5) ? 32 : 1);
  for (size_t i = 0; i < neighbours.size(); ++i) {
    Value term = neighbours[i];
    if (term.getType() != type)
      term = b.create<CastOp>(draft.loc, type, CastMode::value, term, ValueRange());
    if (from) {
      term = draft.binary(BinaryKind::sub, term, from);
      term = draft.binary(BinaryKind::mul, term, term);
    }
    if (weighted) {
      const int64_t factor = rng.between(0, 9);
      const TypedAttr number =
          llvm::isa<FloatType>(type)
              ? TypedAttr(b.getFloatAttr(type, static_cast<double>(factor - 4) / 4))
              : TypedAttr(b.getIntegerAttr(type, factor));
      term = draft.binary(BinaryKind::mul, term,
                          b.create<ConstantOp>(draft.loc, type, number).getResult());
    }
    Value &sum = sums[i % sums.size()];
    sum = sum ? draft.binary(kind, sum, term) : term;
  }
  for (size_t half = sums.size() / 2; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i)
      if (sums[i + half])
        sums[i] = draft.binary(kind, sums[i], sums[i + half]);
  return sums[0];
}

/// The place of the first least or greatest neighbour.
static Value firstOf(Draft &draft, ArrayRef<Value> neighbours) {
  OpBuilder &b = draft.builder;
  static const std::vector<const char *> keys = {"i32", "i32", "u8", "i16", "i64"};
  const Type type = scalarType(b.getContext(), draft.rng.pick(keys));
  const Predicate better = draft.rng.chance(0.5) ? Predicate::lt : Predicate::gt;
  auto number = [&](int64_t value) -> Value {
    return b.create<ConstantOp>(draft.loc, b.getI64Type(), b.getI64IntegerAttr(value));
  };
  Value place = number(0), best = castTo(draft, neighbours.front(), type);
  for (size_t i = 1; i < neighbours.size(); ++i) {
    const Value key = castTo(draft, neighbours[i], type);
    const Value isBetter = b.create<CompareOp>(draft.loc, better, key, best);
    place = b.create<SelectOp>(draft.loc, isBetter, number(static_cast<int64_t>(i)), place);
    best = b.create<SelectOp>(draft.loc, isBetter, key, best);
  }
  return place;
}

Value Draft::window(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  SmallVector<StringRef> over;
  SmallVector<int64_t> low, high;
  int64_t neighbours = 1, elements = 1;
  for (const Dim &dim : dims)
    elements *= dim.most;
  // Wider than a vector at times, where that is not too much for the reference.
  const bool wide = elements <= 600 && rng.chance(0.3);
  for (const Dim &dim : dims)
    if (over.size() < 2 && rng.chance(isChain ? 0.8 : 0.6)) {
      over.push_back(dim.name);
      const int64_t widest = over.size() > 1 ? 3 : rng.chance(0.2) ? 150 : 40;
      low.push_back(wide ? rng.between(-widest, -3) : rng.between(-2, 0));
      high.push_back(wide ? rng.between(2, 5) : rng.between(low.back() < 0 ? -1 : 0, 2));
      neighbours *= high.back() - low.back() + 1;
      if (!rng.chance(0.15))
        continue;
      // Neighbours from far away, further than a vector or than there are elements.
      const int64_t away = rng.between(-70, 70);
      low.back() += away;
      high.back() += away;
    }
  if (over.empty())
    return {};
  std::optional<int64_t> middle = 0; // the number of the element itself among its neighbours
  for (size_t k = 0; k < over.size(); ++k)
    middle = middle && low[k] <= 0 && high[k] >= 0
                 ? std::optional(*middle * (high[k] - low[k] + 1) - low[k])
                 : std::nullopt;
  const auto border = static_cast<Border>(rng.below(5));
  const Value fill = border == Border::constant ? scalarOf(element(x)) : Value();
  const Value table = anyTable();
  auto op = builder.create<WindowOp>(loc, x.getType(), border, x, builder.getStrArrayAttr(over),
                                     low, high, fill, sizesOf(dims));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = openRegion(*this, op.getBody(),
                            std::vector<Type>(static_cast<size_t>(neighbours), element(x)), dims);
  std::vector<Value> leaves(block->args_begin(), block->args_begin() + neighbours);
  if (wide || (isChain && rng.chance(0.8))) {
    // All neighbours, or some that follow each other, with the first one, the element itself, or
    // nothing else.
    ArrayRef<Value> some = leaves;
    if (rng.chance(0.2))
      some = some.drop_front(static_cast<size_t>(rng.below(neighbours)) / 2)
                 .drop_back(static_cast<size_t>(rng.below(neighbours)) / 2);
    Value all = rng.chance(0.2) ? firstOf(*this, some) : combineAll(*this, some);
    const bool ofNumbers = !all.getType().isInteger(1);
    if (ofNumbers && rng.chance(0.3))
      all = combineAll(*this, leaves, all);
    else if (ofNumbers && rng.chance(0.2))
      all = binary(BinaryKind::sub, all, castTo(*this, combineAll(*this, leaves), all.getType()));
    if (rng.chance(0.4))
      leaves = {all, leaves.front()};
    else if (middle && rng.chance(0.4))
      leaves = {all, leaves[static_cast<size_t>(*middle)]};
    else
      leaves = {all};
  }
  if (rng.chance(0.3))
    leaves.push_back(rng.pick(scalars));
  if (table) { // by place, or by a number: what lies outside is clamped
    const Value index = rng.chance(0.5) ? block->getArguments().back()
                                        : expression({leaves.front()}, builder.getI64Type());
    leaves.push_back(builder.create<LoadOp>(loc, element(table), table, ValueRange{index}));
  }
  builder.create<YieldOp>(loc, expression(leaves, element(x)));
  return remember(op.getResult(), dims);
}

//===--- gather ------------------------------------------------------------===//

Value Draft::gather(Value x) {
  Dims dims = dimsOf(x);
  SmallVector<StringRef> over;
  std::vector<size_t> axes;
  const Dims before = dims;
  for (size_t i = 0; i < dims.size(); ++i)
    if (axes.size() < 2 && rng.chance(0.6) && !mayBeEmpty(before[i])) {
      over.push_back(before[i].name);
      axes.push_back(i);
      if (rng.chance(0.5))
        dims[i] = {before[i].name, {}, rng.between(1, 9)};
    }
  if (axes.empty())
    return {};
  // Coordinates may run over other axes: the result lacks one that is read, or has a new one.
  if (rng.chance(0.3)) {
    dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axes.back()));
    axes.back() = SIZE_MAX;
  }
  if (rng.chance(0.3)) {
    dims.insert(dims.begin(), {freshAxis(), {}, rng.between(1, 9)});
    for (size_t &axis : axes)
      axis = axis == SIZE_MAX ? 0 : axis + 1;
  }
  const auto border = static_cast<Border>(rng.below(5));
  const auto interpolation = static_cast<Interpolation>(rng.below(3));
  if (interpolation != Interpolation::nearest && element(x).isInteger(1))
    return {};
  const Value fill = border == Border::constant ? scalarOf(element(x)) : Value();
  const Value turn = drawReal(-1, 1);
  auto op = builder.create<GatherOp>(loc, typeOf(element(x), dims), interpolation, border, x,
                                     builder.getStrArrayAttr(over), fill, sizesOf(dims));
  OpBuilder::InsertionGuard guard(builder);
  Block *block = openRegion(*this, op.getBody(), {}, dims);
  auto number = [&](size_t axis) -> Value {
    if (axis == SIZE_MAX)
      return real(1.5);
    return builder.create<CastOp>(loc, builder.getF64Type(), CastMode::value,
                                  block->getArgument(static_cast<unsigned>(axis)), ValueRange());
  };
  std::vector<Value> coordinates;
  for (const size_t axis : axes) {
    // An affine function of two coordinates, sometimes far outside.
    Value at =
        binary(BinaryKind::mul, number(axis), real(rng.pick<double>({1, -1, 0.37, 2.5, 1e18})));
    const size_t other = rng.pick(axes);
    at = binary(BinaryKind::add, at, binary(BinaryKind::mul, number(other), turn));
    coordinates.push_back(
        binary(BinaryKind::add, at, real(rng.pick<double>({0, 0.5, 1.25, -3, 7.5}))));
  }
  builder.create<YieldOp>(loc, coordinates);
  return remember(op.getResult(), dims);
}

} // namespace penstock::differential
