// SPDX-License-Identifier: Apache-2.0
//
// Interleaved and bordered runs of small elements.
//
// A run of elements that lie a few bytes apart, forwards or backwards, is read
// as windows of 16 bytes with four lanes each. One byte shuffle takes a lane's
// bytes out, mirrors them and widens them to 32 bits, and gives zeros where a
// border has cut lanes off: such a window is moved to where memory begins, and
// its shuffle by as much.
#include "compiler/Conversion/KernelToLoops/Vector/LanePixels.h"
#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::conversion;
using arith::CmpIPredicate;

static constexpr int64_t windowBytes = 16, windowLanes = 4;

/// Which byte of a window goes where; 0x80 gives a zero.
static SmallVector<int8_t> patternOf(int64_t size, int64_t bytes, int64_t phase) {
  SmallVector<int8_t> pattern(windowBytes, -128);
  for (int64_t lane = 0; lane < windowLanes; ++lane)
    for (int64_t byte = 0; byte < size; ++byte)
      pattern[lane * 4 + byte] = static_cast<int8_t>(
          (bytes < 0 ? windowLanes - 1 - lane : lane) * std::abs(bytes) + phase + byte);
  return pattern;
}

Value Memory::liveMask(const LiveLanes &live) const {
  // In 32 bits: a lane number beyond them is beyond all lanes anyway.
  auto bound = [&](Value number) {
    Value near = l.maxS(l.minS(number, l.i64(l.lanes)), l.i64(-1));
    return l.splat(l.b.create<arith::TruncIOp>(l.loc, l.b.getI32Type(), near));
  };
  Value lane = laneNumbers(l);
  return l.andInt(l.cmp(CmpIPredicate::sge, lane, bound(live.first)),
                  l.cmp(CmpIPredicate::sle, lane, bound(live.last)));
}

/// The windows' offsets from lane 0 and, as bytes, how far each was moved and
/// where memory ends. All in vectors: it happens for every image, if not for
/// every row.
namespace {
struct Edges {
  Value starts;        // i32 per window
  Value moves, limits; // the same as bytes
  Value beyond;        // what i32 does not hold of the first offset
};
} // namespace

static Edges edgesOf(const Lanes &l, const LiveLanes &live, ArrayRef<int32_t> wanted,
                     int64_t bytes) {
  OpBuilder &b = l.b;
  const int64_t count = static_cast<int64_t>(wanted.size()), large = int64_t{1} << 30;
  auto type = VectorType::get({count}, b.getI32Type());
  auto all = [&](Value number) -> Value {
    Value near = l.maxS(l.minS(number, l.i64(large)), l.i64(-large));
    return b.create<vector::SplatOp>(l.loc, type,
                                     b.create<arith::TruncIOp>(l.loc, b.getI32Type(), near));
  };
  Value low = l.mul(bytes > 0 ? live.first : live.last, l.i64(bytes));
  Value high = l.mul(bytes > 0 ? live.last : live.first, l.i64(bytes));
  Value at = b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(type, wanted));
  auto asBytes = [&](Value numbers) -> Value {
    Value small = l.minS(l.maxS(numbers, l.integerLike(numbers, 0)), l.integerLike(numbers, 127));
    return b.create<vector::BitCastOp>(l.loc, VectorType::get({4 * count}, b.getI8Type()), small);
  };
  Edges edges;
  edges.starts = l.maxS(l.minS(at, all(high)), all(low));
  edges.moves = asBytes(b.create<arith::SubIOp>(l.loc, edges.starts, at));
  edges.limits =
      asBytes(b.create<arith::SubIOp>(l.loc, all(l.add(high, l.i64(std::abs(bytes)))), at));
  // A window without a live lane reads the element at `low` or `high`.
  edges.beyond = l.add(l.maxS(l.sub(low, l.i64(large)), l.i64(0)),
                       l.minS(l.add(high, l.i64(large)), l.i64(0)));
  return edges;
}

