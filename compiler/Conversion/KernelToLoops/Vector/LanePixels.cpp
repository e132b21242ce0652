// SPDX-License-Identifier: Apache-2.0
//
// Bytes of pixels: tables and dot products.
//
// Pixels of three bytes lie in the lanes as they do in memory, only with the
// middle byte twice. One look-up then serves all channels, and a weighted sum of
// them is a dot product of bytes.
#include "compiler/Conversion/KernelToLoops/Vector/LanePixels.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::pipe;
using namespace penstock::conversion;

static SmallVector<int64_t> upFrom(int64_t first, int64_t count) {
  SmallVector<int64_t> all(count);
  for (int64_t i = 0; i < count; ++i)
    all[i] = first + i;
  return all;
}

//===--- weighted sums --------------------------------------------------------------===//

namespace {
/// A weight as 256 * high + low with both in a signed byte.
struct Digits {
  int64_t high, low;
  explicit Digits(int64_t weight)
      : high((weight - static_cast<int8_t>(weight)) / 256), low(static_cast<int8_t>(weight)) {}
};
} // namespace

/// Returns the factors of the four bytes, as digits.
static std::array<Digits, 4> digitsOf(const PixelSum &sum) {
  const int64_t half = sum.weights[1] >> 1;
  return {Digits(sum.weights[0]), Digits(half), Digits(sum.weights[1] - half),
          Digits(sum.weights[2])};
}

PixelSum penstock::conversion::pixelSum(BinaryKind kind, const LaneValue &a, const LaneValue &c) {
  if (!a.type.isSignlessInteger(32))
    return {};
  auto constantIn = [](const LaneValue &value) -> std::optional<int64_t> {
    if (value.range.low != value.range.high)
      return std::nullopt;
    return static_cast<int64_t>(value.range.low);
  };
  PixelSum sum = a.sum.pixels ? a.sum : c.sum;
  const LaneValue &other = a.sum.pixels ? c : a;
  auto number = constantIn(other);
  if (!sum.pixels)
    return {};
  if (kind == BinaryKind::add && number) {
    sum.constant += *number;
  } else if (kind == BinaryKind::add && other.sum.pixels == sum.pixels) {
    for (size_t channel = 0; channel < 3; ++channel)
      sum.weights[channel] += other.sum.weights[channel];
    sum.constant += other.sum.constant;
  } else if (kind == BinaryKind::mul && number && std::abs(*number) <= 0xFFFF) {
    for (int64_t &weight : sum.weights)
      weight *= *number;
    sum.constant *= *number;
  } else {
    return {};
  }
  const bool fits =
      std::abs(sum.constant) <= 0x7FFFFFFF &&
      llvm::all_of(digitsOf(sum), [](Digits d) { return d.high >= -128 && d.high <= 127; });
  return fits ? sum : PixelSum();
}

Value penstock::conversion::dotProduct(const Lanes &l, const PixelSum &sum) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  const std::array<Digits, 4> digits = digitsOf(sum);
  auto quad = [&](int64_t Digits::*place) {
    uint32_t bytes = 0;
    for (size_t byte = 0; byte < 4; ++byte)
      bytes |= static_cast<uint32_t>(static_cast<uint8_t>(digits[byte].*place)) << (8 * byte);
    return static_cast<int32_t>(bytes);
  };
  return perRegister(l, sum.pixels, [&](ValueRange parts) -> Value {
    Value pixels = parts[0];
    auto add = [&](Value sofar, int64_t Digits::*place) {
      return b
          .create<penstock::lane::DotQuadsOp>(loc, sofar, pixels,
                                              l.integerLike(pixels, quad(place)))
          .getResult();
    };
    if (!quad(&Digits::high))
      return add(l.integerLike(pixels, sum.constant), &Digits::low);
    Value high = l.shl(add(l.integerLike(pixels, sum.constant >> 8), &Digits::high), 8);
    if (sum.constant & 255)
      high = l.orInt(high, l.integerLike(high, sum.constant & 255));
    return add(high, &Digits::low);
  });
}

//===--- tables -----------------------------------------------------------------------===//

LaneValue penstock::conversion::lookUp(const Lanes &l, const ByteTable &table,
                                       const LaneValue &index) {
  OpBuilder &b = l.b;
  const Location loc = l.loc;
  auto type = VectorType::get({l.has.registerBytes}, b.getI8Type());
  auto find = [&](Value at) -> Value {
    auto half = [&](Value low, Value high) {
      return b.create<penstock::lane::PermuteTwoOp>(loc, low, high, at).getResult();
    };
    Value low = half(table[0], table[1]), high = half(table[2], table[3]);
    return l.pick(l.cmp(arith::CmpIPredicate::slt, at, l.integerLike(at, 0)), high, low);
  };
  LaneValue result = l.wrap({}, index.type);
  if (!index.sum.pixels || index.sum.constant || llvm::count(index.sum.weights, 0) != 2 ||
      llvm::count(index.sum.weights, 1) != 1) {
    const int64_t count = llvm::cast<VectorType>(index.value.getType()).getNumElements();
    SmallVector<int64_t> whole;
    for (int64_t i = 0; i < l.has.registerBytes; ++i)
      whole.push_back(i % count);
    result.value = find(b.create<vector::ShuffleOp>(loc, index.value, index.value, whole));
    result.value = b.create<vector::ShuffleOp>(loc, result.value, result.value, upFrom(0, count));
    return result;
  }
  Value pixels = earlierEqual(perRegister(l, index.sum.pixels, [&](ValueRange parts) -> Value {
    Value part = parts[0];
    Value found = find(b.create<vector::BitCastOp>(loc, type, part));
    return b.create<vector::BitCastOp>(loc, part.getType(), found);
  }));
  result.sum = {pixels, index.sum.weights};
  result.wide = index.sum.weights[2] ? l.shrU(pixels, 24)
                                     : l.andInt(index.sum.weights[1] ? l.shrU(pixels, 8) : pixels,
                                                l.integerLike(pixels, 255));
  result.value = b.create<arith::TruncIOp>(loc, l.like(pixels, b.getI8Type()), result.wide);
  return result;
}

/// Loads count as equal within a block: nothing that a nest reads is written in
/// it.
static bool same(Value x, Value y, llvm::DenseSet<std::pair<Value, Value>> &seen) {
  if (x == y || seen.contains({x, y}))
    return true;
  Operation *a = x.getDefiningOp(), *c = y.getDefiningOp();
  if (!a || !c || a->getBlock() != c->getBlock() || a->getName() != c->getName() ||
      a->getNumRegions() || a->getNumResults() != 1 || x.getType() != y.getType() ||
      a->getAttrDictionary() != c->getAttrDictionary() ||
      a->getNumOperands() != c->getNumOperands())
    return false;
  for (auto [left, right] : llvm::zip(a->getOperands(), c->getOperands()))
    if (!same(left, right, seen))
      return false;
  seen.insert({x, y});
  return true;
}

Value penstock::conversion::earlierEqual(Value fresh) {
  Operation *made = fresh.getDefiningOp();
  llvm::DenseSet<std::pair<Value, Value>> seen;
  for (Operation &earlier : *made->getBlock()) {
    if (&earlier == made)
      break;
    if (earlier.getName() == made->getName() && same(earlier.getResult(0), fresh, seen))
      return earlier.getResult(0);
  }
  return fresh;
}
