// SPDX-License-Identifier: Apache-2.0
//
// Elements at computed places.
//
// Places that differ by a fixed step from lane to lane, such as `first + k` of the taps of a
// filter, are a run of elements where all of them lie inside: one load of a vector, in a branch.
// Where lanes' own coordinate is divided, as by axes that are merged or elements that are repeated,
// lanes go through pieces, which are loads of vectors where the first lane begins one; or they lie
// in one that is longer, such as a row of the axes that were merged, where the last one does.
#include "compiler/Conversion/KernelToLoops/Elements/Branches.h"
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Elements/Scalars.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;
using arith::CmpIPredicate;

namespace {
/// Where a load reads along one axis.
struct ReadAt {
  Index index;
  Value size;
  bool inside; ///< whatever the lane: it needs no clamp
};
} // namespace

static ReadAt readAtOf(const Site &site, LoadOp op, int64_t axis) {
  auto [ctx, b, l, m] = site.parts();
  const Axis &a = typeOf(op.getTensor()).getAxes()[axis];
  const Value number = op.getIndices()[axis], size = extent(site, op.getTensor(), axis);
  auto isInside = [&](const LaneValue &value) {
    return a.isStatic() && a.extent > 0 && value.range.within(0, static_cast<double>(a.extent - 1));
  };
  if (auto known = ctx.coordinates.find(number); known != ctx.coordinates.end())
    return {known->second, size, isInside(scalarOf(site, number))};
  const LaneValue value = scalarOf(site, number);
  if (value.isVector() && value.step)
    return {{value.first, *value.step, {}, {}}, size, isInside(value)};
  return {m.of(value.value), size, isInside(value)};
}

/// Returns whether all lanes lie inside, as runs of neighbours in memory; null where nobody can
/// tell, or where it makes no difference.
static Value isRun(const Site &site, LoadOp op, ArrayRef<ReadAt> places) {
  auto [ctx, b, l, m] = site.parts();
  Value whole;
  for (const ReadAt &place : places) {
    if (place.index.uniform() || place.inside)
      continue;
    if (!place.index.affine() || std::abs(place.index.stride) != 1)
      return {};
    // Of numbers that wrap around, the first lane and the last may lie on either side.
    Value last = l.add(place.index.base, l.i64(place.index.stride * (l.lanes - 1)));
    Value inside = l.andInt(l.cmp(CmpIPredicate::ult, place.index.base, place.size),
                            l.cmp(CmpIPredicate::ult, last, place.size));
    whole = whole ? l.andInt(whole, inside) : inside;
  }
  return site.buffer(op.getTensor()) ? whole : Value();
}

namespace {
/// Places along an axis that lanes go through piece by piece.
struct InPieces {
  const Site &site;
  Value aligned =
      {}; ///< whether the first lane begins a piece, or all lie in one; null where there are none
  std::optional<Index> placeOf(Value number);
  std::optional<Index> quotientOf(BinaryOp op, const Index &left, const Index &right);
};
} // namespace

/// Null where lanes go through them in another way.
std::optional<Index> InPieces::placeOf(Value number) {
  auto [ctx, b, l, m] = site.parts();
  if (auto known = ctx.coordinates.find(number); known != ctx.coordinates.end())
    return known->second;
  if (const LaneValue value = scalarOf(site, number); !value.isVector())
    return m.uniform(value.value);
  auto op = number.getDefiningOp<BinaryOp>();
  auto left = op ? placeOf(op.getLhs()) : std::nullopt;
  auto right = left ? placeOf(op.getRhs()) : std::nullopt;
  if (!right)
    return std::nullopt;
  if (op.getKind() == BinaryKind::add)
    return m.add(*left, *right);
  if (op.getKind() == BinaryKind::mul)
    return m.mul(*left, *right);
  return quotientOf(op, *left, *right);
}

