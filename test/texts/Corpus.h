// SPDX-License-Identifier: Apache-2.0
//
// The texts that are damaged.
#pragma once

#include <string>
#include <vector>

namespace penstock::texts {

struct Corpus {
  /// The examples, and those of the tests that are whole pipelines.
  std::vector<std::string> texts;
  /// Pieces of them and of the library: declarations and statements; calls; what may
  /// stand behind `|>`.
  std::vector<std::string> statements, calls, stages;
};

Corpus readCorpus(const std::string &root);

/// Calls, as they are written, within a text.
std::vector<std::pair<size_t, size_t>> callsIn(const std::string &text);

} // namespace penstock::texts
