// SPDX-License-Identifier: Apache-2.0
//
// Building blocks of random pipelines.
#include "test/differential/Draft.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

Draft::Draft(MLIRContext &context, const Recipe &recipe)
    : isChain(recipe.isChain), empties(recipe.seed % 8 == 5), seed(recipe.seed), builder(&context),
      loc(builder.getUnknownLoc()), rng(recipe.seed), codecs(recipe.seed % 8 == 3) {}

Value Draft::constant(int64_t value) {
  return builder.create<ConstantOp>(loc, builder.getI64Type(), builder.getI64IntegerAttr(value));
}
Value Draft::real(double value) {
  return builder.create<ConstantOp>(loc, builder.getF64Type(), builder.getF64FloatAttr(value));
}
Value Draft::binary(BinaryKind kind, Value a, Value b) {
  return builder.create<BinaryOp>(loc, a.getType(), kind, a, b);
}

static std::string pathOf(int64_t number) { return "random/" + std::to_string(number); }

Value Draft::drawInteger(Value low, Value end) {
  const std::string path = pathOf(draws++);
  return builder.create<DrawOp>(loc, builder.getI64Type(), DrawKind::integer, key,
                                ValueRange{low, end}, Value(),
                                static_cast<int64_t>(random::drawId(path)), path);
}
Value Draft::drawReal(double low, double high) {
  const std::string path = pathOf(draws++);
  return builder.create<DrawOp>(loc, builder.getF64Type(), DrawKind::uniform, key,
                                ValueRange{real(low), real(high)}, Value(),
                                static_cast<int64_t>(random::drawId(path)), path);
}
Value Draft::coin() {
  return builder.create<CompareOp>(loc, builder.getI1Type(), Predicate::lt, drawReal(0, 1),
                                   real(0.5));
}

Dims Draft::dimsOf(Value tensor) {
  Dims result;
  auto type = llvm::cast<NamedTensorType>(tensor.getType());
  for (auto [i, axis] : llvm::enumerate(type.getAxes())) {
    Dim dim{axis.name, {}, axis.extent};
    if (!axis.isStatic()) {
      dim.size = extentValue(builder, loc, tensor, static_cast<int64_t>(i));
      dim.most = most.lookup(tensor)[i];
    }
    result.push_back(dim);
  }
  return result;
}

Value Draft::sizeOf(const Dim &dim) { return dim.size ? dim.size : constant(dim.most); }

NamedTensorType Draft::typeOf(Type element, const Dims &dims) {
  SmallVector<Axis> axes;
  for (const Dim &dim : dims)
    axes.push_back({dim.name, dim.size ? -1 : dim.most, -1, ""});
  return NamedTensorType::get(builder.getContext(), element, axes);
}

std::vector<Value> Draft::sizesOf(const Dims &dims) {
  std::vector<Value> result;
  for (const Dim &dim : dims)
    if (dim.size)
      result.push_back(dim.size);
  return result;
}

Value Draft::remember(Value tensor, const Dims &dims) {
  std::vector<int64_t> &extents = most[tensor];
  extents.clear();
  for (const Dim &dim : dims)
    extents.push_back(dim.most);
  return tensor;
}

Type Draft::anyElement() {
  static constexpr const char *names[] = {"u8",  "u8", "u8",  "f32", "f32", "f16", "bf16",
                                          "f64", "i8", "i16", "u16", "i32", "i64", "bool"};
  return scalarType(builder.getContext(), names[rng.below(14)]);
}

Value Draft::scalarOf(Type type) {
  std::vector<Value> from = scalars;
  from.push_back(rng.chance(0.5) ? constant(rng.between(-3, 300))
                                 : real(rng.between(-9, 9) * 0.25));
  const Value value = rng.pick(from);
  if (value.getType() == type)
    return value;
  return builder.create<CastOp>(loc, type, rng.chance(0.5) ? CastMode::clamp : CastMode::value,
                                value, ValueRange());
}

