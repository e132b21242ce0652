// SPDX-License-Identifier: Apache-2.0
//
// The other steps, and which one is next.
#include "compiler/Dialect/ScheduleDialect.h"
#include "test/differential/Draft.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

Value Draft::cast(Value x) {
  const Dims dims = dimsOf(x);
  const Type type = anyElement();
  const Value result =
      builder.create<CastOp>(loc, typeOf(type, dims),
                             rng.chance(0.5) ? CastMode::value : CastMode::clamp, x, sizesOf(dims));
  return remember(result, dims);
}

/// One axis; or the first two of an image, rows before columns as Pillow does.
Value Draft::resample(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty() || element(x).isInteger(1))
    return {};
  static const std::vector<Filter> filters = {Filter::bilinear, Filter::bilinear, Filter::bicubic,
                                              Filter::box,      Filter::nearest,  Filter::hamming,
                                              Filter::lanczos};
  const Filter filter = rng.pick(filters);
  const bool antialias = rng.chance(0.8);
  const bool pillow = element(x).isUnsignedInteger(8) && rng.chance(0.7);
  if (dims.size() >= 2 && rng.chance(0.4))
    return resampleAlong(resampleAlong(x, 1, filter, antialias, pillow), 0, filter, antialias,
                         pillow);
  const auto axis = static_cast<size_t>(rng.below(static_cast<int64_t>(dims.size())));
  return resampleAlong(x, axis, filter, antialias, pillow);
}

Value Draft::resampleAlong(Value x, size_t axis, Filter filter, bool antialias, bool pillow) {
  Dims dims = dimsOf(x);
  if (mayBeEmpty(dims[axis]))
    return x;
  const Value in = sizeOf(dims[axis]);
  const int64_t out = rng.between(1, std::min<int64_t>(2 * dims[axis].most + 1, 40));
  dims[axis] = {dims[axis].name, {}, out};
  if (rng.chance(0.25))
    dims[axis].size = drawInteger(constant(1), constant(out + 1));
  const Value outSize = sizeOf(dims[axis]);
  const Value taps =
      builder.create<TapsOp>(loc, builder.getI64Type(), filter, in, outSize, antialias);
  const Dim k{dims[axis].name == "k" ? "tap" : "k", taps, 0};
  const NamedTensorType weights =
      typeOf(pillow ? Type(builder.getI32Type()) : Type(builder.getF64Type()), {dims[axis], k});
  const NamedTensorType start = typeOf(builder.getI32Type(), {dims[axis]});
  std::vector<Value> sizes = sizesOf({dims[axis], k});
  if (dims[axis].size)
    sizes.push_back(dims[axis].size);
  auto table = builder.create<WeightsOp>(loc, TypeRange{weights, start}, filter, in, outSize,
                                         antialias, sizes);
  const Value result = builder.create<ResampleOp>(
      loc, typeOf(element(x), dims), pillow ? Numerics::pillow : Numerics::exact, x,
      dims[axis].name, table.getWeights(), table.getStart(), sizesOf(dims));
  return remember(result, dims);
}

Value Draft::reduce(Value x) {
  std::vector<bool> isOver;
  for (size_t axis = dimsOf(x).size(); axis > 0; --axis)
    isOver.push_back(rng.chance(0.6));
  return reduceOver(x, isOver);
}

Value Draft::reduceOver(Value x, const std::vector<bool> &isOver) {
  Dims kept;
  SmallVector<StringRef> over;
  bool isEmpty = false;
  const Dims dims = dimsOf(x);
  for (auto [dim, reduced] : llvm::zip(dims, isOver))
    if (reduced) {
      over.push_back(dim.name);
      isEmpty |= mayBeEmpty(dim);
    } else {
      kept.push_back(dim);
    }
  static const std::vector<ReduceKind> logical = {ReduceKind::any, ReduceKind::all,
                                                  ReduceKind::count};
  static const std::vector<ReduceKind> numeric = {ReduceKind::sum,    ReduceKind::sum,
                                                  ReduceKind::min,    ReduceKind::max,
                                                  ReduceKind::argmin, ReduceKind::argmax};
  ReduceKind kind = rng.pick(element(x).isInteger(1) ? logical : numeric);
  if (over.empty())
    return {};
  if (isEmpty && !element(x).isInteger(1)) // the others need an element
    kind = ReduceKind::sum;
  const bool index =
      kind == ReduceKind::count || kind == ReduceKind::argmin || kind == ReduceKind::argmax;
  const Value result =
      builder.create<ReduceOp>(loc, typeOf(index ? builder.getI64Type() : element(x), kept), kind,
                               x, builder.getStrArrayAttr(over), sizesOf(kept));
  return remember(result, kept);
}

