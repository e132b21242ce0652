// SPDX-License-Identifier: Apache-2.0
//
// The nodes of the tree: what expressions and stages have in common, types, and
// the parts that several kinds of expression share.
//
// A node owns its children. Expressions and stages differ by `kind`; ask with
// `as<T>()`, or switch over `kind` and use `cast<T>()`:
//
//     if (const auto *call = expr.as<CallExpr>())
//       elaborate(*call->callee, call->args);
//
// `range` covers the node from its first to its last token. Parentheses leave
// no node: `(a + b)` has the range of `a + b`.
#pragma once

#include "dsl/Diagnostics/Source.h"

#include <cassert>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::dsl {

struct Name {
  std::string text;
  SourceRange range;
};

/// `[h, w]` after `over`, `per` or `stored`.
struct AxisList {
  SourceRange range;
  std::vector<Name> axes;
};

// clang-format off: in groups
enum class ExprKind {
  Int, Float, Quantity, String, Bool, Name, // leaves
  List, Record, Field, Call, Index, Unary, Binary, Range, If, Pipe,
  Each, Map, Window, Search, Draw,
};
// clang-format on

struct Expr {
  const ExprKind kind;
  SourceRange range;

  virtual ~Expr() = default;
  Expr(const Expr &) = delete;
  Expr &operator=(const Expr &) = delete;

  /// This node as a T, or null if it is another kind.
  template <typename T> const T *as() const {
    return kind == T::Kind ? static_cast<const T *>(this) : nullptr;
  }
  template <typename T> const T &cast() const {
    assert(kind == T::Kind);
    return static_cast<const T &>(*this);
  }

protected:
  explicit Expr(ExprKind kind) : kind(kind) {}
};
using ExprPtr = std::unique_ptr<Expr>;

/// Gives a node its kind: `struct IntLit : ExprOf<ExprKind::Int>`.
template <ExprKind K> struct ExprOf : Expr {
  static constexpr ExprKind Kind = K;
  ExprOf() : Expr(K) {}
};

// --- Types ------------------------------------------------------------------

enum class ExtentKind {
  Free,   ///< `h`
  Exact,  ///< `h = 224`
  AtMost, ///< `k <= 200`
};

/// `c = 3: rgb` in a tensor type.
struct AxisType {
  SourceRange range;
  Name name;
  ExtentKind extentKind = ExtentKind::Free;
  ExprPtr extent; ///< null for Free
  std::optional<Name> metadata;
};

struct FieldType;

/// `int`, `u8[h, w, c: rgb]`, `E[]` or `{ data: bytes, label: i64 }`.
struct TypeExpr {
  enum class Kind { Scalar, Tensor, Record };

  Kind kind = Kind::Scalar;
  SourceRange range;
  Name name;                     ///< scalar or element type; empty for a record
  std::vector<AxisType> axes;    ///< may be empty for a tensor too: `E[]`
  std::vector<FieldType> fields; ///< of a record
};

struct FieldType {
  SourceRange range;
  Name name;
  TypeExpr type;
};

// --- Parts shared by expressions --------------------------------------------

/// `root`, `scale = 0.08 .. 1.0` between the parentheses of a call.
struct Arg {
  SourceRange range;
  std::optional<Name> name;
  ExprPtr value;
};

/// Between parentheses; `over` follows the first argument.
struct ArgList {
  SourceRange range; ///< with the parentheses
  std::vector<Arg> args;
  std::optional<AxisList> over;
};

/// `p in x`.
struct Bind {
  SourceRange range;
  Name name;
  ExprPtr domain;
};

/// `h = -1 ..= 1`: an axis with what is asked of it. In the type of bytes that are
/// decoded, `f32[k, f = 4]`, one may stand alone: its value is null.
struct AxisSetting {
  SourceRange range;
  Name axis;
  ExprPtr value;
};

struct FieldSetting {
  SourceRange range;
  Name name;
  ExprPtr value;
};

/// `let x: f32[c] = expr`, in a block, a pipeline or a batch.
struct LetDecl {
  SourceRange range;
  std::string doc;
  Name name;
  std::optional<TypeExpr> type;
  ExprPtr value;
};

/// `{ expr }` or `{ let a = .. return expr }`.
struct Block {
  SourceRange range;
  std::vector<LetDecl> lets;
  ExprPtr result;
};

} // namespace penstock::dsl
