// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the fuzz targets.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

/// Called by libFuzzer with inputs of its own making.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace penstock::fuzz {

/// Ends the process where a promise is broken: a finding like a crash.
inline void require(bool holds, const char *promise, const std::string &details = "") {
  if (holds)
    return;
  std::fprintf(stderr, "broken: %s\n%s\n", promise, details.c_str());
  std::abort();
}

/// Takes choices off the front of the input; zeros past its end.
class Choices {
public:
  Choices(const uint8_t *data, size_t size) : rest(data, size) {}

  template <typename T> T take() {
    T value{};
    const size_t size = std::min(sizeof value, rest.size());
    std::memcpy(&value, rest.data(), size);
    rest = rest.subspan(size);
    return value;
  }
  /// In 0 ..< n, for n > 0.
  uint32_t below(uint32_t n) { return take<uint32_t>() % n; }
  std::span<const uint8_t> remaining() const { return rest; }

private:
  std::span<const uint8_t> rest;
};

} // namespace penstock::fuzz