/// Some reductions of the same elements for the same results, of a value and of what is made of it.
Value Draft::reduceBeside(Value x) {
  Draft &d = *this;
  std::vector<bool> isOver;
  for (size_t axis = d.dimsOf(x).size(); axis > 0; --axis)
    isOver.push_back(d.rng.chance(0.6));
  Value all;
  for (int64_t i = d.rng.between(2, 4); i > 0; --i) {
    const Value one = d.reduceOver(d.rng.chance(0.5) ? x : d.map(x), isOver);
    if (!one)
      return all;
    all = all ? d.mix(all, one) : one;
  }
  return all;
}

/// A reduction of each tile, of one axis or two; tiles may overlap, and channels may stay.
Value Draft::reduceTiles(Value x) {
  Draft &d = *this;
  const Dims dims = d.dimsOf(x);
  if (dims.empty() || dims.size() > 4)
    return {};
  const bool channelsStay =
      dims.size() > 2 && !dims.back().size && dims.back().most <= 4 && d.rng.chance(0.5);
  const size_t end = dims.size() - channelsStay;
  const size_t first =
      end - std::min<size_t>(end, (channelsStay ? 2 : 1) + static_cast<size_t>(d.rng.below(2)));
  Dims split, kept;
  SmallVector<std::string> inner;
  std::vector<AffineExpr> results;
  auto place = [&] { return d.builder.getAffineDimExpr(static_cast<unsigned>(split.size())); };
  for (size_t i = 0; i < dims.size(); ++i) {
    Dim outer = dims[i];
    AffineExpr at = place();
    if (i >= first && i < end && !outer.size && outer.most >= 2) {
      const int64_t length =
          std::min<int64_t>(d.rng.pick<int64_t>({2, 2, 3, 4, 5, 6, 7, 8, 12, 16, 32}), outer.most);
      const int64_t step = d.rng.chance(0.3) ? d.rng.between(1, length) : length;
      outer.most = (outer.most - length) / step + 1;
      split.push_back(outer);
      results.push_back(at * step + place());
      inner.push_back(d.freshAxis());
      split.push_back({inner.back(), {}, length});
    } else {
      split.push_back(outer);
      results.push_back(at);
    }
    kept.push_back(outer);
  }
  if (inner.empty())
    return {};
  const AffineMap map =
      AffineMap::get(static_cast<unsigned>(split.size()), 0, results, d.builder.getContext());
  const Value tiles =
      d.remember(d.builder.create<ViewOp>(d.loc, d.typeOf(d.element(x), split), x,
                                          AffineMapAttr::get(map), ValueRange(), d.sizesOf(split)),
                 split);
  const bool isLogical = d.element(x).isInteger(1);
  const ReduceKind kind =
      isLogical ? ReduceKind::count
                : d.rng.pick<ReduceKind>({ReduceKind::sum, ReduceKind::sum, ReduceKind::sum,
                                          ReduceKind::min, ReduceKind::max, ReduceKind::argmax});
  const bool isIndex = isLogical || kind == ReduceKind::argmax;
  const SmallVector<StringRef> over(inner.begin(), inner.end());
  const Type element = isIndex ? Type(d.builder.getI64Type()) : d.element(x);
  return d.remember(d.builder.create<ReduceOp>(d.loc, d.typeOf(element, kept), kind, tiles,
                                               d.builder.getStrArrayAttr(over), d.sizesOf(kept)),
                    kept);
}

