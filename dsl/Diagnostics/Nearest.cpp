// SPDX-License-Identifier: Apache-2.0
#include "dsl/Diagnostics/Nearest.h"

#include <algorithm>
#include <vector>

namespace penstock::dsl {

unsigned editDistance(std::string_view a, std::string_view b) {
  size_t width = b.size() + 1;
  std::vector<unsigned> cost((a.size() + 1) * width);
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      unsigned &here = cost[i * width + j];
      if (i == 0 || j == 0) {
        here = static_cast<unsigned>(i + j);
        continue;
      }
      here = std::min({cost[(i - 1) * width + j] + 1, cost[i * width + j - 1] + 1,
                       cost[(i - 1) * width + j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        here = std::min(here, cost[(i - 2) * width + j - 2] + 1);
    }
  }
  return cost.back();
}

bool isNear(std::string_view word, std::string_view known) {
  size_t length = std::max(word.size(), known.size());
  unsigned allowed = length <= 1 ? 0 : length <= 4 ? 1 : length <= 8 ? 2 : 3;
  if (std::max(word.size(), known.size()) - std::min(word.size(), known.size()) > allowed)
    return false;
  return editDistance(word, known) <= allowed;
}

} // namespace penstock::dsl
