// SPDX-License-Identifier: Apache-2.0
//
// Values of literal tokens.
#pragma once

#include "dsl/AST/Expr.h"
#include "dsl/Diagnostics/Diagnostics.h"

#include <string_view>

namespace penstock::dsl {

/// Each takes the token's text and its range, and reports errors.
int64_t intValue(std::string_view text, SourceRange range, Diagnostics &diagnostics);
double floatValue(std::string_view text, SourceRange range, Diagnostics &diagnostics);
/// Takes the text with its quotes; an unclosed one may lack the second.
std::string stringValue(std::string_view text, SourceRange range, Diagnostics &diagnostics);
/// `25ms`, or `25 ms` after a repair.
std::unique_ptr<QuantityLit> quantity(std::string_view text, SourceRange range,
                                      Diagnostics &diagnostics);

} // namespace penstock::dsl
