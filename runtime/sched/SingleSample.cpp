// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/SingleSample.h"

#include "runtime/core/Memory.h"
#include "runtime/sched/State.h"
#include "runtime/sched/Workers.h"

#include <utility>
#include <vector>

namespace penstock::runtime {

SingleSample::SingleSample(std::shared_ptr<const Program> shared, std::shared_ptr<Device> device,
                           ScratchLimits &scratch, const Clock &clock,
                           const std::atomic<bool> &cancelled)
    : program(std::move(shared)), device(std::move(device)), cancelled(cancelled),
      runner(program, scratch, clock), files(program, imageLimits(scratch), clock) {
  if (program->device)
    stage = std::make_unique<DeviceStage>(program);
}

Status SingleSample::compute(Work &work) {
  auto fatal = [&] { return Error{Code::Corrupt, work.fatal}; };
  std::vector<int64_t> open;
  for (int64_t slot = 0; slot < work.count; ++slot)
    open.push_back(slot);
  for (int number = 0; number < program->layout->stages();) {
    std::vector<std::pair<int64_t, Failure>> failed;
    if (number == program->layout->deviceStage()) {
      if (Status status = stage->run(work, open, failed); !status)
        return status;
      open.clear();
    }
    for (int64_t slot : open) {
      if (cancelled)
        return Error{Code::Cancelled, "the session was cancelled"};
      Failure failure;
      if (number == 0) {
        if (!runner.select(work, slot))
          continue; // cancelled
        files.fetch(work, slot);
      }
      if (!(number == 0 ? runner.firstStage(work, slot, failure)
                        : runner.laterStage(work, slot, number, failure)))
        failed.emplace_back(slot, std::move(failure));
    }
    if (cancelled) // a sample that was stopped is not bad
      return Error{Code::Cancelled, "the session was cancelled"};
    open.clear();
    for (const auto &[slot, failure] : failed) {
      if (!substitute(work, slot, failure))
        return fatal();
      open.push_back(slot);
    }
    if (!open.empty()) {
      number = 0;
      continue;
    }
    ++number;
    for (int64_t slot = 0; slot < work.count; ++slot)
      open.push_back(slot);
  }
  work.memory->compact(work.count);
  return {};
}

Result<SampleReport> SingleSample::at(uint32_t epoch, int64_t position) {
  const int64_t positions = program->positionsPerEpoch();
  if (position < 0 || position >= positions)
    return Error{Code::InvalidArgument, "there is no position " + std::to_string(position) +
                                            "; an epoch has " + std::to_string(positions)};
  const BatchPlace place = program->batchAt(position);
  const int64_t count = place.count, index = (position - place.first) / place.step;
  const bool whole = program->layout->joinsSamples();
  if (const int64_t exact = program->layout->exactCount(); exact >= 0 && exact != count)
    return Error{Code::InvalidArgument,
                 "position " + std::to_string(position) + " is in a last batch of " +
                     std::to_string(count) +
                     " samples, which is not delivered: there is nothing that its " +
                     std::to_string(exact) + " samples would share"};
  Work work;
  work.begin(program, whole ? count : 1);
  work.stop = stopOf(cancelled);
  work.epoch = epoch;
  work.firstIndex = whole ? 0 : index;
  work.batchCount = count;
  work.batchPosition = place.first;
  for (int64_t slot = 0; slot < work.count; ++slot)
    work.positions[size_t(slot)] = place.first + (work.firstIndex + slot) * place.step;
  work.memory = BatchBlock::make(program->layout, work.count, device);
  if (!work.memory)
    return noMemory("for a sample");

  FloatMode mode;
  if (Status status = compute(work); !status)
    return status.error();
  runner.takeCosts();
  return makeSampleReport(work, whole ? index : 0);
}

} // namespace penstock::runtime