Value Draft::scan(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty() || element(x).isInteger(1))
    return {};
  const auto kind = static_cast<ScanKind>(rng.below(3));
  Value factor, factors;
  Rng own(static_cast<uint64_t>(draws) * 31 +
          tensors.size()); // seeds are cases: nothing else moves
  if (kind == ScanKind::recurrence && own.chance(0.3)) {
    factors = own.chance(0.5) ? x : map(x, true);
    if (const Type type = computedIn(element(x)); type != element(x))
      factors = remember(
          builder.create<CastOp>(loc, typeOf(type, dims), CastMode::value, factors, sizesOf(dims)),
          dims);
  } else if (kind == ScanKind::recurrence) {
    const double number = rng.pick<double>({0.5, -0.25, 1.5});
    factor = number > 1 ? drawReal(-1.5, 1.5) : real(number);
  }
  const Value result = builder.create<ScanOp>(loc, x.getType(), kind, x, rng.pick(dims).name,
                                              factor, factors, sizesOf(dims));
  return remember(result, dims);
}

Value Draft::histogram(Value x) {
  if (!llvm::isa<IntegerType>(element(x)) || element(x).isInteger(1))
    return {};
  Dims kept;
  SmallVector<StringRef> over;
  const Dims dims = dimsOf(x);
  for (const Dim &dim : dims) {
    if (dim.name == "bin")
      return {};
    if (rng.chance(0.6))
      over.push_back(dim.name);
    else
      kept.push_back(dim);
  }
  kept.push_back({"bin", {}, rng.pick<int64_t>({4, 17, 256})});
  const Value result = builder.create<HistogramOp>(loc, typeOf(builder.getI32Type(), kept), x,
                                                   builder.getStrArrayAttr(over), sizesOf(kept));
  return remember(result, kept);
}

/// A matrix, row by row; where `isBanded`, columns are 0 but for a run of rows each.
std::vector<int64_t> Draft::matrix(int64_t rows, int64_t columns, bool isBanded) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < rows * columns; ++i)
    numbers.push_back(rng.between(-8, 8));
  for (int64_t column = 0; isBanded && column < columns; ++column) {
    const int64_t first = rng.below(rows),
                  count = rng.chance(0.1) ? 0 : rng.between(1, rng.pick<int64_t>({3, 9, 18, 50}));
    for (int64_t row = 0; row < rows; ++row)
      if (row < first || row >= first + count)
        numbers[static_cast<size_t>(row * columns + column)] = 0;
  }
  return numbers;
}

/// Returns a view that repeats `x`, with as many rows as it takes for bands to be searched; null
/// where its shape does not allow it.
Value Draft::repeated(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty() || dims.size() > 2 ||
      llvm::any_of(dims, [](const Dim &d) { return d.size || d.most == 0; }))
    return {};
  Dims large;
  large.push_back({freshAxis(), {}, rng.between(30, 80)});
  large.push_back({dims.back().name, {}, rng.between(60, 110)});
  const AffineExpr row = builder.getAffineDimExpr(0), place = builder.getAffineDimExpr(1);
  std::vector<AffineExpr> results;
  if (dims.size() == 2)
    results.push_back(row % dims[0].most);
  results.push_back((row + place) % dims.back().most);
  return viewOf(x, large, results, {});
}

Value Draft::contract(Value x) {
  const Type type = element(x);
  const bool isFloat = type.isF32() || type.isF64();
  const bool isBanded = isFloat && rng.chance(0.6);
  if (const Value larger = isBanded ? repeated(x) : Value())
    x = larger;
  Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  Dim &summed = isBanded ? dims.back()
                         : dims[static_cast<size_t>(rng.below(static_cast<int64_t>(dims.size())))];
  if (summed.size || summed.most > (isBanded ? 110 : 70) || summed.most == 0 ||
      !(isFloat || type.isSignlessInteger(32) || type.isSignlessInteger(64)))
    return {};
  const int64_t rows = summed.most,
                columns = rng.chance(0.3) ? rng.pick<int64_t>({24, 33, 64}) : rng.between(1, 19);
  std::vector<Attribute> values;
  for (int64_t number : matrix(rows, columns, isBanded)) {
    values.push_back(isFloat
                         ? Attribute(builder.getFloatAttr(type, static_cast<double>(number) * 0.3))
                         : builder.getIntegerAttr(type, number));
  }
  const Dim out{freshAxis(), {}, columns};
  const Value matrix = builder.create<ConstantOp>(
      loc, typeOf(element(x), {summed, out}),
      DenseElementsAttr::get(RankedTensorType::get({rows, columns}, element(x)), values));
  summed = out;
  const Value result =
      builder.create<ContractOp>(loc, typeOf(element(x), dims), x, matrix, sizesOf(dims));
  return remember(result, dims);
}

