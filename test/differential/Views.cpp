// SPDX-License-Identifier: Apache-2.0
//
// Steps that only move elements.
#include "test/differential/Draft.h"

using namespace mlir;
using namespace penstock::pipe;

namespace penstock::differential {

Value Draft::viewOf(Value x, const Dims &dims, std::vector<AffineExpr> results,
                    std::vector<Value> symbols) {
  const AffineMap map =
      AffineMap::get(static_cast<unsigned>(dims.size()), static_cast<unsigned>(symbols.size()),
                     results, builder.getContext());
  const Value view = builder.create<ViewOp>(loc, typeOf(element(x), dims), x,
                                            AffineMapAttr::get(map), symbols, sizesOf(dims));
  return remember(view, dims);
}

static AffineExpr dim(Draft &draft, size_t i) {
  return draft.builder.getAffineDimExpr(static_cast<unsigned>(i));
}
static AffineExpr symbol(Draft &draft, size_t i) {
  return draft.builder.getAffineSymbolExpr(static_cast<unsigned>(i));
}

Value Draft::crop(Value x, bool fixed) {
  Dims dims = dimsOf(x);
  std::vector<AffineExpr> results;
  std::vector<Value> symbols;
  for (size_t i = 0; i < dims.size(); ++i) {
    results.push_back(dim(*this, i));
    if (!rng.chance(0.6))
      continue;
    const Dim whole = dims[i];
    const int64_t kept = someOf(whole.most);
    if (!whole.size || fixed) {
      // A dynamic axis has at least one element, so one can always be kept.
      dims[i] = {whole.name, {}, whole.size ? 1 : kept};
    } else {
      dims[i].size = binary(BinaryKind::min, whole.size, constant(kept));
      dims[i].most = kept;
    }
    const Value slack = binary(BinaryKind::sub, sizeOf(whole), sizeOf(dims[i]));
    symbols.push_back(drawInteger(constant(0), binary(BinaryKind::add, slack, constant(1))));
    results[i] = results[i] + symbol(*this, symbols.size() - 1);
  }
  return viewOf(x, dims, results, symbols);
}

Value Draft::flip(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  std::vector<AffineExpr> results;
  std::vector<Value> symbols;
  for (size_t i = 0; i < dims.size(); ++i)
    results.push_back(dim(*this, i));
  const auto axis = static_cast<size_t>(rng.below(static_cast<int64_t>(dims.size())));
  if (!dims[axis].size && rng.chance(0.5)) {
    results[axis] = -results[axis] + (dims[axis].most - 1);
    return viewOf(x, dims, results, symbols);
  }
  const Value last = binary(BinaryKind::sub, sizeOf(dims[axis]), constant(1));
  if (rng.chance(0.5)) { // decided per sample
    const Value heads = coin();
    symbols = {
        builder.create<SelectOp>(loc, builder.getI64Type(), heads, constant(-1), constant(1)),
        builder.create<SelectOp>(loc, builder.getI64Type(), heads, last, constant(0))};
    results[axis] = symbol(*this, 0) * results[axis] + symbol(*this, 1);
  } else {
    symbols = {last};
    results[axis] = symbol(*this, 0) - results[axis];
  }
  return viewOf(x, dims, results, symbols);
}

Value Draft::transpose(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.size() < 2)
    return {};
  std::vector<size_t> order(dims.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  for (size_t i = order.size() - 1; i > 0; --i)
    std::swap(order[i], order[static_cast<size_t>(rng.below(static_cast<int64_t>(i) + 1))]);
  Dims moved;
  std::vector<AffineExpr> results(dims.size());
  for (size_t i = 0; i < order.size(); ++i) {
    moved.push_back(dims[order[i]]);
    results[order[i]] = dim(*this, i);
  }
  return viewOf(x, moved, results, {});
}

Value Draft::stride(Value x) {
  Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  std::vector<AffineExpr> results;
  for (size_t i = 0; i < dims.size(); ++i)
    results.push_back(dim(*this, i));
  const auto axis = static_cast<size_t>(rng.below(static_cast<int64_t>(dims.size())));
  const int64_t step = rng.between(2, 3);
  Dim &kept = dims[axis];
  if (kept.size)
    kept.size = binary(BinaryKind::div, binary(BinaryKind::add, kept.size, constant(step - 1)),
                       constant(step));
  kept.most = (kept.most + step - 1) / step;
  results[axis] = results[axis] * step;
  return viewOf(x, dims, results, {});
}

Value Draft::rename(Value x) {
  Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  const std::string name = rng.pick<std::string>({"k", "h", "w", "c", "t", "part", "tap", "bin"});
  if (llvm::any_of(dims, [&](const Dim &dim) { return dim.name == name; }))
    return {};
  std::vector<AffineExpr> results;
  for (size_t i = 0; i < dims.size(); ++i)
    results.push_back(dim(*this, i));
  dims[static_cast<size_t>(rng.below(static_cast<int64_t>(dims.size())))].name = name;
  return viewOf(x, dims, results, {});
}

Value Draft::pickIndex(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  const auto axis = static_cast<size_t>(rng.below(static_cast<int64_t>(dims.size())));
  if (mayBeEmpty(dims[axis]))
    return {};
  Dims kept;
  std::vector<AffineExpr> results;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i == axis) {
      results.push_back(symbol(*this, 0));
      continue;
    }
    results.push_back(dim(*this, kept.size()));
    kept.push_back(dims[i]);
  }
  return viewOf(x, kept, results, {drawInteger(constant(0), sizeOf(dims[axis]))});
}