Value Memory::loadWindows(const Buffer &buffer, Value base, int64_t size, int64_t bytes,
                          int64_t phase) const {
  OpBuilder &b = l.b;
  const int64_t apart = std::abs(bytes), count = l.lanes / windowLanes;
  // Up to a window less one byte is read behind the last element, also of live lanes.
  if (!buffer.constant && !buffer.roomy)
    return {};
  if (l.lanes % windowLanes || size > 4 || apart < size ||
      (windowLanes - 1) * apart + phase + size > windowBytes)
    return {};
  // Of two windows in a register the elements are taken at once.
  const int64_t group = l.has.registerBytes >= 2 * windowBytes && count % 2 == 0 ? 2 : 1;
  auto windowType = VectorType::get({windowBytes}, b.getI8Type());
  auto groupType = VectorType::get({group * windowBytes}, b.getI8Type());
  auto join = [&](ArrayRef<Value> parts, int64_t size) {
    Value whole = parts[0];
    for (size_t part = 1; part < parts.size(); ++part) {
      SmallVector<int64_t> mask((part + 1) * size);
      for (size_t i = 0; i < mask.size(); ++i)
        mask[i] = static_cast<int64_t>(i);
      whole = shuffle(whole, parts[part], mask);
    }
    return whole;
  };
  const SmallVector<int8_t> one = patternOf(size, bytes, phase);
  SmallVector<int8_t> both(one);
  if (group == 2)
    both.append(one);
  Value pattern =
      b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(groupType, ArrayRef<int8_t>(both)));
  // Distances are from lane 0: they do not depend on the row, and masks leave
  // the loop over rows.
  SmallVector<int32_t> wanted;
  for (int64_t window = 0; window < count; ++window)
    wanted.push_back(
        static_cast<int32_t>((window * windowLanes + (bytes < 0 ? windowLanes - 1 : 0)) * bytes));
  Edges edges;
  if (live)
    edges = edgesOf(l, *live, wanted, bytes);
  Value start = address(buffer.pointer, base);
  if (live)
    start = address(start, edges.beyond);
  SmallVector<Value> groups;
  for (int64_t first = 0; first < count; first += group) {
    SmallVector<Value> windows;
    SmallVector<int64_t> ofWindow;
    for (int64_t window = first; window < first + group; ++window) {
      Value offset = l.i64(wanted[window]);
      if (live)
        offset = b.create<arith::ExtSIOp>(l.loc, b.getI64Type(),
                                          b.create<vector::ExtractOp>(l.loc, edges.starts, window));
      windows.push_back(loadPlain(windowType, address(start, offset), buffer.constant));
      ofWindow.append(windowBytes, 4 * window);
    }
    Value mask = pattern;
    if (live) {
      // Left of memory indices fall below 0, where a shuffle gives zeros too.
      mask = intrinsic(l, "llvm.ssub.sat.v" + std::to_string(group * windowBytes) + "i8", groupType,
                       {mask, shuffle(edges.moves, edges.moves, ofWindow)});
      Value beyond =
          l.cmp(CmpIPredicate::sge, pattern, shuffle(edges.limits, edges.limits, ofWindow));
      mask = l.orInt(mask, b.create<arith::ExtSIOp>(l.loc, groupType, beyond));
    }
    Value taken = b.create<lane::ShufflePartsOp>(l.loc, join(windows, windowBytes), mask);
    groups.push_back(b.create<vector::BitCastOp>(
        l.loc, VectorType::get({group * windowLanes}, b.getI32Type()), taken));
  }
  return join(groups, group * windowLanes);
}

Value Memory::loadPixels(const Buffer &buffer, ArrayRef<Index> at, Value base) const {
  constexpr int64_t channels = 3;
  const int64_t bytes = l.has.registerBytes, count = bytes / 4;
  const size_t rank = at.size();
  if (!l.has.permuteBytes || !l.has.dotQuads || l.lanes % count || rank < 2 ||
      !buffer.element.isUnsignedInteger(8))
    return {};
  const int64_t step = at[rank - 2].stride;
  if (buffer.known[rank - 1] != 1 || buffer.known[rank - 2] != channels || !at[rank - 2].affine() ||
      std::abs(step) != 1)
    return {};
  for (size_t axis = 0; axis < rank; ++axis)
    if (axis != rank - 2 && !at[axis].uniform())
      return {};
  auto channel = Lanes::constantOf(at[rank - 1].base);
  if (!channel || *channel < 0 || *channel >= channels)
    return {};
  OpBuilder &b = l.b;
  auto type = VectorType::get({bytes}, b.getI8Type()),
       maskType = VectorType::get({bytes}, b.getI1Type());
  SmallVector<bool> exist(bytes, false);
  std::fill_n(exist.begin(), count * channels, true);
  Value mask =
      b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(maskType, ArrayRef<bool>(exist)));
  Value zero = b.create<arith::ConstantOp>(l.loc, b.getZeroAttr(type));
  SmallVector<int64_t> order;
  for (int64_t lane = 0; lane < count; ++lane)
    for (int64_t byte : {0, 1, 1, 2})
      order.push_back(channels * (step < 0 ? count - 1 - lane : lane) + byte);
  Value whole;
  for (int64_t first = 0; first < l.lanes; first += count) {
    const int64_t from = channels * (step < 0 ? 1 - first - count : first);
    Value part = b.create<LLVM::MaskedLoadOp>(
        l.loc, type, address(buffer.pointer, l.add(base, l.i64(from))), mask, ValueRange{zero}, 1);
    Value pixels = b.create<vector::BitCastOp>(l.loc, VectorType::get({count}, b.getI32Type()),
                                               shuffle(part, part, order));
    SmallVector<int64_t> all;
    for (int64_t i = 0; i < first + count; ++i)
      all.push_back(i);
    whole = whole ? shuffle(whole, pixels, all) : pixels;
  }
  return earlierEqual(whole);
}