Value Draft::sort(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  const Value result = builder.create<SortOp>(loc, typeOf(builder.getI64Type(), dims), x,
                                              rng.pick(dims).name, sizesOf(dims));
  return remember(result, dims);
}

/// Its count too becomes a value.
Value Draft::compact(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  const Dim along = rng.pick(dims);
  const Value mask = maskOver(along);
  auto op = builder.create<CompactOp>(
      loc, x.getType(), NamedTensorType::get(builder.getContext(), builder.getI64Type(), {}), x,
      along.name, mask, sizesOf(dims));
  if (rng.chance(0.5))
    tensors.push_back(remember(op.getCount(), {}));
  return remember(op.getResult(), dims);
}

/// Truth values over one axis, from its coordinate.
Value Draft::maskOver(const Dim &dim) {
  const int64_t period = rng.between(1, 4);
  const Value threshold = drawInteger(constant(0), constant(period + 1)), by = constant(period);
  auto map =
      builder.create<MapOp>(loc, typeOf(builder.getI1Type(), {dim}), ValueRange(), sizesOf({dim}));
  OpBuilder::InsertionGuard guard(builder);
  Block &block = map.getBody().emplaceBlock();
  const Value place = block.addArgument(builder.getI64Type(), loc);
  builder.setInsertionPointToEnd(&block);
  const Value rest = binary(BinaryKind::rem, place, by);
  builder.create<YieldOp>(
      loc, builder.create<CompareOp>(loc, builder.getI1Type(), Predicate::lt, rest, threshold)
               .getResult());
  return remember(map.getResult(), {dim});
}

/// Groups along the first axis, and what is reduced by them.
Value Draft::group(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty() || !llvm::isa<IntegerType>(element(x)) || mayBeEmpty(dims.front()))
    return {};
  const Dim along = dims.front();
  // Keys of few values, or groups would hold one element each.
  Value key = x;
  if (!element(x).isInteger(1) && rng.chance(0.8)) {
    auto map = builder.create<MapOp>(loc, x.getType(), x, sizesOf(dims));
    OpBuilder::InsertionGuard guard(builder);
    Block &block = map.getBody().emplaceBlock();
    const Value value = block.addArgument(element(x), loc);
    for (size_t i = 0; i < dims.size(); ++i)
      block.addArgument(builder.getI64Type(), loc);
    builder.setInsertionPointToEnd(&block);
    const Value by =
        builder.create<ConstantOp>(loc, element(x), builder.getIntegerAttr(element(x), 3));
    builder.create<YieldOp>(loc, binary(BinaryKind::rem, value, by));
    key = remember(map.getResult(), dims);
  }
  const int64_t limit = rng.between(1, 12);
  const Dim groups{freshAxis(), {}, std::min(limit, along.most)};
  const Type i64 = builder.getI64Type();
  const Value mask = rng.chance(0.4) ? maskOver(along) : Value();
  auto op =
      builder.create<GroupOp>(loc, typeOf(i64, {along}), typeOf(i64, {groups}),
                              NamedTensorType::get(builder.getContext(), i64, {}), key, along.name,
                              mask, static_cast<uint64_t>(limit), sizesOf({along}));
  remember(op.getSlot(), {along});
  tensors.push_back(remember(op.getCount(), {}));
  tensors.push_back(remember(op.getFirst(), {groups}));
  Value value = x;
  for (const Value &other : tensors)
    if (const Dims mine = dimsOf(other);
        rng.chance(0.5) && !mine.empty() && mine.front().name == along.name &&
        mine.front().size == along.size && mine.front().most == along.most)
      value = other;
  static const std::vector<ReduceKind> logical = {ReduceKind::any, ReduceKind::all,
                                                  ReduceKind::count};
  static const std::vector<ReduceKind> numeric = {ReduceKind::sum, ReduceKind::min, ReduceKind::max,
                                                  ReduceKind::argmin, ReduceKind::argmax};
  const ReduceKind kind = rng.pick(element(value).isInteger(1) ? logical : numeric);
  const bool isIndex =
      kind == ReduceKind::count || kind == ReduceKind::argmin || kind == ReduceKind::argmax;
  Dims reduced = dimsOf(value);
  reduced.front() = groups;
  const Value result =
      builder.create<ReduceByOp>(loc, typeOf(isIndex ? i64 : element(value), reduced), kind, value,
                                 along.name, op.getSlot(), sizesOf(reduced));
  return remember(result, reduced);
}