Value Draft::channel(Value x) {
  Dims dims = dimsOf(x);
  if (dims.empty() || dims.back().size || dims.back().most == 0)
    return {};
  const int64_t place = rng.between(0, std::min<int64_t>(dims.back().most, 4) - 1);
  dims.pop_back();
  std::vector<AffineExpr> results;
  for (size_t i = 0; i < dims.size(); ++i)
    results.push_back(dim(*this, i));
  results.push_back(builder.getAffineConstantExpr(place));
  return viewOf(x, dims, results, {});
}

Value Draft::frames(Value x) {
  Dims dims = dimsOf(x);
  if (dims.empty() || dims.back().size || dims.back().most < 2 || dims.back().most > 600)
    return {};
  const int64_t length = rng.between(2, std::min<int64_t>(dims.back().most, 5));
  const int64_t step = rng.between(1, length);
  std::vector<AffineExpr> results;
  for (size_t i = 0; i < dims.size(); ++i)
    results.push_back(dim(*this, i));
  results.back() = results.back() * step + dim(*this, dims.size());
  dims.back().most = (dims.back().most - length) / step + 1;
  dims.push_back({freshAxis(), {}, length});
  // Schedules store what takes long.
  if (choicesFor(dims.back().name).chance(0.6))
    x = roots(x);
  return viewOf(x, dims, results, {});
}

Value Draft::broadcast(Value x) {
  Dims dims = dimsOf(x);
  if (dims.size() > 3)
    return {};
  // Innermost, all lanes of a vector read one element.
  const bool isSmall = llvm::all_of(dims, [](const Dim &dim) { return dim.most <= 8; });
  const bool isInner = isSmall && rng.chance(0.5);
  const size_t place = isInner ? dims.size() : 0;
  std::vector<AffineExpr> results;
  for (size_t i = 0; i < dims.size(); ++i)
    results.push_back(dim(*this, i + (i >= place)));
  dims.insert(dims.begin() + static_cast<int64_t>(place),
              {freshAxis(), {}, isInner ? rng.between(2, 20) : rng.between(2, 3)});
  return viewOf(x, dims, results, {});
}

//===--- pad, concat, stack, place -----------------------------------------===//

