// SPDX-License-Identifier: Apache-2.0
//
// The kinds of expressions.
#pragma once

#include "dsl/AST/Stage.h"

namespace penstock::dsl {

/// `120_000`. Never negative: a sign is a UnaryExpr.
struct IntLit : ExprOf<ExprKind::Int> {
  int64_t value = 0;
};

/// `1e-6`.
struct FloatLit : ExprOf<ExprKind::Float> {
  double value = 0;
};

/// `25ms`, `1%`. Sema has checked the unit (see Units.h).
struct QuantityLit : ExprOf<ExprKind::Quantity> {
  double value = 0;
  Name unit;
};

struct StringLit : ExprOf<ExprKind::String> {
  std::string value; ///< escapes resolved
};

struct BoolLit : ExprOf<ExprKind::Bool> {
  bool value = false;
};

/// A bare name: a value in scope, or a word such as `rgb`, `w`, `shuffled`
/// where an axis or a choice is expected.
struct NameExpr : ExprOf<ExprKind::Name> {
  std::string name;
};

/// `[a, b]`.
struct ListExpr : ExprOf<ExprKind::List> {
  std::vector<ExprPtr> items;
};

/// `{ image = a, boxes = b }`.
struct RecordExpr : ExprOf<ExprKind::Record> {
  std::vector<FieldSetting> fields;
};

/// `row.data`; also `u8.clamp`, where the base names a type.
struct FieldExpr : ExprOf<ExprKind::Field> {
  ExprPtr base;
  Name field;
};

/// `f(a, b = c)`, `sum(x over [h])`. Sema has checked that the callee is a
/// NameExpr or a FieldExpr.
struct CallExpr : ExprOf<ExprKind::Call> {
  ExprPtr callee;
  ArgList args;
};

/// `x[h = a .. b, w = 0]`.
struct IndexExpr : ExprOf<ExprKind::Index> {
  ExprPtr base;
  std::vector<AxisSetting> settings;
};

enum class UnaryOp { Negate, Not };

struct UnaryExpr : ExprOf<ExprKind::Unary> {
  UnaryOp op = UnaryOp::Negate;
  SourceRange opRange;
  ExprPtr operand;
};

enum class BinaryOp { Or, And, Eq, Ne, Lt, Le, Gt, Ge, In, Add, Sub, Mul, Div, Rem };

/// Returns the operator as a user writes it: `+`, `==`, `in`.
const char *spelling(BinaryOp op);

struct BinaryExpr : ExprOf<ExprKind::Binary> {
  BinaryOp op = BinaryOp::Add;
  SourceRange opRange;
  ExprPtr lhs;
  ExprPtr rhs;
};

/// `a .. b`, `a ..= b`.
struct RangeExpr : ExprOf<ExprKind::Range> {
  bool closed = false;
  SourceRange opRange;
  ExprPtr low;
  ExprPtr high;
};

/// `if c then a else b`.
struct IfExpr : ExprOf<ExprKind::If> {
  ExprPtr condition;
  ExprPtr thenValue;
  ExprPtr elseValue;
};

/// `input |> stage |> stage`.
struct PipeExpr : ExprOf<ExprKind::Pipe> {
  ExprPtr input;
  Chain chain;
};

/// `each (v in 0 .. 2) { ... }`.
struct EachExpr : ExprOf<ExprKind::Each> {
  Bind bind;
  Block body;
};

/// `map (p in x, s in soft) { ... }`.
struct MapExpr : ExprOf<ExprKind::Map> {
  std::vector<Bind> binds;
  Block body;
};

/// `window (v in x, h = -1 ..= 1) { ... }`.
struct WindowExpr : ExprOf<ExprKind::Window> {
  Bind bind;
  std::vector<AxisSetting> extents;
  Block body;
};

/// `search (10) { let .. accept value when condition } else otherwise`.
struct SearchExpr : ExprOf<ExprKind::Search> {
  ExprPtr tries;
  std::vector<LetDecl> lets;
  ExprPtr accepted;
  ExprPtr condition;
  ExprPtr otherwise;
};

/// `draw uniform(0.5 .. 1.5) per [h, w]`.
struct DrawExpr : ExprOf<ExprKind::Draw> {
  Name distribution;
  std::optional<ArgList> args; ///< none: `draw normal`
  std::optional<AxisList> per;
};

} // namespace penstock::dsl