/// Elements along the first axis, at drawn places of a base made here; some lie outside. Where
/// there are keys, also by their groups and ranks.
Value Draft::scatter(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  const Dim along = dims.front();
  const Type i64 = builder.getI64Type();
  auto places = [&](int64_t most) {
    const Value step = constant(rng.between(1, 5)), by = constant(most + 1),
                first = drawInteger(constant(-1), constant(2));
    auto map = builder.create<MapOp>(loc, typeOf(i64, {along}), ValueRange(), sizesOf({along}));
    OpBuilder::InsertionGuard guard(builder);
    Block &block = map.getBody().emplaceBlock();
    const Value place = block.addArgument(i64, loc);
    builder.setInsertionPointToEnd(&block);
    const Value rest = binary(BinaryKind::rem, binary(BinaryKind::mul, place, step), by);
    builder.create<YieldOp>(loc, binary(BinaryKind::add, rest, first));
    return remember(map.getResult(), {along});
  };
  Dims based;
  SmallVector<Value> at;
  SmallVector<Attribute> over;
  const bool two = rng.chance(0.4);
  for (int number = 0; number < (two ? 2 : 1); ++number) {
    based.push_back({freshAxis(), {}, rng.between(1, 9)});
    over.push_back(builder.getStringAttr(based.back().name));
    at.push_back(places(based.back().most));
  }
  if (two && rng.chance(0.7)) { // as hard voxels: a group, and the place in it
    auto rank =
        builder.create<RankByOp>(loc, typeOf(i64, {along}), at[0], along.name, sizesOf({along}));
    at[1] = remember(rank, {along});
    tensors.push_back(at[1]);
  }
  based.insert(based.begin() + (rng.chance(0.3) ? 0 : based.size()), dims.begin() + 1, dims.end());
  static const std::vector<ScatterKind> all = {ScatterKind::sum, ScatterKind::min, ScatterKind::max,
                                               ScatterKind::first};
  const bool isNumber = !element(x).isInteger(1) && !element(x).isF16() && !element(x).isBF16();
  const ScatterKind kind = isNumber ? rng.pick(all) : ScatterKind::first;
  const Value fill = scalarOf(element(x));
  auto base = builder.create<MapOp>(loc, typeOf(element(x), based), ValueRange(), sizesOf(based));
  {
    OpBuilder::InsertionGuard guard(builder);
    Block &block = base.getBody().emplaceBlock();
    for (size_t i = 0; i < based.size(); ++i)
      block.addArgument(i64, loc);
    builder.setInsertionPointToEnd(&block);
    builder.create<YieldOp>(loc, fill);
  }
  const Value result = builder.create<ScatterOp>(loc, typeOf(element(x), based), kind,
                                                 remember(base.getResult(), based), x, along.name,
                                                 builder.getArrayAttr(over), at, sizesOf(based));
  return remember(result, based);
}

Value Draft::filter(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty() || (!element(x).isF32() && !element(x).isF64()))
    return {};
  auto numbers = [&](bool isBelow) {
    std::vector<Attribute> values;
    for (int64_t i = rng.between(1, 5); i > 0; --i) {
      const double number = static_cast<double>(rng.between(-8, 8)) * 0.07;
      values.push_back(builder.getF64FloatAttr(isBelow && values.empty() ? 1.5 : number));
    }
    const Dim along{freshAxis(), {}, static_cast<int64_t>(values.size())};
    return Value(builder.create<ConstantOp>(
        loc, typeOf(builder.getF64Type(), {along}),
        DenseElementsAttr::get(RankedTensorType::get({along.most}, builder.getF64Type()), values)));
  };
  const Value above = numbers(false), below = numbers(true);
  const Value result = builder.create<FilterOp>(loc, x.getType(), x, rng.pick(dims).name, above,
                                                below, sizesOf(dims));
  return remember(result, dims);
}

Value Draft::fft(Value x) {
  Dims dims = dimsOf(x);
  if (!element(x).isF32() && !element(x).isF64())
    return {};
  std::vector<size_t> fits;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name == "freq" || dims[i].name == "part")
      return {};
    if (!dims[i].size && dims[i].most <= 500 && dims[i].most > 0)
      fits.push_back(i);
  }
  if (fits.empty())
    return {};
  Dim &along = dims[rng.pick(fits)];
  const std::string axis = along.name;
  along = {"freq", {}, along.most / 2 + 1};
  dims.push_back({"part", {}, 2});
  const Value result = builder.create<FftOp>(loc, typeOf(element(x), dims), x, axis, sizesOf(dims));
  return remember(result, dims);
}

