// SPDX-License-Identifier: Apache-2.0
//
// A user's file with the modules it uses, and which names each file sees.
#pragma once

#include "dsl/AST/AST.h"

#include <map>
#include <memory>
#include <string_view>

namespace penstock::dsl {

/// The module that every file uses without saying so.
inline constexpr std::string_view preludeName = "prelude";

/// Everything one compilation needs. Files do not move while it lives.
///
/// Names are looked up from the file in which they stand: its own first, then
/// what is `pub` in the modules it uses in the order written, the prelude last.
/// Names that a module gets by its own `use` are not passed on.
struct Program {
  std::unique_ptr<File> main;
  std::map<std::string, std::shared_ptr<const File>, std::less<>>
      modules; ///< by name; several programs may share one

  /// The overloads of a function as `from` sees them, first match first.
  std::vector<const FnDecl *> findFns(const File &from, std::string_view name) const;
  /// The constant that `from` sees under this name, or null.
  const ConstDecl *findConst(const File &from, std::string_view name) const;
  /// The declaration of this name that a module in sight keeps to itself, or
  /// null: for messages about names that are not found.
  const Name *findPrivate(const File &from, std::string_view name) const;
  /// The file that holds this range: a function's body sees that file's names.
  const File *fileOf(SourceRange range) const;
  /// The files `from` sees, nearest first: itself, its modules, the prelude.
  std::vector<const File *> visibleFrom(const File &from) const;
};

} // namespace penstock::dsl
