// SPDX-License-Identifier: Apache-2.0
//
// One line about a running job.
#pragma once

#include "api/c/penstock.h"
#include <chrono>
#include <cstdint>
#include <string>

namespace penstock::cli {

/// Rewrites one line on stderr, at most ten times a second, and only where
/// stderr is a terminal.
class Progress {
public:
  explicit Progress(int64_t samplesPerEpoch);
  void update(const pst_session *session, uint32_t epoch, int64_t samples);
  /// Clears the line.
  void finish();

private:
  int64_t total;
  bool visible;
  bool drawn = false;
  std::chrono::steady_clock::time_point next;
};

/// Returns a number in groups of digits: "12,345".
std::string grouped(int64_t number);
/// Summarizes a whole run: rate, its limit, time per stage. For the end of a run.
std::string summary(const pst_session *session);

} // namespace penstock::cli
