// SPDX-License-Identifier: Apache-2.0
//
// Squares of elements.
//
// Pieces of 128 bits first, then those as wholes: each step is one instruction of two
// registers.
#include "compiler/Conversion/KernelToLoops/Vector/Transposed.h"

using namespace mlir;
using namespace penstock::conversion;

SmallVector<Value> penstock::conversion::transposed(const Memory &m, ArrayRef<Value> rows,
                                                    int64_t bytes) {
  const auto size = static_cast<int64_t>(rows.size()), piece = 16 / bytes, pieces = size / piece;
  /// Runs of `unit` elements of both in turn, from the first or second half of each piece.
  auto unpack = [&](Value x, Value y, int64_t unit, int64_t half) {
    SmallVector<int64_t> order;
    for (int64_t from = half * piece / 2; from < size; from += piece)
      for (int64_t k = 0; k < piece / 2; k += unit)
        for (int64_t other : {int64_t{0}, size})
          for (int64_t i = 0; i < unit; ++i)
            order.push_back(other + from + k + i);
    return m.shuffle(x, y, order);
  };
  /// As many rows as a piece has elements: halves of pairs become runs twice as long, until each
  /// piece is a column.
  auto columnsOf = [&](auto &self, SmallVector<Value> some, int64_t unit) -> SmallVector<Value> {
    if (some.size() == 1)
      return some;
    SmallVector<Value> result;
    for (int64_t half : {0, 1}) {
      SmallVector<Value> joined;
      for (size_t row = 0; row < some.size(); row += 2)
        joined.push_back(unpack(some[row], some[row + 1], unit, half));
      llvm::append_range(result, self(self, std::move(joined), 2 * unit));
    }
    return result;
  };
  SmallVector<Value> now;
  for (int64_t row = 0; row < size; row += piece)
    llvm::append_range(now, columnsOf(columnsOf, SmallVector<Value>(rows.slice(row, piece)), 1));
  // Whole pieces, counted through both registers.
  auto pick = [&](Value x, Value y, ArrayRef<int64_t> wanted) {
    SmallVector<int64_t> order;
    for (int64_t number : wanted)
      for (int64_t i = 0; i < piece; ++i)
        order.push_back(number * piece + i);
    return m.shuffle(x, y, order);
  };
  SmallVector<Value> columns(now);
  for (int64_t column = 0; column < piece; ++column) {
    auto of = [&](int64_t number) { return now[number * piece + column]; };
    auto to = [&](int64_t number) -> Value & { return columns[number * piece + column]; };
    if (pieces == 2) {
      to(0) = pick(of(0), of(1), {0, 2});
      to(1) = pick(of(0), of(1), {1, 3});
    }
    for (int64_t half = 0; half < 2 && pieces == 4; ++half) {
      Value x = pick(of(0), of(1), {2 * half, 2 * half + 1, 4 + 2 * half, 5 + 2 * half});
      Value y = pick(of(2), of(3), {2 * half, 2 * half + 1, 4 + 2 * half, 5 + 2 * half});
      to(2 * half) = pick(x, y, {0, 2, 4, 6});
      to(2 * half + 1) = pick(x, y, {1, 3, 5, 7});
    }
  }
  return columns;
}
