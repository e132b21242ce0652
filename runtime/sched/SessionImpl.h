// SPDX-License-Identifier: Apache-2.0
//
// The state of a session.
#pragma once

#include "runtime/sched/BatchScheduler.h"
#include "runtime/sched/Session.h"
#include "runtime/sched/SingleSample.h"
#include "runtime/sched/State.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace penstock::runtime {

/// A plan that is ready for this session's device.
struct LoadedPlan {
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<DeviceProgram> device;
};
/// Loads a plan for the session. Errors: InvalidArgument if it wants a device, and `options` have
/// none; those of Layout::make() and DeviceProgram::load().
Result<LoadedPlan> loadPlan(std::shared_ptr<const Plan> plan,
                            std::shared_ptr<const KernelTable> kernels,
                            const std::vector<DeviceImage> &deviceCode,
                            const SessionOptions &options);

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
  /// The scheduler of the transfer level before, while it has batches in the making: they come
  /// first.
  std::unique_ptr<BatchScheduler> before;
  bool begun = false;   // by the first next()
  std::string transfer; ///< the level of `program`
  /// Plans that setTransfer() has loaded, by level.
  std::map<std::string, LoadedPlan> loaded;
  std::unique_ptr<SingleSample> alone;
  std::atomic<bool> cancelled{false};
  std::atomic<bool> closed{false};

  /// Guards all below, and `program`, `transfer`, `pool`, `memory`, `device`, the schedulers and
  /// `begun`, against calls that may come from any thread.
  mutable std::mutex lock;
  SessionState place;
  /// Where the last batch began, unless an epoch has ended, or begun, since.
  struct Last {
    int64_t position = 0, bad = 0;
    std::vector<int64_t> asked;
  };
  std::optional<Last> last;
  /// How many bad samples an epoch may have, once one is met; until it starts anew.
  struct Allowed {
    uint32_t epoch = 0;
    int64_t bad = 0;
  };
  std::optional<Allowed> allowed;
  std::string failure; // not empty: the error of every next()
  uint64_t given = 0;  ///< calls of giveRows() that took rows
  Status asking;       ///< of nextRows; an error comes behind the batches of rows before it, once
  std::vector<BadSample> reports;
  Statistics numbers;
  int64_t beginNs = -1;
  int64_t waitedNs = 0; ///< for the batch that is due
  bool isLate = false;  ///< likewise

  /// Takes memory and threads for a program. `handsOver`: what is in the making for the one
  /// before is delivered first, where the memory budget has room for both; else it is dropped.
  Status prepare(std::shared_ptr<const Program> wanted, bool handsOver = false);
  Status changeParams(const std::vector<ParamValue> &values);
  void beginHere(bool keeps = false);   // lock held
  SessionState placeBeforeLast() const; // lock held
  Status askRows(Session &session);
  BatchScheduler::State take(Finished &finished, int64_t timeoutNs);
  void countStep(const std::string &name, const Statistics::Entry &entry);
  Result<Taken> count(BatchScheduler::State state, Finished &&finished, int64_t waited);
  int64_t allowedBad(); // lock held
  Result<BatchPtr> deliver(Finished &&finished);
};

} // namespace penstock::runtime