std::optional<Index> InPieces::quotientOf(BinaryOp op, const Index &left, const Index &right) {
  const Memory &m = site.m;
  const Lanes &l = m.l;
  const bool isDivision = op.getKind() == BinaryKind::div;
  const auto size = right.uniform() ? Lanes::constantOf(right.base) : std::nullopt;
  if (!(isDivision || op.getKind() == BinaryKind::rem) || !left.affine() || left.stride != 1 ||
      !size || *size < 2)
    return std::nullopt;
  auto require = [&](Value holds) { aligned = aligned ? l.andInt(aligned, holds) : holds; };
  if (*size > l.lanes) {
    Value rest = l.remS(left.base, l.i64(*size));
    require(l.cmp(CmpIPredicate::ule, rest, l.i64(*size - l.lanes)));
    return isDivision ? m.uniform(l.divS(left.base, l.i64(*size))) : Index{rest, 1, {}, {}};
  }
  if (!llvm::isPowerOf2_64(*size) || l.lanes % *size != 0)
    return std::nullopt;
  require(l.cmp(CmpIPredicate::eq, l.andInt(left.base, l.i64(*size - 1)), l.i64(0)));
  return isDivision ? m.outerOf(l.divS(left.base, l.i64(*size)), *size) : m.innerOf(*size);
}

/// The element in memory of a load whose lanes go through pieces, where they begin one; else null.
static std::optional<LaneValue> loadPieces(const Site &site, LoadOp op, ArrayRef<ReadAt> places,
                                           llvm::function_ref<LaneValue()> otherwise) {
  auto [ctx, b, l, m] = site.parts();
  const bool isTable = op.getTensor().getDefiningOp<ConstantOp>() != nullptr;
  if (l.lanes == 1 || m.live || !(isTable || site.buffer(op.getTensor())))
    return std::nullopt;
  InPieces pieces{site};
  SmallVector<Index> at;
  for (auto [number, place] : llvm::zip(op.getIndices(), places)) {
    auto index = place.inside ? pieces.placeOf(number) : std::nullopt;
    if (!index)
      return std::nullopt;
    at.push_back(*index);
  }
  if (!pieces.aligned)
    return std::nullopt;
  return branch(
      site, pieces.aligned, typeOf(op.getTensor()).getElementType(), true,
      [&] { return emit(site, op.getTensor(), at); }, otherwise);
}

LaneValue penstock::conversion::emitLoad(const Site &site, LoadOp op) {
  auto [ctx, b, l, m] = site.parts();
  SmallVector<ReadAt> places;
  Value some; // elements; null: certainly
  for (auto [axis, a] : llvm::enumerate(typeOf(op.getTensor()).getAxes())) {
    places.push_back(readAtOf(site, op, static_cast<int64_t>(axis)));
    if (!a.isStatic() || a.extent == 0) {
      Value has = l.cmp(CmpIPredicate::sgt, places.back().size, l.i64(0));
      some = some ? l.andInt(some, has) : has;
    }
  }
  auto indices = [&](bool isRun) {
    SmallVector<Index> at;
    for (const ReadAt &place : places)
      at.push_back(place.inside || (isRun && !place.index.uniform())
                       ? place.index
                       : m.clamp(place.index, place.size));
    return at;
  };
  auto anywhere = [&] { return emit(site, op.getTensor(), indices(false)); };
  const Type element = typeOf(op.getTensor()).getElementType();
  auto read = [&]() -> LaneValue {
    if (Value run = isRun(site, op, places))
      return branch(
          site, run, element, true, [&] { return emit(site, op.getTensor(), indices(true)); },
          anywhere);
    if (auto found = loadPieces(site, op, places, anywhere))
      return *found;
    if (auto found = loadByTable(site, op, indices(false)))
      return *found;
    return anywhere();
  };
  if (!some)
    return read();
  // Nothing lies behind the address of a tensor without elements.
  const bool isVector =
      llvm::any_of(places, [](const ReadAt &place) { return !place.index.uniform(); });
  return branch(site, some, element, isVector, read,
                [&] { return l.constant(llvm::cast<TypedAttr>(b.getZeroAttr(element))); });
}
