// SPDX-License-Identifier: Apache-2.0
//
// Time, behind an interface: RealClock for work, FakeClock for tests.
#pragma once

#include <atomic>
#include <cstdint>

namespace penstock::runtime {

/// Monotonic time. Callable from any thread.
class Clock {
public:
  virtual ~Clock() = default;
  virtual int64_t nowNs() const = 0;
};

class RealClock final : public Clock {
public:
  int64_t nowNs() const override;
};

/// Nanoseconds since 1970 by the machine's clock, which may be set: to compare with times of files.
int64_t timeNow();

/// The same in seconds: to compare with times at which something ends.
int64_t secondsNow();

/// Moves by a fixed step each time somebody looks, so that durations in tests
/// are counts of looks.
class FakeClock final : public Clock {
public:
  explicit FakeClock(int64_t stepNs = 0) : step(stepNs) {}
  int64_t nowNs() const override { return now.fetch_add(step) + step; }
  void advance(int64_t ns) { now.fetch_add(ns); }

private:
  int64_t step;
  mutable std::atomic<int64_t> now{0};
};

} // namespace penstock::runtime
