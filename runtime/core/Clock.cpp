// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Clock.h"

#include <ctime>

namespace penstock::runtime {

namespace {
int64_t read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return int64_t(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}
} // namespace

int64_t RealClock::nowNs() const { return read(CLOCK_MONOTONIC); }

int64_t timeNow() { return read(CLOCK_REALTIME); }

int64_t secondsNow() { return timeNow() / 1'000'000'000; }

} // namespace penstock::runtime
