// SPDX-License-Identifier: Apache-2.0
//
// A damaged text.
#pragma once

#include "test/texts/Corpus.h"
#include <cstdint>

namespace penstock::texts {

/// A text of the corpus with one to five changes; the same for the same number.
std::string mutated(const Corpus &corpus, uint64_t number);

} // namespace penstock::texts