//===--- the whole ---------------------------------------------------------===//

static int64_t anyExtent(Rng &rng, bool inner, bool alone) {
  if (alone && rng.chance(0.15))
    return rng.pick<int64_t>({4097, 4111, 5001});
  static const std::vector<int64_t> small = {1, 2, 3, 4, 5, 7, 8};
  static const std::vector<int64_t> wide = {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 65};
  static const std::vector<int64_t> several = {40, 95, 97, 127, 128, 130, 161, 200};
  return rng.pick(!inner ? small : rng.chance(0.15) ? several : wide);
}

static Column anyColumn(Draft &draft, const Recipe &recipe, int number) {
  static const std::vector<std::vector<std::string>> shapes = {
      {"t"}, {"t"}, {"h", "w"}, {"h", "w"}, {"h", "w", "c"}, {"h", "w", "c"}, {"z", "y", "x"}};
  Rng &rng = draft.rng;
  Column column;
  column.name = "f" + std::to_string(number);
  column.axes = rng.pick(shapes);
  const llvm::StringRef element = scalarName(draft.anyElement());
  for (int i = 0; i <= static_cast<int>(reference::DType::boolean); ++i)
    if (element == llvm::StringRef(reference::nameOf(static_cast<reference::DType>(i))))
      column.type = static_cast<reference::DType>(i);
  const bool dynamic = rng.chance(draft.isChain ? 0.2 : 0.4); // schedules ask for known extents
  column.least = draft.empties ? 0 : 1;
  for (size_t i = 0; i < column.axes.size(); ++i) {
    const bool channel = column.axes[i] == "c";
    int64_t extent =
        channel ? rng.pick<int64_t>({1, 3, 3, 4})
                : anyExtent(rng, i + 1 == column.axes.size() || i == 1, column.axes.size() == 1);
    if (draft.empties && rng.chance(0.15))
      extent = dynamic ? rng.between(1, 2) : 0;
    column.extents.push_back(std::min(extent, recipe.maxExtent));
    column.dynamic.push_back(dynamic && !channel && !recipe.fixedExtents);
  }
  return column;
}

/// Delivers `value`: padded to a static shape, or with bounds and ragged.
static void deliver(Draft &draft, Value value, int number) {
  Value result = value;
  bool ragged = false;
  std::vector<Value> sizes;
  if (auto type = llvm::dyn_cast<NamedTensorType>(value.getType())) {
    const Dims dims = draft.dimsOf(value);
    const bool leading = !dims.empty() && dims[0].size && llvm::count_if(dims, [](const Dim &dim) {
                                                            return dim.size != nullptr;
                                                          }) == 1;
    if (leading && draft.rng.chance(0.3)) {
      // The same tensor under a type that states the bound.
      SmallVector<Axis> axes(type.getAxes());
      axes[0].bound = dims[0].most;
      sizes = draft.sizesOf(dims);
      auto map = draft.builder.create<MapOp>(draft.loc, type.withAxes(axes), value, sizes);
      Block &block = map.getBody().emplaceBlock();
      block.addArgument(type.getElementType(), draft.loc);
      for (size_t i = 0; i < dims.size(); ++i)
        block.addArgument(draft.builder.getI64Type(), draft.loc);
      OpBuilder::InsertionGuard guard(draft.builder);
      draft.builder.setInsertionPointToEnd(&block);
      draft.builder.create<YieldOp>(draft.loc, block.getArgument(0));
      result = map.getResult();
      ragged = true;
    } else {
      result = draft.padToStatic(value);
    }
  }
  std::vector<StringRef> axes;
  if (auto type = llvm::dyn_cast<NamedTensorType>(result.getType()))
    for (const Axis &axis : type.getAxes())
      axes.push_back(axis.name);
  // The batch's axis and the memory order are the output's own.
  const auto places = static_cast<int64_t>(axes.size()) + 1;
  axes.insert(axes.begin() + (ragged || draft.rng.chance(0.5) ? 0 : draft.rng.below(places)), "n");
  std::vector<StringRef> stored = axes;
  if (!ragged && draft.rng.chance(0.4))
    for (int64_t i = places; i > 1; --i)
      std::swap(stored[static_cast<size_t>(i - 1)],
                stored[static_cast<size_t>(draft.rng.below(i))]);
  draft.builder.create<OutputOp>(
      draft.loc, "out" + std::to_string(number), result, sizes, draft.builder.getStrArrayAttr(axes),
      draft.builder.getStrArrayAttr(stored), ragged, Place::automatic, ValueRange(), ArrayAttr(),
      DenseI64ArrayAttr(), ArrayAttr(), TypedAttr());
}

