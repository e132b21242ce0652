// SPDX-License-Identifier: Apache-2.0
//
// Small pieces of the tree as the words a user writes.
#pragma once

#include "dsl/AST/Expr.h"

#include <string>
#include <vector>

namespace penstock::dsl {

const char *spelling(UnaryOp op);    ///< `-`, `not`
const char *spelling(Target target); ///< `cpu`
const char *spelling(ExprKind kind); ///< `quantity`: the node names of printAst

std::string printAxes(const AxisList &axes);           ///< `[h, w]`
std::string printPath(const std::vector<Name> &names); ///< `u8.clamp`

} // namespace penstock::dsl
