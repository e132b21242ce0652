// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Clock.h"

#include <ctime>

namespace penstock::runtime {

int64_t RealClock::nowNs() const {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

} // namespace penstock::runtime
