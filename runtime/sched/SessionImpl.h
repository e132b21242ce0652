// SPDX-License-Identifier: Apache-2.0
//
// What a session consists of.
#pragma once

#include "runtime/sched/BatchScheduler.h"
#include "runtime/sched/Session.h"
#include "runtime/sched/SingleSample.h"
#include "runtime/sched/State.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace penstock::runtime {

struct Session::Impl {
  SessionOptions options;
  std::vector<plan::ArgumentT> params; ///< bound, by number
  std::shared_ptr<const Program> program;
  std::shared_ptr<const Tables> tables;
  std::shared_ptr<BlockPool> pool;
  std::shared_ptr<Device> device;
  RealClock realClock;
  const Clock *clock = &realClock;
  ScratchLimits scratch;
  BatchScheduler::Limits limits;
  MemoryReport memory;
  Processors processors;
  std::unique_ptr<BatchScheduler> scheduler;
  bool begun = false; // by the first next()
  std::unique_ptr<SingleSample> alone;
  std::atomic<bool> cancelled{false};
  std::atomic<bool> closed{false};

  /// Of all below, and of `program`, `scheduler` and `begun` against those who do not call one
  /// at a time.
  mutable std::mutex lock;
  SessionState place;
  std::string failure; // not empty: what every next() says
  std::vector<BadSample> reports;
  Statistics numbers;
  std::vector<Statistics::Entry> steps; ///< of the layout
  int64_t beginNs = -1;
  int64_t waitedNs = 0; ///< for the batch that is due
  bool isLate = false;  ///< likewise

  Status prepare(std::shared_ptr<const Program> wanted);
  Status changeParams(const std::vector<ParamValue> &values);
  void beginHere(bool keeps = false); // lock held
  Status askRows(Session &session);
  Result<Taken> count(BatchScheduler::State state, Finished &&finished, int64_t waited);
  Result<BatchPtr> deliver(Finished &&finished);
};

} // namespace penstock::runtime
