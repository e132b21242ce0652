// SPDX-License-Identifier: Apache-2.0
//
// Ambiguities of the grammar that ANTLR reports, for its own test.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace penstock::dsl {

/// Parses with ANTLR's exact ambiguity detection. Returns one line for every
/// ambiguity, every attempt with full context and every syntax error; a sound
/// grammar gives none on correct input.
std::vector<std::string> grammarReport(std::string_view text);

/// The names of grammar rules that have no words for users; to stay empty.
std::vector<std::string> rulesWithoutWords();

} // namespace penstock::dsl