/// Delivers what the elements of one value become in two ways: the same loops may make both.
static void deliverTwice(Draft &draft, int number) {
  const Value x = draft.rng.pick(draft.tensors);
  for (int i = 0; i < 2; ++i) {
    const Value next = draft.rng.chance(0.5)   ? draft.map(x)
                       : draft.rng.chance(0.4) ? draft.cast(x)
                       : draft.rng.chance(0.5) ? draft.flip(x)
                                               : draft.pad(x);
    deliver(draft, next ? next : x, number + i);
  }
}

/// A value of another sample of the batch, mixed with this one's.
static Value peer(Draft &draft, Value x) {
  const Value own = draft.padToStatic(x);
  const Value key = draft.key;
  draft.key =
      draft.builder.create<KeyOp>(draft.loc, draft.builder.getType<KeyType>(), KeyScope::batch);
  const Value slot =
      draft.builder.create<ContextOp>(draft.loc, draft.builder.getI64Type(), ContextKind::slot);
  auto other = [&] {
    return draft.rng.chance(0.5) ? draft.binary(BinaryKind::add, slot, draft.constant(1))
                                 : draft.drawInteger(draft.constant(0), draft.constant(3));
  };
  Value theirs = draft.builder.create<PeerOp>(draft.loc, own.getType(), own, other());
  if (draft.rng.chance(0.3)) // what that one has of a third
    theirs = draft.builder.create<PeerOp>(draft.loc, own.getType(), theirs, other());
  draft.remember(theirs, draft.dimsOf(own));
  const Value mixed = draft.mix(own, theirs);
  draft.key = key;
  return mixed;
}

/// Computes a value from those of all samples of the batch, at times mixed with this one's.
static Value peers(Draft &draft, Value x, bool known, int64_t count) {
  const Value own = draft.padToStatic(x);
  OpBuilder &b = draft.builder;
  Dims dims = draft.dimsOf(own);
  Dim all{draft.freshAxis(), {}, count};
  if (!known)
    all.size = b.create<ContextOp>(draft.loc, b.getI64Type(), ContextKind::count);
  dims.insert(dims.begin(), all);
  Value value = b.create<PeersOp>(draft.loc, draft.typeOf(draft.element(own), dims), own, all.name,
                                  draft.sizesOf(dims));
  draft.remember(value, dims);
  const Value key = draft.key;
  if (draft.rng.chance(0.5)) // what draws then is shared, too
    draft.key = b.create<KeyOp>(draft.loc, b.getType<KeyType>(), KeyScope::batch);
  for (int64_t i = draft.rng.between(1, 3); i > 0; --i) {
    Value next = draft.rng.chance(0.6)   ? draft.reduce(value)
                 : draft.rng.chance(0.5) ? draft.map(value)
                                         : draft.scan(value);
    value = next ? next : value;
  }
  const Dims mine = draft.dimsOf(own);
  const bool fits = llvm::all_of(draft.dimsOf(value), [&](const Dim &dim) {
    return llvm::any_of(mine, [&](const Dim &own) {
      return own.name == dim.name && own.most == dim.most && !dim.size;
    });
  });
  if (fits && draft.rng.chance(0.5))
    value = draft.mix(own, value);
  draft.key = key;
  return value;
}

