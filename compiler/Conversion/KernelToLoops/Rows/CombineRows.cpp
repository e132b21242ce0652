// SPDX-License-Identifier: Apache-2.0
//
// The pass across rows.
#include "compiler/Conversion/KernelToLoops/Rows/RowEmitter.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace penstock::conversion;
using arith::CmpIPredicate;

/// Taps of `vectorBytes` elements from `at` on, brought together: four vectors of
/// lanes, in the order that packing puts right again.
SmallVector<Value> RowEmitter::tapsOfRows(ArrayRef<Value> rows, Value at) {
  const int64_t bytes = shape.vectorBytes;
  if (!shape.quads) {
    SmallVector<Value> result;
    for (int64_t half = 0; half < 2; ++half) {
      auto words = [&](Value row) {
        return m.loadPlain(vectorOf(bytes, 16),
                           m.address(row, l.add(l.shl(at, 1), l.i64(half * bytes))));
      };
      Value a = words(rows[0]), c = words(rows[1]);
      result.append({interleave(l, a, c, false), interleave(l, a, c, true)});
    }
    return result;
  }
  auto load = [&](int64_t row) {
    return m.loadPlain(vectorOf(bytes, 8), m.address(rows[row], at));
  };
  Value r0 = load(0), r1 = load(1), r2 = load(2), r3 = load(3);
  SmallVector<Value> result;
  for (bool high : {false, true}) {
    Value front = asElements(l, interleave(l, r0, r1, high), 16);
    Value back = asElements(l, interleave(l, r2, r3, high), 16);
    result.append({interleave(l, front, back, false), interleave(l, front, back, true)});
  }
  return result;
}

/// Four vectors of lanes, clamped to bytes, in order of elements.
void RowEmitter::storeCombined(ArrayRef<Value> vectors, Value place) {
  Value bytes =
      packBytes(l, packWords(l, vectors[0], vectors[1]), packWords(l, vectors[2], vectors[3]));
  const int64_t words = shape.vectorBytes / 8;
  if (!shape.quads && words > 2) {
    // Packing two vectors of words alternates their parts.
    SmallVector<int64_t> mask;
    for (int64_t i = 0; i < words; ++i)
      mask.push_back(i < words / 2 ? 2 * i : 2 * i - words + 1);
    bytes = asElements(l, bytes, 64);
    bytes = m.shuffle(bytes, bytes, mask);
  }
  m.storePlain(bytes, place);
}

/// The current row from rows `first` .. of the ring.
void RowEmitter::combineRows(Value row, Value first) {
  Value steps = field(RowField::rowSteps), mask = field(RowField::mask);
  Value ring = field(RowField::ring), result = field(RowField::result);
  Value words = m.address(field(RowField::rowWords), l.shl(row, 2));
  Value outputs = l.shl(field(RowField::rowOutputs), 2);
  auto rowsOf = [&](Value step) {
    SmallVector<Value> rows;
    for (int64_t tap = 0; tap < shape.taps(); ++tap) {
      Value number = l.add(first, l.add(l.mul(step, l.i64(shape.taps())), l.i64(tap)));
      rows.push_back(m.address(ring, l.mul(l.andInt(number, mask), l.i64(shape.ringRow()))));
    }
    return rows;
  };
  auto digitOf = [&](Value step, int64_t digit) {
    Value plane = l.add(l.mul(step, l.i64(shape.digits())), l.i64(digit));
    Value place = m.address(words, l.mul(plane, outputs));
    return splatOf(l, m.loadPlain(b.getI32Type(), place), shape.lanes());
  };
  bySteps(steps, [&](int64_t fixed) {
    SmallVector<SmallVector<Value>> rows, digits;
    for (int64_t step = 0; step < fixed; ++step) {
      rows.push_back(rowsOf(l.i64(step)));
      digits.emplace_back();
      for (int64_t digit = 0; digit < shape.digits(); ++digit)
        digits.back().push_back(digitOf(l.i64(step), digit));
    }
    loop(l.i64(shape.elements()), shape.vectorBytes, [&](Value at) {
      SmallVector<Value> vectors;
      if (fixed) {
        SmallVector<SmallVector<Value>> taps;
        for (auto &of : rows)
          taps.push_back(tapsOfRows(of, at));
        for (int64_t v = 0; v < 4; ++v)
          vectors.push_back(
              dotAll(l, shape, llvm::map_to_vector(taps, [&](auto &of) { return of[v]; }), 0,
                     [&](size_t step, int64_t digit) { return digits[step][digit]; }));
        storeCombined(vectors, m.address(result, at));
        return;
      }
      SmallVector<Value> sums;
      for (int64_t v = 0; v < 4; ++v)
        sums.append(firstSums(l, shape));
      auto all = b.create<scf::ForOp>(l.loc, l.i64(0), steps, l.i64(1), sums,
                                      [&](OpBuilder &, Location, Value step, ValueRange carried) {
                                        SmallVector<Value> next(carried),
                                            taps = tapsOfRows(rowsOf(step), at);
                                        for (int64_t digit = 0; digit < shape.digits(); ++digit) {
                                          Value weight = digitOf(step, digit);
                                          for (int64_t v = 0; v < 4; ++v) {
                                            Value &sum = next[v * shape.digits() + digit];
                                            sum = addDot(l, shape, sum, taps[v], weight);
                                          }
                                        }
                                        b.create<scf::YieldOp>(l.loc, next);
                                      });
      all->setAttr("pipe.short", b.getUnitAttr());
      for (int64_t v = 0; v < 4; ++v)
        vectors.push_back(
            combineSums(l, shape, all.getResults().slice(v * shape.digits(), shape.digits()), 0));
      storeCombined(vectors, m.address(result, at));
    });
  });
}
