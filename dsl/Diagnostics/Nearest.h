// SPDX-License-Identifier: Apache-2.0
//
// "Did you mean": the known word that a misspelt one is closest to.
#pragma once

#include <string>
#include <string_view>

namespace penstock::dsl {

/// Insertions, deletions, replacements and swaps of neighbours between two
/// words.
unsigned editDistance(std::string_view a, std::string_view b);

/// Returns whether `word` could be a misspelling of `known`: one edit in up to four
/// letters, two in up to eight, three beyond.
bool isNear(std::string_view word, std::string_view known);

/// The closest of `known` (the first of several), or empty if none is near.
template <typename Words> std::string nearest(std::string_view word, const Words &known) {
  std::string best;
  unsigned bestDistance = ~0u;
  for (const auto &candidate : known) {
    std::string_view text = candidate;
    unsigned distance = editDistance(word, text);
    if (text != word && isNear(word, text) && distance < bestDistance) {
      best = text;
      bestDistance = distance;
    }
  }
  return best;
}

} // namespace penstock::dsl
