// SPDX-License-Identifier: Apache-2.0
//
// Every way in which one token of a text can be damaged.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace penstock::dsl::test {

struct TokenSpan {
  size_t begin, end;
};

/// The tokens of a text, by a second, simple tokenizer, so that tests need not
/// trust the first.
std::vector<TokenSpan> tokenSpans(const std::string &text);

enum class DamageKind { Deleted, Doubled, Swapped };

/// Deletes, doubles and swaps with its neighbour every token of `text`. `visit`
/// gets the damaged text and the first and last byte of the damage.
void forEachDamage(
    const std::string &text,
    const std::function<void(DamageKind, const std::string &, size_t, size_t)> &visit);

} // namespace penstock::dsl::test
