//===- Mutate.h - a damaged text ------------------------------------------===//
#ifndef PENSTOCK_TEST_TEXTS_MUTATE_H
#define PENSTOCK_TEST_TEXTS_MUTATE_H

#include "test/texts/Corpus.h"
#include <cstdint>

namespace penstock::texts {

/// A text of the corpus with one to five changes; the same for the same number.
std::string mutated(const Corpus &corpus, uint64_t number);

} // namespace penstock::texts

#endif