static std::vector<Column> openTable(Draft &draft, const Recipe &recipe, Value &row) {
  std::vector<Column> columns;
  const int64_t count = recipe.isChain ? 1 : draft.rng.between(1, 3);
  for (int i = 0; i < count; ++i)
    columns.push_back(anyColumn(draft, recipe, i));
  OpBuilder &b = draft.builder;
  SmallVector<NamedAttribute> types;
  for (const Column &column : columns) {
    SmallVector<Axis> axes;
    for (size_t i = 0; i < column.axes.size(); ++i)
      axes.push_back({column.axes[i], column.dynamic[i] ? -1 : column.extents[i], -1, ""});
    Type element = scalarType(b.getContext(), llvm::StringRef(reference::nameOf(column.type)));
    types.push_back(b.getNamedAttr(
        column.name, TypeAttr::get(NamedTensorType::get(b.getContext(), element, axes))));
  }
  types.push_back(b.getNamedAttr("label", TypeAttr::get(b.getI64Type())));
  types.push_back(b.getNamedAttr("score", TypeAttr::get(b.getF64Type())));
  const Value table = b.create<SourceOp>(draft.loc, b.getType<TableType>(), "random", ValueRange(),
                                         b.getArrayAttr({}), b.getDictionaryAttr(types));
  row = b.create<RowOp>(draft.loc, b.getType<RowType>(), OrderKind::sequential, table, Value());
  return columns;
}

/// A number of a field's elements: at known places, also beside them, and at one that the row has.
static Value elementOfField(Draft &draft, Rng &rng, const std::vector<Column> &columns, Value row) {
  OpBuilder &b = draft.builder;
  const Column &column =
      columns[static_cast<size_t>(rng.between(0, static_cast<int64_t>(columns.size()) - 1))];
  SmallVector<Axis> axes;
  SmallVector<Value> place;
  for (size_t i = 0; i < column.axes.size(); ++i) {
    axes.push_back({column.axes[i], column.dynamic[i] ? -1 : column.extents[i], -1, ""});
    place.push_back(rng.chance(0.2) ? draft.scalars.front()
                                    : draft.constant(rng.between(-1, column.extents[i])));
  }
  Type element = scalarType(b.getContext(), llvm::StringRef(reference::nameOf(column.type)));
  const Value value = b.create<FieldElementOp>(draft.loc, element, row, column.name, place,
                                               NamedTensorType::get(b.getContext(), element, axes));
  return b.create<CastOp>(draft.loc,
                          llvm::isa<FloatType>(element) ? Type(b.getF64Type()) : b.getI64Type(),
                          CastMode::value, value, ValueRange());
}

static void readFields(Draft &draft, const std::vector<Column> &columns, Value row, uint64_t seed) {
  OpBuilder &b = draft.builder;
  for (const Column &column : columns) {
    Dims dims;
    for (size_t i = 0; i < column.axes.size(); ++i) {
      Dim dim{column.axes[i], {}, column.extents[i]};
      if (column.dynamic[i])
        dim.size =
            b.create<FieldExtentOp>(draft.loc, b.getI64Type(), row, column.name, column.axes[i]);
      dims.push_back(dim);
    }
    Type element = scalarType(b.getContext(), llvm::StringRef(reference::nameOf(column.type)));
    const Value field = b.create<FieldOp>(draft.loc, draft.typeOf(element, dims), row, column.name,
                                          draft.sizesOf(dims));
    draft.tensors.push_back(draft.remember(field, dims));
  }
  Rng places(seed * 3 + 2);
  if (places.chance(0.3))
    draft.scalars.push_back(b.create<RowIndexOp>(draft.loc, b.getI64Type(), row));
  else
    draft.scalars.push_back(
        b.create<FieldOp>(draft.loc, b.getI64Type(), row, "label", ValueRange()));
  draft.scalars.push_back(b.create<FieldOp>(draft.loc, b.getF64Type(), row, "score", ValueRange()));
  if (places.chance(0.3))
    draft.scalars.push_back(elementOfField(draft, places, columns, row));
}

