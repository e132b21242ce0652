// SPDX-License-Identifier: Apache-2.0
//
// The way of a chunk through a batch, and of a batch through its stages.
#include "runtime/sched/BatchScheduler.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace penstock::runtime {

namespace {

/// Samples above this are timed one by one, below it by sampling.
constexpr int64_t shortSampleNs = 20'000;
constexpr int64_t timedEach = 16;
/// Buffers for encoded bytes are kept from batch to batch up to this size.
constexpr size_t keptFileBytes = size_t(1) << 18;

} // namespace

void BatchScheduler::submitFirstStage(const Shared &batch, Chunk &chunk) {
  workers->submit(rank(*batch, false),
                  [this, batch, &chunk](int worker) { firstStage(batch, chunk, worker); });
}

void BatchScheduler::select(const Shared &batch, Chunk &chunk, int worker) {
  if (batch->discarded)
    return;
  const int64_t begin = clock.nowNs();
  Work &work = batch->work;
  for (int64_t slot = chunk.first; slot < chunk.end; ++slot)
    if (!runners[size_t(worker)]->select(work, slot))
      return;
  {
    std::lock_guard guard(work.lock);
    work.costs.add(Stage::Select, clock.nowNs() - begin, uint64_t(chunk.end - chunk.first));
  }
  chunk.pending = chunk.end - chunk.first;
  // With the last slot's file there the batch may go its way, and the chunk with it.
  const uint64_t number = batch->number;
  for (int64_t slot = chunk.first, end = chunk.end; slot < end; ++slot)
    fetchers->submit(
        number, [this, batch, &chunk, slot](int worker) { fetch(batch, chunk, slot, worker); });
}

void BatchScheduler::fetch(const Shared &batch, Chunk &chunk, int64_t slot, int worker) {
  int64_t expected = 0;
  {
    std::lock_guard guard(lock);
    if (batch->discarded)
      return;
    if (!mayFetch(batch)) {
      deferred.push_back({batch, &chunk, slot});
      return;
    }
    expected = expectedBytes();
    readingBytes += expected;
  }
  const int64_t bytes = files[size_t(worker)]->fetch(batch->work, slot);
  const bool isLast = chunk.pending.fetch_sub(1) == 1;
  std::lock_guard guard(lock);
  readingBytes -= expected;
  const bool isFirst = largestBytes < 0;
  largestBytes = std::max(largestBytes, bytes);
  if (isFirst)
    fetchDeferred();
  if (batch->discarded)
    return;
  batch->heldBytes += bytes;
  heldBytes += bytes;
  peakBytes = std::max(peakBytes, heldBytes);
  if (!isLast)
    return;
  if (batch->work.memory)
    submitFirstStage(batch, chunk);
  else
    chunk.ready = true;
}

void BatchScheduler::consumed(const Shared &batch, int64_t bytes) {
  std::lock_guard guard(lock);
  if (batch->discarded)
    return;
  batch->heldBytes -= bytes;
  heldBytes -= bytes;
  fetchDeferred();
}

/// What the next read may take: as much as the largest one so far. Where nothing has been read, all
/// that there is room for if somebody has asked for a limit, so that one goes first.
int64_t BatchScheduler::expectedBytes() const {
  return largestBytes >= 0 ? largestBytes : limits.isFetchMemoryGiven ? limits.fetchMemory : 0;
}

bool BatchScheduler::mayFetch(const Shared &batch) const {
  return flight.empty() || batch == flight.front() ||
         heldBytes + readingBytes + expectedBytes() <= limits.fetchMemory;
}

void BatchScheduler::fetchDeferred() {
  auto resume = [&](const Deferred &waiting) {
    if (!mayFetch(waiting.batch))
      return false;
    if (!waiting.batch->discarded)
      fetchers->submit(waiting.batch->number, [this, waiting](int worker) {
        fetch(waiting.batch, *waiting.chunk, waiting.slot, worker);
      });
    return true;
  };
  if (!flight.empty())
    std::erase_if(deferred, resume);
}

void BatchScheduler::discard(InFlight &batch) {
  batch.discarded = true;
  heldBytes -= std::exchange(batch.heldBytes, 0);
}

int64_t BatchScheduler::peakHeldBytes() const {
  std::lock_guard guard(lock);
  return peakBytes;
}

void BatchScheduler::firstStage(const Shared &batch, Chunk &chunk, int worker) {
  if (batch->discarded)
    return;
  Work &work = batch->work;
  SampleRunner &runner = *runners[size_t(worker)];
  runner.takeCosts(); // of a batch that was discarded
  const int64_t count = chunk.end - chunk.first;
  const bool sampled = sampleNs.load(std::memory_order_relaxed) < shortSampleNs && !fetches;
  const int64_t begin = clock.nowNs();
  if (!fetches) {
    for (int64_t slot = chunk.first; slot < chunk.end; ++slot)
      if (!runner.select(work, slot))
        return;
    std::lock_guard guard(work.lock);
    work.costs.add(Stage::Select, clock.nowNs() - begin, uint64_t(count));
  }
  int64_t bytes = 0;
  for (int64_t slot = chunk.first; slot < chunk.end; ++slot) {
    if (sampled)
      runner.setTimed((slot - chunk.first) % timedEach ? 0 : std::min(timedEach, chunk.end - slot));
    else
      runner.setTimed(1);
    if (slot + 1 < chunk.end)
      runner.prefetch(work, slot + 1);
    Failure failure;
    const bool good = runner.firstStage(work, slot, failure);
    bytes += freeFiles(work, slot, keptFileBytes);
    if (batch->discarded) // a sample that was stopped is not bad
      return;
    // From here on the slot may be another thread's.
    if (!good && substitute(work, slot, failure))
      repeat(batch, slot);
  }
  measure(*batch, runner, begin, count);
  if (fetches)
    consumed(batch, bytes);
  finishChunk(batch);
}

