// SPDX-License-Identifier: Apache-2.0
//
// Samples that are recomputed alone.
#pragma once

#include "runtime/sched/DeviceStage.h"
#include "runtime/sched/Fetcher.h"
#include "runtime/sched/Program.h"
#include "runtime/sched/SampleRunner.h"
#include "runtime/sched/Work.h"

#include <atomic>
#include <cstdint>
#include <memory>

namespace penstock::runtime {

/// Computes on the thread that calls, beside the batches that are in the making. One
/// call at a time.
class SingleSample {
public:
  /// `cancelled` ends a computation; it outlives this, as do the others.
  SingleSample(std::shared_ptr<const Program> program, std::shared_ptr<Device> device,
               ScratchLimits &scratch, const Clock &clock, const std::atomic<bool> &cancelled);

  /// As Session::sample().
  Result<SampleReport> at(uint32_t epoch, int64_t position);

private:
  Status compute(Work &work);

  std::shared_ptr<const Program> program;
  std::shared_ptr<Device> device;
  const std::atomic<bool> &cancelled;
  SampleRunner runner;
  Fetcher files;
  std::unique_ptr<DeviceStage> stage; ///< of a device, where there is one
};

} // namespace penstock::runtime
