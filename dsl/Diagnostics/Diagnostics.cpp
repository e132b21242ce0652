// SPDX-License-Identifier: Apache-2.0
#include "dsl/Diagnostics/Diagnostics.h"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

namespace penstock::dsl {

Diagnostics::Report &Diagnostics::Report::note(SourceRange range, std::string message) {
  diagnostic->notes.push_back({range, std::move(message)});
  return *this;
}

Diagnostics::Report &Diagnostics::Report::hint(std::string text) {
  diagnostic->hint = std::move(text);
  return *this;
}

Diagnostics::Report Diagnostics::error(SourceRange range, std::string message) {
  ++errorCount;
  all.push_back({Severity::Error, range, std::move(message), {}, {}});
  return Report(all.back());
}

Diagnostics::Report Diagnostics::warning(SourceRange range, std::string message) {
  all.push_back({Severity::Warning, range, std::move(message), {}, {}});
  return Report(all.back());
}

void Diagnostics::forget(size_t count) {
  for (; all.size() > count; all.pop_back())
    errorCount -= all.back().severity == Severity::Error;
}

std::vector<Diagnostic> Diagnostics::sorted() const {
  // By file, place and order of report; messages without a place come first.
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  auto key = [&](size_t i) {
    return std::tuple(all[i].range.file.index + 1, all[i].range.begin, i);
  };
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return key(a) < key(b); });

  std::vector<Diagnostic> unique;
  for (size_t i : order) {
    bool isThere = false; // among those of the same beginning, which come last
    for (auto other = unique.rbegin(); other != unique.rend() && !isThere; ++other) {
      if (other->range.file.index != all[i].range.file.index ||
          other->range.begin != all[i].range.begin)
        break;
      isThere = other->range == all[i].range && other->message == all[i].message;
    }
    if (!isThere)
      unique.push_back(all[i]);
  }
  return unique;
}

} // namespace penstock::dsl
