// SPDX-License-Identifier: Apache-2.0
//
// Reductions of pieces of a run.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Nest/Nest.h"
#include "compiler/Conversion/KernelToLoops/Vector/LaneFloats.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "compiler/Dialect/SmallReduction.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

/// A reduction; or a minimum or maximum whose zeros are to be resolved, or what resolves them.
enum class Found { whole, unresolved, leastBits };
static LaneValue reduceOnePiece(const Site &site, ReduceOp op, const Pieces &pieces,
                                SmallVector<Index> at, Found what);

/// Where the innermost reduced axis lies inside of one that stays, such as the columns of
/// tiles, both together are one run of elements.
std::optional<Pieces> penstock::conversion::piecesOf(const Site &site, ReduceOp op) {
  const ReducedAxes axes(op);
  NamedTensorType in = typeOf(op.getValue());
  const auto count = reducedElements(op);
  const ReduceKind kind = op.getKind();
  if (!count || *count < 1 || axes.over.empty() || kind == ReduceKind::argmin ||
      kind == ReduceKind::argmax)
    return std::nullopt;
  const int64_t reduced = axes.over.back(), size = in.getAxes()[reduced].extent;
  const auto apart = elementsApart(site, op.getValue(), reduced);
  if (!apart || *apart < 1 || *apart > 4 || size < 2 || size > partialSums ||
      !llvm::isPowerOf2_64(size) || *count / size > partialSums)
    return std::nullopt;
  for (int64_t kept : axes.kept)
    if (in.getAxes()[kept].isStatic() && elementsApart(site, op.getValue(), kept) == *apart * size)
      return Pieces{kept, reduced, size};
  return std::nullopt;
}

/// Null where the lanes at hand do not lie along the kept axis.
std::optional<LaneValue> penstock::conversion::reducePieces(const Site &site, ReduceOp op,
                                                            const Pieces &pieces,
                                                            ArrayRef<Index> at) {
  auto [ctx, b, l, m] = site.parts();
  const Index along = at[pieces.kept];
  if (l.lanes < 2 || m.live || !along.affine() || along.stride != 1)
    return std::nullopt;
  for (auto [axis, index] : llvm::enumerate(at))
    if (static_cast<int64_t>(axis) != pieces.kept && index.base && !index.uniform())
      return std::nullopt;
  // At most four registers of f32 at a time, but two results: those of one are no vector.
  const int64_t lanes = l.lanes,
                results = std::min(lanes, std::max<int64_t>(l.has.registerBytes / pieces.size, 2));
  auto allOf = [&](const Site &site, Found what) {
    LaneValue all;
    for (int64_t first = 0; first < lanes; first += results) {
      SmallVector<Index> here(at);
      here[pieces.kept] = m.outerOf(l.add(along.base, l.i64(first)), pieces.size);
      here[pieces.reduced] = m.innerOf(pieces.size);
      LaneValue some =
          reduceOnePiece(site.withLanes(results * pieces.size), op, pieces, here, what);
      if (!all.value) {
        all = some;
        continue;
      }
      SmallVector<int64_t> order(first + results);
      for (size_t i = 0; i < order.size(); ++i)
        order[i] = static_cast<int64_t>(i);
      all = {m.shuffle(all.value, some.value, order), some.type, hull(all.range, some.range)};
    }
    return all;
  };
  if (!resolvesZerosLater(site, op))
    return allOf(site, Found::whole);
  const SmallVector<int64_t> over = ReducedAxes(op).over;
  return resolveExtreme(
      site, op, allOf(site, Found::unresolved),
      [&](const Site &site, LaneValue from) {
        return std::pair(from, allOf(site, Found::leastBits));
      },
      [&](const Site &site, LaneValue number) {
        return nanWithoutNumbers(site, op, number, at, over, extentsOver(site, op, over));
      });
}

/// The reduction for all results of the lanes at hand, which are `size` times as many.
static LaneValue reduceOnePiece(const Site &site, ReduceOp op, const Pieces &pieces,
                                SmallVector<Index> at, Found what) {
  auto [ctx, b, l, m] = site.parts();
  NamedTensorType in = typeOf(op.getValue());
  const ReduceKind kind = op.getKind();
  Type element = computeType(in.getElementType()),
       sumType = kind == ReduceKind::count ? Type(b.getI32Type()) : element;
  const bool isReal = llvm::isa<FloatType>(element), isSum = kind == ReduceKind::sum && isReal;
  const SmallVector<int64_t> over = ReducedAxes(op).over;
  const int64_t rows = *reducedElements(op) / pieces.size;
  auto row = [&](int64_t number) {
    for (int64_t axis : llvm::reverse(ArrayRef(over).drop_back())) {
      at[axis] = m.constant(number % in.getAxes()[axis].extent);
      number /= in.getAxes()[axis].extent;
    }
    LaneValue value = l.cast(CastMode::value, emit(site, op.getValue(), at), sumType);
    value.value = l.splat(value.value);
    noteNan(site, op, value);
    if (what == Found::leastBits)
      return bitsOf(site, op, value);
    return what == Found::whole && isExtreme(op) ? comparable(site, value) : value;
  };
  auto bothIn = [&](const Site &site, LaneValue x, LaneValue y) {
    const Lanes &l = site.m.l;
    if (what == Found::leastBits)
      return leastBits(site, op, x, y);
    if (what == Found::unresolved)
      return farther(l, kind == ReduceKind::min, x, y);
    return kind == ReduceKind::count || isSum ? l.binary(BinaryKind::add, x, y)
                                              : combined(l, kind, x, y);
  };
  auto both = [&](LaneValue x, LaneValue y) { return bothIn(site, x, y); };
  // Rows of a sum have one partial sum in each lane, so 32 / size of them come before the tree.
  // Where a NaN gives way to what came before, one row comes after the other.
  const int64_t apart = isSum ? partialSums / pieces.size : what == Found::unresolved ? 1 : rows;
  std::function<LaneValue(int64_t, int64_t)> tree = [&](int64_t first, int64_t step) {
    if (step >= apart) {
      LaneValue sum = row(first);
      if (what == Found::unresolved && sum.range.nan) // a NaN gives way, also where it comes first
        sum = both(neutral(l, kind, element), sum);
      for (int64_t number = first + apart; number < rows; number += apart)
        sum = both(sum, row(number));
      return sum;
    }
    LaneValue low = tree(first, 2 * step);
    return first + step < rows ? both(low, tree(first + step, 2 * step)) : low;
  };
  LaneValue all = tree(0, 1);
  int64_t lanes = site.lanes();
  for (int64_t half = pieces.size / 2; half >= 1; half /= 2) {
    SmallVector<int64_t> low, high;
    for (int64_t lane = 0; lane < lanes; ++lane)
      (lane / half % 2 ? high : low).push_back(lane);
    LaneValue x{m.shuffle(all.value, all.value, low), all.type, all.range}, y = x;
    y.value = m.shuffle(all.value, all.value, high);
    all = bothIn(site.withLanes(lanes /= 2), x, y);
  }
  const Site results = site.withLanes(lanes);
  if (isSum)
    all = results.m.l.binary(BinaryKind::add, all, neutral(results.m.l, kind, element));
  return kind == ReduceKind::count ? results.m.l.cast(CastMode::value, all, b.getI64Type()) : all;
}
