// SPDX-License-Identifier: Apache-2.0
//
// The state of a session, as text.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/sched/Report.h"

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

struct Work;

struct SessionState {
  uint64_t pipeline = 0; ///< the plan's hash
  uint64_t seed = 0;
  uint32_t epoch = 0;
  int64_t position = 0; ///< first one that is not delivered, of all ranks; as in Cursor
  int64_t bad = 0;      ///< bad samples of this rank in the epoch so far
  uint32_t rank = 0;    ///< not in the text
  uint32_t world = 0; ///< ranks that `bad` is one of; 0: a text without bad samples, or an old one
  int64_t table = 0;  ///< rows of the table of `for`; 0: a state of before 0.2 does not say
  int64_t taken = 0;  ///< rows that the order takes, of a table that is told
  uint64_t lengths = 0; ///< the fingerprint of batches by length; 0: they have one size
  bool callerOrders = false;
  /// Rows that the caller gave and that are not delivered, by batch; where there are
  /// none, an epoch ends.
  std::deque<std::vector<int64_t>> asked;

  /// Returns the state as text; with rows that were asked for and not delivered if `withAsked`.
  std::string text(bool withAsked = true) const;
  static Result<SessionState> parse(std::string_view text);
  /// Returns InvalidArgument if a session with `own` cannot go on from here.
  Status checkAgainst(const SessionState &own, const std::string &pipelineName) const;
  /// Takes over what the session with `own` has of its own: rank and world, to whose share of the
  /// samples the count of bad ones is brought, and what checkAgainst() compares.
  void adopt(const SessionState &own);
};

/// The report of the sample in `slot`; takes over the work's memory.
Result<SampleReport> makeSampleReport(Work &work, int64_t slot);

} // namespace penstock::runtime