/// Bytes as an image, through a codec: the pixels again, or a file and its size.
Value Draft::codec(Value x) {
  const Dims dims = dimsOf(x);
  const bool color = dims.size() == 3 && !dims[2].size && (dims[2].most == 1 || dims[2].most == 3);
  if (dims.size() != 2 && !color)
    return {};
  const Type u8 = builder.getIntegerType(8, /*isSigned=*/false);
  Value bytes = x;
  if (element(x) != u8)
    bytes = remember(
        builder.create<CastOp>(loc, typeOf(u8, dims), CastMode::clamp, x, sizesOf(dims)), dims);
  static const char *const names[] = {"h", "w", "c"};
  Dims image = dims;
  std::vector<AffineExpr> same;
  for (size_t i = 0; i < dims.size(); ++i) {
    image[i].name = names[i];
    same.push_back(builder.getAffineDimExpr(static_cast<unsigned>(i)));
  }
  const Value pixels = viewOf(bytes, image, same, {});
  const Value quality = drawInteger(constant(1), constant(101));
  if (rng.chance(0.5)) {
    const Value again =
        builder.create<RecompressOp>(loc, pixels.getType(), pixels, quality, sizesOf(image));
    return viewOf(remember(again, image), dims, same, {});
  }
  const Codec format = rng.chance(0.5) ? Codec::jpeg : Codec::png;
  int64_t most = 1;
  for (const Dim &dim : dims)
    most *= dim.most;
  const Dims file = {{freshAxis(), {}, most + madeUpHeader}};
  auto op = builder.create<EncodeOp>(
      loc, typeOf(u8, file), NamedTensorType::get(builder.getContext(), builder.getI64Type(), {}),
      format, pixels, format == Codec::jpeg ? quality : Value(), ValueRange());
  tensors.push_back(remember(op.getCount(), {}));
  return remember(op.getBytes(), file);
}

//===--- scopes ------------------------------------------------------------===//

Value Draft::sameShape(Value x) {
  Value result;
  switch (rng.below(depth < 2 ? 7 : 5)) {
  case 0:
    result = flip(x);
    break;
  case 1:
    result = window(x);
    break;
  case 2:
    result = scan(x);
    break;
  case 3:
    break;
  case 5:
    result = choose(x);
    break;
  case 6:
    result = repeat(x);
    break;
  default:
    result = map(x, /*sameType=*/true);
  }
  return result ? result : x;
}

/// One of `count` arms; sometimes outside: an index is clamped.
Value Draft::armIndex(unsigned count) {
  return rng.chance(0.5) ? drawInteger(constant(0), constant(count))
                         : drawInteger(constant(-1), constant(static_cast<int64_t>(count) + 1));
}

/// Sometimes yields a scalar too, or another tensor, which later steps may use; of that tensor's
/// type an arm sometimes makes both of one.
Value Draft::choose(Value x) {
  const Dims dims = dimsOf(x);
  const auto arms = static_cast<unsigned>(rng.between(1, 3));
  SmallVector<Type> types{x.getType()};
  const bool hasScalar = rng.chance(0.4);
  if (hasScalar)
    types.push_back(builder.getF64Type());
  const bool isOutermost =
      llvm::isa_and_present<PipelineOp>(builder.getInsertionBlock()->getParentOp());
  const Value other = isOutermost && rng.chance(0.3) ? rng.pick(tensors) : Value();
  std::vector<Value> sizes = sizesOf(dims);
  if (other) {
    types.push_back(other.getType());
    llvm::append_range(sizes, sizesOf(dimsOf(other)));
  }
  auto op = builder.create<ChooseOp>(loc, types, armIndex(arms), sizes, arms);
  ++depth;
  for (unsigned arm = 0; arm < arms; ++arm) {
    OpBuilder::InsertionGuard guard(builder);
    builder.createBlock(&op.getArms()[arm]);
    const std::vector<Value> outside = scalars;
    SmallVector<Value> yields{sameShape(x)};
    if (rng.chance(0.3))
      yields[0] = sameShape(yields[0]);
    if (hasScalar)
      yields.push_back(rng.chance(0.5) ? drawReal(-4, 4) : scalarOf(types[1]));
    if (other)
      yields.push_back(sameShape(other == x && rng.chance(0.7) ? yields[0] : other));
    builder.create<YieldOp>(loc, yields);
    scalars = outside;
  }
  --depth;
  if (hasScalar)
    scalars.push_back(op.getResult(1));
  if (other)
    tensors.push_back(remember(op.getResults().back(), dimsOf(other)));
  return remember(op.getResult(0), dims);
}

