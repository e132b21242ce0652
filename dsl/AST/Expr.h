// Expressions, stages and types of the tree.
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

/// Between parentheses; `over` follows exactly one argument.
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

/// `h = -1 ..= 1`: an axis with what is asked of it.
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

// --- Stages of a `|>` chain -------------------------------------------------

enum class Target { Cpu, Gpu, Auto };

/// `on gpu`.
struct Place {
  SourceRange range;
  Target target = Target::Auto;
};

enum class StageKind { Call, Group, Choose, Repeat };

/// One step after `|>`; it takes the value so far and gives the next one.
struct Stage {
  const StageKind kind;
  SourceRange range; ///< with the trailing `if` and `on`
  ExprPtr condition; ///< of a trailing `if`; null: always
  std::optional<Place> place;

  virtual ~Stage() = default;
  Stage(const Stage &) = delete;
  Stage &operator=(const Stage &) = delete;

  template <typename T> const T *as() const {
    return kind == T::Kind ? static_cast<const T *>(this) : nullptr;
  }
  template <typename T> const T &cast() const {
    assert(kind == T::Kind);
    return static_cast<const T &>(*this);
  }

protected:
  explicit Stage(StageKind kind) : kind(kind) {}
};
using Chain = std::vector<std::unique_ptr<Stage>>; ///< at least one stage

template <StageKind K> struct StageOf : Stage {
  static constexpr StageKind Kind = K;
  StageOf() : Stage(K) {}
};

/// `flip(w)`, `grayscale`, `u8.clamp`: the value goes before the arguments.
struct CallStage : StageOf<StageKind::Call> {
  std::vector<Name> path;      ///< one name, or several joined by dots
  std::optional<ArgList> args; ///< none: no parentheses were written
};

/// `{ a |> b }`.
struct GroupStage : StageOf<StageKind::Group> {
  Chain chain;
};

/// `choose { 2 => a |> b, 1 => c }`.
struct ChooseStage : StageOf<StageKind::Choose> {
  struct Arm {
    SourceRange range;
    ExprPtr weight;
    Chain chain;
  };
  std::vector<Arm> arms;
};

/// `repeat(n) { chain }`.
struct RepeatStage : StageOf<StageKind::Repeat> {
  ExprPtr count;
  Chain chain;
};

// --- Expressions ------------------------------------------------------------

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

enum class BinaryOp {
  Or,
  And,
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,
  In,
  Add,
  Sub,
  Mul,
  Div,
  Rem
};

/// How a user writes it: `+`, `==`, `in`.
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
