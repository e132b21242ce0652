// SPDX-License-Identifier: Apache-2.0
//
// Sums of floats over a few short rows, such as those of a tile.
//
// Element i goes to partial sum i mod 32, so it is known in which lanes each row begins and ends.
// All rows are unrolled: a register of partial sums takes the neighbours that belong there. Where a
// row has fewer of them, some of the row are read that fill a register, moved to their lanes, and
// 0 is added in the others. Channels that lie side by side are as many lanes in place of one.
#include "compiler/Conversion/KernelToLoops/Elements/Elements.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduce.h"
#include "compiler/Conversion/KernelToLoops/Whole/Reduction.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

namespace {
struct ShortRows {
  const Site &site;
  ReduceOp op;
  SmallVector<Index> &at;
  ArrayRef<int64_t> over;
  SmallVector<int64_t> extents; ///< of `over`
  int64_t channelAxis;          ///< -1: none
  int64_t channels;
  const Type element = computeType(typeOf(op.getValue()).getElementType());
  const int64_t size = extents.back() * channels; ///< of a row
  const int64_t lanes = std::min(site.m.l.has.lanesOf(scalarBytes(element)),
                                 int64_t(llvm::bit_floor(static_cast<uint64_t>(size))));
  const Site wide = site.withLanes(lanes);
  bool hasZeros = false; ///< some lane of some sum is no -0

  Value zeros() const {
    const auto &[ctx, b, l, m] = wide.parts();
    return b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(VectorType::get({lanes}, element)));
  }
  Value added(Value a, Value c) const {
    const auto &[ctx, b, l, m] = wide.parts();
    return a && c ? b.create<arith::AddFOp>(l.loc, a, c).getResult() : a ? a : c;
  }
  Value part(Value vector, int64_t from, int64_t count) const {
    SmallVector<int64_t> order(count);
    std::iota(order.begin(), order.end(), from);
    return wide.m.shuffle(vector, vector, order);
  }
  void moveTo(int64_t row);
  Value elementsFrom(int64_t place);
  SmallVector<Value> registers();
  SmallVector<Value> results();
};
} // namespace

/// Sets the indices of all reduced axes but the last.
void ShortRows::moveTo(int64_t row) {
  for (auto [axis, extent] :
       llvm::reverse(llvm::zip_equal(over.drop_back(), ArrayRef(extents).drop_back()))) {
    at[axis] = wide.m.constant(row % extent);
    row /= extent;
  }
}

/// The elements of a row from `place` on, which may lie before the row; 0 for those outside.
Value ShortRows::elementsFrom(int64_t place) {
  const auto &[ctx, b, l, m] = wide.parts();
  const int64_t inside = std::clamp<int64_t>(place, 0, size - lanes);
  at[over.back()] = m.constant(0); // channels are one run with it
  at[channelAxis < 0 ? over.back() : channelAxis] = {l.i64(inside), 1, {}, {}};
  Value read = l.splat(l.cast(CastMode::value, emit(wide, op.getValue(), at), element).value);
  if (inside == place)
    return read;
  hasZeros = true;
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < lanes; ++lane) {
    const int64_t from = place + lane;
    order.push_back(from < 0 || from >= size ? lanes : from - inside);
  }
  return m.shuffle(read, zeros(), order);
}

/// The partial sums, those of them added already that lie in different registers: a power of two
/// of sums in all. Sums that have no element are left out.
SmallVector<Value> ShortRows::registers() {
  const int64_t all = partialSums * channels;
  SmallVector<Value> sums(all / lanes);
  int64_t rows = 1;
  for (int64_t extent : ArrayRef(extents).drop_back())
    rows *= extent;
  for (int64_t row = 0; row < rows; ++row) {
    moveTo(row);
    const int64_t begin = row * size % all;
    for (int64_t from = begin / lanes * lanes; from < begin + size; from += lanes) {
      Value &sum = sums[from % all / lanes];
      sum = added(sum, elementsFrom(from - begin));
    }
  }
  while (sums.size() % 2 == 0 && static_cast<int64_t>(sums.size() / 2) * lanes >= channels) {
    const size_t half = sums.size() / 2;
    for (size_t i = 0; i < half; ++i)
      sums[i] = added(sums[i], sums[i + half]);
    sums.truncate(half);
  }
  return sums;
}

/// A vector of partial sums, or for each channel one of its sum.
SmallVector<Value> ShortRows::results() {
  const auto &[ctx, b, l, m] = wide.parts();
  SmallVector<Value> sums = registers();
  if (channels == 1)
    return {hasZeros ? sums[0] : added(sums[0], zeros())};
  Value all;
  for (auto [i, sum] : llvm::enumerate(sums)) {
    const auto count = static_cast<int64_t>(i) * lanes;
    // A 0 for each channel, so that none of their sums is -0.
    Value next = added(sum, count < channels || !sum ? zeros() : Value());
    SmallVector<int64_t> both(count + lanes);
    std::iota(both.begin(), both.end(), 0);
    all = all ? m.shuffle(all, next, both) : next;
  }
  for (int64_t left = static_cast<int64_t>(sums.size()) * lanes; left > channels; left /= 2)
    all = b.create<arith::AddFOp>(l.loc, part(all, 0, left / 2), part(all, left / 2, left / 2));
  SmallVector<Value> each;
  for (int64_t channel = 0; channel < channels; ++channel)
    each.push_back(part(all, channel, 1));
  return each;
}

SmallVector<Value> penstock::conversion::sumShortRows(const Site &site, ReduceOp op,
                                                      SmallVector<Index> &at,
                                                      ArrayRef<int64_t> over, const Beside &beside,
                                                      ArrayRef<Value> extents) {
  SmallVector<int64_t> known;
  for (Value extent : extents)
    known.push_back(*Lanes::constantOf(extent));
  const auto count = static_cast<int64_t>(beside.places.size());
  if (beside.isRun)
    return ShortRows{site, op, at, over, known, beside.axis, count}.results();
  SmallVector<Value> results;
  for (const Index &place : beside.places) {
    if (beside.axis >= 0)
      at[beside.axis] = place;
    results.append(ShortRows{site, op, at, over, known, -1, 1}.results());
  }
  return results;
}
