// SPDX-License-Identifier: Apache-2.0
//
// Dot products and packing.
#include "compiler/Conversion/KernelToLoops/Rows/RowStream.h"
#include "compiler/Lane/LaneDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::conversion;

static int64_t sizeOf(Value vector) {
  return llvm::cast<VectorType>(vector.getType()).getNumElements();
}
static unsigned elementBits(Value vector) {
  return llvm::cast<VectorType>(vector.getType()).getElementTypeBitWidth();
}

Value penstock::conversion::constantLanes(const Lanes &l, ArrayRef<int32_t> values) {
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, l.b.getI32Type());
  return l.b.create<arith::ConstantOp>(l.loc, DenseElementsAttr::get(type, values));
}

Value penstock::conversion::splatOf(const Lanes &l, Value scalar, int64_t lanes) {
  return l.b.create<vector::SplatOp>(l.loc, VectorType::get({lanes}, scalar.getType()), scalar);
}

Value penstock::conversion::asElements(const Lanes &l, Value vector, unsigned bits) {
  const int64_t count = sizeOf(vector) * elementBits(vector) / bits;
  return l.b.create<vector::BitCastOp>(l.loc, VectorType::get({count}, l.b.getIntegerType(bits)),
                                       vector);
}

Value penstock::conversion::shuffleParts(const Lanes &l, Value a, Value b,
                                         ArrayRef<int64_t> pattern) {
  const int64_t part = 128 / elementBits(a), size = sizeOf(a);
  SmallVector<int64_t> mask;
  for (int64_t start = 0; start < size; start += part)
    for (int64_t from : pattern)
      mask.push_back(start + from % part + (from >= part ? size : 0));
  return l.b.create<vector::ShuffleOp>(l.loc, a, b, mask);
}

Value penstock::conversion::interleave(const Lanes &l, Value a, Value b, bool high) {
  const int64_t part = 128 / elementBits(a);
  SmallVector<int64_t> pattern;
  for (int64_t i = 0; i < part; ++i)
    pattern.push_back((high ? part / 2 : 0) + i / 2 + (i % 2 ? part : 0));
  return shuffleParts(l, a, b, pattern);
}

Value penstock::conversion::moveBytes(const Lanes &l, bool wide, Value bytes, Value table) {
  Value places = asElements(l, table, 8);
  return wide ? l.b.create<lane::PermuteOp>(l.loc, bytes, places).getResult()
              : l.b.create<lane::ShufflePartsOp>(l.loc, bytes, places).getResult();
}

Value penstock::conversion::addDot(const Lanes &l, const RowShape &shape, Value sum, Value taps,
                                   Value digits) {
  if (shape.quads)
    return l.b.create<lane::DotQuadsOp>(l.loc, sum, asElements(l, taps, 32), digits);
  Value a = asElements(l, taps, 16), b = asElements(l, digits, 16);
  Value products = l.b.create<lane::DotPairsOp>(l.loc, digits.getType(), a, b);
  return l.b.create<arith::AddIOp>(l.loc, sum, products);
}

SmallVector<Value> penstock::conversion::firstSums(const Lanes &l, const RowShape &shape) {
  SmallVector<Value> sums;
  for (int64_t digit = 0; digit < shape.digits(); ++digit) {
    // Half of a unit of the result, before the last shift.
    const int32_t first = digit + 1 == shape.digits() ? 1 << 21 : 0;
    sums.push_back(constantLanes(l, SmallVector<int32_t>(shape.lanes(), first)));
  }
  return sums;
}

Value penstock::conversion::combineSums(const Lanes &l, const RowShape &shape, ValueRange sums,
                                        int64_t spare) {
  Value sum = sums[0];
  for (Value next : sums.drop_front())
    sum = l.b.create<arith::AddIOp>(l.loc, l.shl(sum, shape.quads ? 8 : 11), next);
  return l.b.create<arith::ShRSIOp>(l.loc, sum, l.integerLike(sum, 22 - spare));
}

Value penstock::conversion::dotAll(const Lanes &l, const RowShape &shape, ArrayRef<Value> taps,
                                   int64_t spare,
                                   llvm::function_ref<Value(size_t, int64_t)> digitOf) {
  if (!shape.quads) {
    SmallVector<Value> sums = firstSums(l, shape);
    for (size_t step = 0; step < taps.size(); ++step)
      for (int64_t digit = 0; digit < shape.digits(); ++digit)
        sums[digit] = addDot(l, shape, sums[digit], taps[step], digitOf(step, digit));
    return combineSums(l, shape, sums, spare);
  }
  // Horner's rule: the accumulator is shifted on instead of being added.
  Value sum = constantLanes(l, SmallVector<int32_t>(shape.lanes(), 1 << 5));
  for (int64_t digit = 0; digit < shape.digits(); ++digit) {
    if (digit)
      sum = l.shl(sum, 8);
    for (size_t step = 0; step < taps.size(); ++step)
      sum = addDot(l, shape, sum, taps[step], digitOf(step, digit));
  }
  return l.b.create<arith::ShRSIOp>(l.loc, sum, l.integerLike(sum, 22 - spare));
}

Value penstock::conversion::packWords(const Lanes &l, Value a, Value b) {
  auto type = VectorType::get({2 * sizeOf(a)}, l.b.getIntegerType(16));
  return l.b.create<lane::PackOp>(l.loc, type, a, b);
}

Value penstock::conversion::packBytes(const Lanes &l, Value a, Value b) {
  auto type = VectorType::get({2 * sizeOf(a)}, l.b.getI8Type());
  return l.b.create<lane::PackOp>(l.loc, type, a, b);
}
