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
/// How a function is called, on one line, with what its element types may be:
/// `flip(x: E[a], a: axis) -> E[a], E: u8 f32`.
std::string printSignature(const FnDecl &fn);
/// Its beginning: `flip(x: E[a], a: axis)`.
std::string printHead(const FnDecl &fn);
/// An expression on one line, for messages. What has stages or a block of its
/// own is cut short: `x |> ...`, `map (...) { ... }`.
std::string printSource(const Expr &expr);

} // namespace penstock::dsl
