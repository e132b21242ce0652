// SPDX-License-Identifier: Apache-2.0
//
// Index arithmetic that repeats nothing.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <map>
#include <vector>

namespace penstock::conversion {

/// Index computations that exist already where code is emitted, by region.
class KnownIndices {
public:
  /// Constants are put at the start of `top`.
  explicit KnownIndices(mlir::Block *top) : top(top) { known.emplace_back(); }

  /// The identity of a computation: an address or a number, then operands.
  using Key = std::vector<const void *>;

private:
  friend class IndexMath;
  mlir::Block *top;
  std::map<int64_t, mlir::Value> constants;
  std::vector<std::map<Key, mlir::Value>> known;
};

/// Arithmetic on indices at a location, folded where it is known. What was computed before,
/// in this region or one around it, is not computed again: equal indices are
/// the same value, so that elements can be remembered by their indices.
class IndexMath {
public:
  IndexMath(mlir::OpBuilder &builder, mlir::Location loc, KnownIndices &memory)
      : b(builder), loc(loc), memory(memory) {}

  mlir::Value constant(int64_t value) const;
  mlir::Value add(mlir::Value a, mlir::Value c) const;
  mlir::Value sub(mlir::Value a, mlir::Value c) const;
  mlir::Value mul(mlir::Value a, mlir::Value c) const;
  mlir::Value min(mlir::Value a, mlir::Value c) const;
  mlir::Value max(mlir::Value a, mlir::Value c) const;
  /// Rounds down; 0 for a divisor 0.
  mlir::Value floorDiv(mlir::Value a, mlir::Value c) const;
  mlir::Value both(mlir::Value a, mlir::Value c) const;
  mlir::Value compare(mlir::arith::CmpIPredicate predicate, mlir::Value a, mlir::Value c) const;
  /// 0 <= index < extent.
  mlir::Value inside(mlir::Value index, mlir::Value extent) const;
  mlir::Value affine(mlir::AffineExpr expr, llvm::ArrayRef<mlir::Value> dims,
                     llvm::ArrayRef<mlir::Value> symbols) const;
  mlir::Value toIndex(mlir::Value i64) const;
  mlir::Value toI64(mlir::Value index) const;

  static std::optional<int64_t> constantOf(mlir::Value value);

  //===--- memory of what was made -----------------------------------------===//
  using Key = KnownIndices::Key;
  mlir::Value find(const Key &key) const;
  mlir::Value remember(const Key &key, mlir::Value value) const {
    memory.known.back()[key] = value;
    return value;
  }
  /// Values made while a Scope lives are forgotten with it: they stand in a
  /// region.
  class Scope {
  public:
    explicit Scope(const IndexMath &math) : memory(math.memory) { memory.known.emplace_back(); }
    ~Scope() { memory.known.pop_back(); }
    Scope(const Scope &) = delete;

  private:
    KnownIndices &memory;
  };

private:
  template <typename Op> mlir::Value make(mlir::Value a, mlir::Value c) const;
  mlir::Value settle(mlir::Value made) const;

  mlir::OpBuilder &b;
  mlir::Location loc;
  KnownIndices &memory;
};

} // namespace penstock::conversion
