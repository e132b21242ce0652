// SPDX-License-Identifier: Apache-2.0
//
// The rules of the grammar in the words of users.
#pragma once

#include <cstddef>
#include <string>

namespace penstock::dsl {

/// Returns the user's words for a rule of the grammar: "an expression", "a name".
std::string ruleWords(size_t rule);

/// Returns whether the rule is a list with commas.
bool isList(size_t rule);

} // namespace penstock::dsl
