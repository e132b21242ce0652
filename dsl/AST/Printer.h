// SPDX-License-Identifier: Apache-2.0
//
// The tree as text, for `--emit=ast` and for tests.
#pragma once

#include "dsl/AST/AST.h"

#include <string>

namespace penstock::dsl {

/// The whole file as an indented tree, one node per line, two spaces per level.
std::string printAst(const File &file);
/// One expression as the same kind of tree.
std::string printAst(const Expr &expr);
/// A type on one line, as a user writes it: `u8[h, w, c: rgb]`.
std::string printType(const TypeExpr &type);
/// Returns a call of the function on one line, with its possible element types: `flip(x: E[a], a:
/// axis) -> E[a], E: u8 f32`.
std::string printSignature(const FnDecl &fn);
/// Returns the beginning of such a line: `flip(x: E[a], a: axis)`.
std::string printHead(const FnDecl &fn);
/// Returns an expression on one line, for messages. Stages and blocks are cut short: `x |> ...`,
/// `map (...) { ... }`.
std::string printSource(const Expr &expr);

} // namespace penstock::dsl