/// Sometimes carries a scalar too, which the body uses.
Value Draft::repeat(Value x) {
  const Dims dims = dimsOf(x);
  const Value count = drawInteger(constant(-1), constant(4));
  SmallVector<Value> inits{x};
  if (rng.chance(0.4))
    inits.push_back(scalarOf(builder.getF64Type()));
  auto op = builder.create<RepeatOp>(loc, ValueRange(inits).getTypes(), count, rng.between(1, 3),
                                     inits, sizesOf(dims));
  const std::vector<Value> outside = scalars;
  const Value outer = key;
  ++depth;
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&op.getBody());
    const Value number = block->addArgument(builder.getI64Type(), loc);
    const Value carried = block->addArgument(x.getType(), loc);
    remember(carried, dims);
    key = builder.create<KeyMixOp>(loc, builder.getType<KeyType>(), key, number);
    SmallVector<Value> next;
    if (inits.size() == 2) {
      scalars.push_back(block->addArgument(builder.getF64Type(), loc));
      next.push_back(binary(BinaryKind::add, scalars.back(), drawReal(-1, 1)));
    }
    next.insert(next.begin(), sameShape(carried));
    builder.create<YieldOp>(loc, next);
  }
  --depth;
  key = outer;
  scalars = outside;
  if (inits.size() == 2)
    scalars.push_back(op.getResult(1));
  return remember(op.getResult(0), dims);
}

Value Draft::each(Value x) {
  // Every view has the same extents, so only static ones.
  for (const Dim &dim : dimsOf(x))
    if (dim.size)
      return {};
  const Value outer = key;
  const std::vector<Value> outside = scalars;
  const int64_t views = rng.between(2, 3);
  const std::string axis = freshAxis();
  Block body;
  Value view;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&body);
    const Value number = body.addArgument(builder.getI64Type(), loc);
    key = builder.create<KeyViewOp>(loc, builder.getType<KeyType>(), key, number);
    view = crop(x, /*fixed=*/true);
    if (rng.chance(0.6))
      view = sameShape(view);
    builder.create<YieldOp>(loc, view);
    key = outer;
    scalars = outside;
  }
  Dims dims = dimsOf(view);
  dims.insert(dims.begin(), {axis, {}, views});
  auto op = builder.create<EachOp>(loc, TypeRange{typeOf(element(x), dims)}, axis,
                                   static_cast<uint64_t>(views), ValueRange());
  Block &block = op.getBody().emplaceBlock();
  block.addArgument(builder.getI64Type(), loc);
  body.getArgument(0).replaceAllUsesWith(block.getArgument(0));
  block.getOperations().splice(block.end(), body.getOperations());
  return remember(op.getResult(0), dims);
}

/// A scalar: the first of some tries that a draw accepts.
Value Draft::search() {
  const Value fallback = drawReal(5, 6);
  auto op = builder.create<SearchOp>(loc, TypeRange{builder.getF64Type()}, rng.between(1, 5));
  const Value outer = key;
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&op.getBody());
    const Value number = block->addArgument(builder.getI64Type(), loc);
    key = builder.create<KeyMixOp>(loc, builder.getType<KeyType>(), key, number);
    const Value drawn = drawReal(0, 4);
    const Value holds =
        builder.create<CompareOp>(loc, builder.getI1Type(), Predicate::lt, drawn, real(2));
    builder.create<AcceptOp>(loc, holds, drawn);
    key = outer;
    builder.createBlock(&op.getOtherwise());
    builder.create<YieldOp>(loc, fallback);
  }
  return op.getResult(0);
}

//===--- which one ---------------------------------------------------------===//

