// SPDX-License-Identifier: Apache-2.0
//
// The tree of a `.pipe` file, exactly as written: no types, nothing resolved.
//
// One header in place of many: the node kinds refer to each other throughout,
// and whoever walks the tree needs all of them. Expressions are in Expr.h,
// declarations here.
#pragma once

#include "dsl/AST/Expr.h"

#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

namespace penstock::dsl {

/// `root: path`, `size: int = 224`.
struct Param {
  SourceRange range;
  std::string doc;
  Name name;
  TypeExpr type;
  ExprPtr defaultValue; ///< null: the caller must give it
};

/// `const hop: duration = 10ms`.
struct ConstDecl {
  SourceRange range;
  std::string doc;
  bool isPublic = false; ///< `pub`: seen by files that use the module
  Name name;
  std::optional<TypeExpr> type;
  ExprPtr value;
};

/// `E: (u8, f32)` in `fn grain[E: (u8, f32)](...)`.
struct GenericParam {
  SourceRange range;
  Name name;
  std::vector<Name> elements;
};

/// A function. Several of one name make a set of overloads, in file order.
///
/// A parameter type `E[h, w, c]` matches every tensor that has at least these
/// axes, `E[]` every tensor. An axis named in a parameter type binds its extent
/// as an int in the body.
struct FnDecl {
  SourceRange range;
  std::string doc;
  bool isPublic = false; ///< `pub`: seen by files that use the module
  Name name;
  std::vector<GenericParam> generics;
  std::vector<Param> params;
  TypeExpr result;
  Block body; ///< `= expr` is a block without lets
};

enum class BatchScope { Unstated, PerRank, Global };

/// `output image: f16[n, c, h, w] stored [n, h, w, c] on gpu = pixels`.
struct OutputDecl {
  SourceRange range;
  std::string doc;
  Name name;
  TypeExpr type;
  std::optional<AxisList> stored;
  ExprPtr pad; ///< null: none
  std::optional<SourceRange> ragged;
  std::optional<Place> place;
  ExprPtr value;
};

/// `<= 1_000_000 elements by row.samples buckets 8`.
struct ByLength {
  SourceRange range;
  ExprPtr length; ///< of a row
  ExprPtr buckets;
};

/// `batch 512 global last drop { ... }`.
struct BatchDecl {
  SourceRange range;
  SourceRange keyword;
  ExprPtr size; ///< by length, the most elements
  std::optional<ByLength> byLength;
  BatchScope scope = BatchScope::Unstated;
  std::optional<Name> last; ///< `drop` or `keep`
  std::vector<std::variant<LetDecl, OutputDecl>> items;
};

/// `seed = 7` after `with`.
struct OptionSetting {
  SourceRange range;
  Name name;
  ExprPtr value;
};

struct PipelineDecl {
  SourceRange range;
  std::string doc;
  Name name;
  std::vector<Param> params;
  std::vector<OptionSetting> options;
  std::vector<LetDecl> tableLets; ///< before `for`
  Name row;                       ///< `row` in `for row in ...`
  ExprPtr source;
  ExprPtr where; ///< null: every row
  ExprPtr order; ///< null: sequential
  std::vector<LetDecl> sampleLets;
  BatchDecl batch;
};

/// One module or user file. After a syntax error (only then) the value of a
/// `let` or `output` and the result of a block may be null. Pointers into it
/// stay valid while it lives: after parsing, none of its lists changes.
struct File {
  FileId id;
  std::string moduleName; ///< empty for the user's file
  int64_t version = 1;
  SourceRange versionRange;
  std::vector<Name> uses;
  std::vector<ConstDecl> consts;
  std::vector<FnDecl> fns;
  std::vector<PipelineDecl> pipelines;
  /// All names in statements with a syntax error: what they declare or would
  /// have used is not known, and nothing is said about them.
  std::set<std::string, std::less<>> unread;
};

} // namespace penstock::dsl