Case generate(MLIRContext &context, const Recipe &recipe) {
  Draft draft(context, recipe);
  OpBuilder &b = draft.builder;
  Case result;
  result.module = ModuleOp::create(draft.loc);
  b.setInsertionPointToEnd(result.module->getBody());
  auto pipeline =
      b.create<PipelineOp>(draft.loc, "random", 0, APFloat(0.0), IntegerAttr(), IntegerAttr());
  b.createBlock(&pipeline.getBody());

  Value row;
  const std::vector<Column> columns = openTable(draft, recipe, row);
  draft.key = b.create<KeyOp>(draft.loc, b.getType<KeyType>(), KeyScope::sample);
  readFields(draft, columns, row, recipe.seed);

  // One in thirty is long, and takes what does not grow.
  const bool isLong = !recipe.isChain && draft.rng.chance(0.03);
  const bool rereads = isLong && draft.rng.chance(0.5);
  const int64_t wanted = isLong ? 60 : draft.rng.between(1, 12);
  if (rereads)
    if (const Value value = draft.pixels(draft.rng.pick(draft.tensors)))
      draft.tensors.push_back(value);
  const int64_t links = recipe.isChain ? draft.rng.between(2, 6) : 0;
  const int64_t begin = recipe.isChain ? draft.rng.below(3) : 0;
  for (int64_t i = 0; i < links && i < recipe.maxOps; ++i)
    draft.tensors.push_back(draft.chained(begin + i));
  for (int64_t i = 0; !links && i < wanted && i < recipe.maxOps; ++i)
    if (const Value value = isLong && (rereads || i > 3) ? draft.shortStep(rereads) : draft.step())
      draft.tensors.push_back(value);

  // Batches of other sizes where values run over them: large ones only of small values.
  Rng over(recipe.seed * 2 + 1);
  const bool runsOver = !links && over.chance(0.15);
  int64_t elements = 1;
  for (const Dim &dim : draft.dimsOf(draft.tensors.back()))
    elements *= dim.most;
  const int64_t samples = !runsOver         ? 3
                          : elements <= 300 ? over.pick<int64_t>({1, 2, 3, 5, 8, 17, 33, 40})
                                            : over.between(1, 4);
  const bool exact = over.chance(0.5);
  const Value size = draft.constant(exact ? samples : samples + 1);
  auto batch =
      b.create<BatchOp>(draft.loc, size, false, exact ? LastBatch::drop : LastBatch::keep, Value());
  b.createBlock(&batch.getBody());
  const int outputs = !links && draft.rng.chance(0.5) ? 2 : 1;
  for (int i = 0; i < outputs; ++i) {
    // The last value always: nothing else would use it.
    Value value = i == 0 ? draft.tensors.back() : draft.rng.pick(draft.tensors);
    if (!links && draft.rng.chance(0.25))
      value = peer(draft, value);
    else if (runsOver && i == 0)
      value = peers(draft, value, exact, samples);
    deliver(draft, value, i);
  }
  if (draft.rng.chance(0.5))
    deliver(draft, draft.rng.pick(draft.scalars), outputs);
  if (over.chance(0.15))
    deliverTwice(draft, outputs + 1);

  result.inputs.seed = recipe.seed;
  result.inputs.epoch = static_cast<uint32_t>(recipe.seed % 5);
  result.inputs.batchPosition = recipe.seed % 1000;
  for (uint64_t slot = 0; slot < static_cast<uint64_t>(samples); ++slot)
    result.inputs.positions.push_back(result.inputs.batchPosition + slot);
  result.inputs.media = &madeUpMedia();
  auto table = syntheticTable(columns, recipe.seed);
  result.inputs.open = [table](const std::string &,
                               const std::map<std::string, reference::Field> &) { return table; };
  return result;
}

} // namespace penstock::differential