void BatchScheduler::measure(InFlight &batch, SampleRunner &runner, int64_t beginNs,
                             int64_t samples) {
  const int64_t each = (clock.nowNs() - beginNs) / samples;
  const int64_t before = sampleNs.load(std::memory_order_relaxed);
  sampleNs.store(std::max<int64_t>(1, before ? (3 * before + each) / 4 : each),
                 std::memory_order_relaxed);
  std::lock_guard guard(batch.work.lock);
  batch.work.costs.add(runner.takeCosts());
}

void BatchScheduler::repeat(const Shared &batch, int64_t slot) {
  std::lock_guard guard(lock);
  Chunk &chunk = batch->chunks.emplace_back();
  chunk.first = slot;
  chunk.end = slot + 1;
  ++batch->remaining;
  if (fetches)
    workers->submit(rank(*batch, true),
                    [this, batch, &chunk](int worker) { select(batch, chunk, worker); });
  else
    submitFirstStage(batch, chunk);
}

void BatchScheduler::finishChunk(const Shared &batch) {
  // Kernels may have stored past the caches (abi/kernel.h).
  std::atomic_thread_fence(std::memory_order_seq_cst);
  {
    std::lock_guard guard(lock);
    if (--batch->remaining > 0)
      return;
  }
  // This thread passed last: nobody else touches the batch now.
  nextStage(batch);
}

void BatchScheduler::nextStage(const Shared &batch) {
  Work &work = batch->work;
  // Samples that failed in a later stage start again, and all others repeat the
  // stages that may have read them: what a batch holds depends on its rows only.
  std::sort(batch->failed.begin(), batch->failed.end(),
            [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<int64_t> again;
  for (const auto &[slot, failure] : batch->failed)
    if (substitute(work, slot, failure))
      again.push_back(slot);
  batch->failed.clear();
  // Samples that failed on the device are run there alone, if no other stage lies between.
  const int device = program->layout->deviceStage();
  if (batch->stage == device)
    batch->again = device == 1 && runsAlone(*program->layout) ? again : std::vector<int64_t>();
  if (!again.empty()) {
    {
      std::lock_guard guard(lock);
      batch->stage = 0;
      batch->remaining = 1; // ours, until all are under way
    }
    for (int64_t slot : again)
      repeat(batch, slot);
    finishChunk(batch);
    return;
  }
  const bool isLast = !work.fatal.empty() || batch->stage + 1 >= program->layout->stages();
  if (isLast)
    work.memory->compact(work.fatal.empty() ? work.count : 0);
  std::lock_guard guard(lock);
  if (isLast) {
    batch->done = true;
    changed.notify_all();
    return;
  }
  ++batch->stage;
  if (batch->stage == device) {
    batch->remaining = 1;
    devices->submit(rank(*batch, false), [this, batch](int worker) { deviceStage(batch, worker); });
    return;
  }
  batch->remaining = batch->split;
  for (size_t i = 0; i < batch->split; ++i)
    workers->submit(rank(*batch, false), [this, batch, &chunk = batch->chunks[i]](int worker) {
      laterStage(batch, chunk, worker);
    });
}

void BatchScheduler::deviceStage(const Shared &batch, int worker) {
  if (batch->discarded)
    return;
  Work &work = batch->work;
  std::vector<int64_t> slots = batch->again;
  for (int64_t slot = 0; batch->again.empty() && slot < work.count; ++slot)
    slots.push_back(slot);
  const int64_t begin = clock.nowNs();
  DeviceStage::Failed failed;
  const Status status = stages[size_t(worker)]->run(work, slots, failed);
  {
    std::lock_guard guard(work.lock);
    if (!status)
      work.fatal = status.error().message;
    batch->failed = std::move(failed);
    work.costs.add(Stage::Kernels, clock.nowNs() - begin, slots.size());
  }
  if (!batch->discarded)
    finishChunk(batch);
}

void BatchScheduler::laterStage(const Shared &batch, Chunk &chunk, int worker) {
  if (batch->discarded)
    return;
  Work &work = batch->work;
  SampleRunner &runner = *runners[size_t(worker)];
  runner.takeCosts();
  runner.setTimed(1);
  for (int64_t slot = chunk.first; slot < chunk.end && !batch->discarded; ++slot) {
    Failure failure;
    if (!runner.laterStage(work, slot, batch->stage, failure)) {
      std::lock_guard guard(work.lock);
      batch->failed.emplace_back(slot, std::move(failure));
    }
  }
  {
    std::lock_guard guard(work.lock);
    work.costs.add(runner.takeCosts());
  }
  if (!batch->discarded)
    finishChunk(batch);
}

} // namespace penstock::runtime