Value Draft::pad(Value x) {
  Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  auto border = static_cast<Border>(rng.below(5));
  if (llvm::any_of(dims, [&](const Dim &dim) { return mayBeEmpty(dim); }))
    border = Border::constant;
  SmallVector<StringRef> over;
  std::vector<Value> low;
  const Dims before = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!rng.chance(0.6))
      continue;
    const int64_t first = rng.between(0, 4), after = rng.between(0, 4);
    over.push_back(before[i].name);
    // Low side of the padding; the high side gets the rest.
    low.push_back(rng.chance(0.5) ? constant(first)
                                  : drawInteger(constant(0), constant(first + after + 1)));
    if (dims[i].size)
      dims[i].size = binary(BinaryKind::add, dims[i].size, constant(first + after));
    dims[i].most += first + after;
  }
  Value fill;
  if (border == Border::constant)
    fill = rng.chance(0.4)
               ? builder.create<CastOp>(loc, element(x), CastMode::value, constant(0), ValueRange())
               : scalarOf(element(x));
  const Value result =
      builder.create<PadOp>(loc, typeOf(element(x), dims), border, x, builder.getStrArrayAttr(over),
                            low, fill, sizesOf(dims));
  return remember(result, dims);
}

Value Draft::padToStatic(Value x) {
  Dims dims = dimsOf(x);
  SmallVector<StringRef> over;
  std::vector<Value> low;
  const Dims before = dims;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (!dims[i].size)
      continue;
    over.push_back(before[i].name);
    low.push_back(constant(0));
    dims[i].size = Value();
  }
  if (over.empty())
    return x;
  const Value result =
      builder.create<PadOp>(loc, typeOf(element(x), dims), Border::constant, x,
                            builder.getStrArrayAttr(over), low, scalarOf(element(x)), ValueRange());
  return remember(result, dims);
}

Value Draft::concat(Value x) {
  Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  const auto axis = static_cast<size_t>(rng.below(static_cast<int64_t>(dims.size())));
  const Value other = rng.chance(0.5) ? x : flip(x);
  if (dims[axis].size)
    dims[axis].size = binary(BinaryKind::add, dims[axis].size, dims[axis].size);
  dims[axis].most *= 2;
  const Value result = builder.create<ConcatOp>(loc, typeOf(element(x), dims), dims[axis].name,
                                                ValueRange{x, other}, sizesOf(dims));
  return remember(result, dims);
}

Value Draft::stack(Value x) {
  Dims dims = dimsOf(x);
  if (dims.empty() || dims.size() > 3)
    return {};
  const Value other = flip(x);
  dims.insert(dims.begin(), {freshAxis(), {}, 2});
  const Value result = builder.create<StackOp>(loc, typeOf(element(x), dims), dims.front().name,
                                               ValueRange{x, other}, sizesOf(dims));
  return remember(result, dims);
}

Value Draft::pixels(Value x) {
  Dims dims = dimsOf(x);
  if (dims.size() > 2)
    return {};
  SmallVector<Value> channels{x};
  while (channels.size() < 2 || (channels.size() < 4 && rng.chance(0.5)))
    channels.push_back(dims.empty() || rng.chance(0.3) ? x : flip(x));
  dims.insert(dims.begin(), {freshAxis(), {}, static_cast<int64_t>(channels.size())});
  const Value planes = builder.create<StackOp>(loc, typeOf(element(x), dims), dims.front().name,
                                               channels, sizesOf(dims));
  remember(planes, dims);
  std::rotate(dims.begin(), dims.begin() + 1, dims.end());
  std::vector<AffineExpr> results{dim(*this, dims.size() - 1)};
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    results.push_back(dim(*this, i));
  return viewOf(planes, dims, results, {});
}

Value Draft::place(Value x) {
  const Dims dims = dimsOf(x);
  if (dims.empty())
    return {};
  const Value patch = crop(x);
  SmallVector<StringRef> over;
  std::vector<Value> at;
  for (const Dim &dim : dims)
    if (rng.chance(0.7)) {
      over.push_back(dim.name);
      at.push_back(drawInteger(constant(-2), binary(BinaryKind::add, sizeOf(dim), constant(2))));
    }
  const Value result = builder.create<PlaceOp>(loc, typeOf(element(x), dims), patch, x,
                                               builder.getStrArrayAttr(over), at, sizesOf(dims));
  return remember(result, dims);
}

} // namespace penstock::differential
