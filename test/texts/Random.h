// SPDX-License-Identifier: Apache-2.0
//
// Numbers that are the same anywhere.
#pragma once

#include "runtime/abi/random.h"
#include <vector>

namespace penstock::texts {

class Random {
public:
  explicit Random(uint64_t seed) : seed(seed) {}
  /// 0 ..< end.
  size_t below(size_t end) { return end ? random::mix(seed, ++number) % end : 0; }
  bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }
  template <typename T> const T &pick(const std::vector<T> &from) {
    return from[below(from.size())];
  }

private:
  uint64_t seed, number = 0;
};

} // namespace penstock::texts
