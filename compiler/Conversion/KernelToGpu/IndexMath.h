// SPDX-License-Identifier: Apache-2.0
//
// Index arithmetic that repeats nothing.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <map>
#include <vector>

namespace penstock::conversion {

/// Arithmetic on indices, folded where it is known. What was computed before,
/// in this region or one around it, is not computed again: equal indices are
/// the same value, so that elements can be remembered by their indices.
class IndexMath {
public:
  explicit IndexMath(mlir::OpBuilder &builder) : b(builder), loc(builder.getUnknownLoc()) {
    known.emplace_back();
  }

  mlir::Location &location() { return loc; }

  mlir::Value constant(int64_t value);
  mlir::Value add(mlir::Value a, mlir::Value c);
  mlir::Value sub(mlir::Value a, mlir::Value c);
  mlir::Value mul(mlir::Value a, mlir::Value c);
  mlir::Value min(mlir::Value a, mlir::Value c);
  mlir::Value max(mlir::Value a, mlir::Value c);
  /// Rounds down; 0 for a divisor 0.
  mlir::Value floorDiv(mlir::Value a, mlir::Value c);
  mlir::Value both(mlir::Value a, mlir::Value c);
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value c);
  /// 0 <= index < extent.
  mlir::Value inside(mlir::Value index, mlir::Value extent);
  mlir::Value affine(mlir::AffineExpr expr, llvm::ArrayRef<mlir::Value> dims,
                     llvm::ArrayRef<mlir::Value> symbols);
  mlir::Value toIndex(mlir::Value i64);
  mlir::Value toI64(mlir::Value index);

  static std::optional<int64_t> constantOf(mlir::Value value);

  //===--- memory of what was made -----------------------------------------===//
  /// What stands for a computation: an address or a number, then operands.
  using Key = std::vector<const void *>;
  mlir::Value find(const Key &key) const;
  mlir::Value remember(const Key &key, mlir::Value value) {
    known.back()[key] = value;
    return value;
  }
  /// Values made while a Scope lives are forgotten with it: they stand in a
  /// region.
  class Scope {
  public:
    explicit Scope(IndexMath &math) : math(math) { math.known.emplace_back(); }
    ~Scope() { math.known.pop_back(); }
    Scope(const Scope &) = delete;

  private:
    IndexMath &math;
  };
  /// Constants are put at the start of this block.
  void constantsIn(mlir::Block *block) { top = block; }

private:
  template <typename Op> mlir::Value make(mlir::Value a, mlir::Value c);
  mlir::Value settle(mlir::Value made);

  mlir::OpBuilder &b;
  mlir::Location loc;
  mlir::Block *top = nullptr;
  std::map<int64_t, mlir::Value> constants;
  std::vector<std::map<Key, mlir::Value>> known;
};

} // namespace penstock::conversion