int64_t Draft::elements(Value tensor) {
  int64_t count = 1;
  for (const Dim &dim : dimsOf(tensor))
    count *= dim.most;
  return count;
}

Value Draft::step() {
  if (rng.chance(0.15))
    scalars.push_back(rng.chance(0.5) ? search() : drawReal(-4, 4));
  using Step = Value (*)(Draft &, Value);
  static const std::vector<Step> steps = {
      [](Draft &d, Value x) { return d.crop(x); },
      [](Draft &d, Value x) { return d.flip(x); },
      [](Draft &d, Value x) { return d.transpose(x); },
      [](Draft &d, Value x) { return d.stride(x); },
      [](Draft &d, Value x) { return d.pickIndex(x); },
      [](Draft &d, Value x) { return d.frames(x); },
      [](Draft &d, Value x) { return d.broadcast(x); },
      [](Draft &d, Value x) {
        const Value wide = d.broadcast(x);
        return wide ? d.pad(wide) : wide;
      },
      [](Draft &d, Value x) { return d.pad(x); },
      [](Draft &d, Value x) { return d.pad(x); },
      [](Draft &d, Value x) { return d.concat(x); },
      [](Draft &d, Value x) { return d.stack(x); },
      [](Draft &d, Value x) { return d.pixels(x); },
      [](Draft &d, Value x) { return d.place(x); },
      [](Draft &d, Value x) { return d.map(x); },
      [](Draft &d, Value x) { return d.map(x); },
      [](Draft &d, Value x) { return d.map(x); },
      [](Draft &d, Value x) { return d.map(x); },
      [](Draft &d, Value x) { return d.window(x); },
      [](Draft &d, Value x) { return d.window(x); },
      [](Draft &d, Value x) { return d.gather(x); },
      [](Draft &d, Value x) { return d.cast(x); },
      [](Draft &d, Value x) { return d.cast(x); },
      [](Draft &d, Value x) { return d.resample(x); },
      [](Draft &d, Value x) { return d.resample(x); },
      [](Draft &d, Value x) { return d.resample(x); },
      [](Draft &d, Value x) { return d.reduce(x); },
      [](Draft &d, Value x) { return d.reduce(x); },
      [](Draft &d, Value x) { return d.reduceBeside(x); },
      [](Draft &d, Value x) { return d.reduceTiles(x); },
      [](Draft &d, Value x) { return d.scan(x); },
      [](Draft &d, Value x) { return d.histogram(x); },
      [](Draft &d, Value x) { return d.contract(x); },
      [](Draft &d, Value x) { return d.contract(x); },
      [](Draft &d, Value x) { return d.sort(x); },
      [](Draft &d, Value x) { return d.compact(x); },
      [](Draft &d, Value x) { return d.group(x); },
      [](Draft &d, Value x) { return d.fft(x); },
      [](Draft &d, Value x) { return d.scatter(x); },
      [](Draft &d, Value x) { return d.filter(x); },
      [](Draft &d, Value x) { return d.choose(x); },
      [](Draft &d, Value x) { return d.choose(x); },
      [](Draft &d, Value x) { return d.repeat(x); },
      [](Draft &d, Value x) { return d.each(x); },
  };
  if (codecs && rng.chance(0.3))
    if (const Value made = codec(rng.pick(tensors)))
      return made;
  // Mostly the newest value, so that chains get long; large ones only shrink.
  const Value x = rng.chance(0.6) ? tensors.back() : rng.pick(tensors);
  const Step chosen = rng.pick(steps);
  return elements(x) > 9000 ? reduce(x) : chosen(*this, x);
}

/// `x`, and what it holds elsewhere: where such steps follow each other, three paths lead on
/// from each.
Value Draft::reread(Value x) {
  Value all = x;
  for (int i = 0; i < 2; ++i)
    if (const Value other = rng.chance(0.03) ? flip(x) : channel(x))
      all = mix(all, other);
  return all == x ? Value() : all;
}

/// Always of the newest value.
Value Draft::shortStep(bool rereads) {
  const Value x = tensors.back();
  if (rereads)
    return rng.chance(0.95) ? reread(x) : map(x);
  switch (rng.below(6)) {
  case 0:
    return flip(x);
  case 1:
    return rng.chance(0.2) ? crop(x) : transpose(x);
  case 2:
    return cast(x);
  default:
    return map(x);
  }
}

} // namespace penstock::differential
