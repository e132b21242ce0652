// SPDX-License-Identifier: Apache-2.0
//
// Locks: `lock` guards which batches there are and how far they are; it is held
// for a few operations per chunk, never while samples are computed. Samples'
// data are handed from thread to thread through the queues of Workers.
#include "runtime/sched/BatchScheduler.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

namespace penstock::runtime {

namespace {

/// Time of a chunk: long enough that queues and clocks cost nothing, short enough to balance.
constexpr int64_t grainNs = 500'000;
/// One is copied, one is computed, one is packed or comes back.
constexpr int mostOnDevice = 3;

} // namespace

BatchScheduler::InFlight::~InFlight() {
  if (work.memory)
    pool->giveBack(std::move(work.memory));
}

BatchScheduler::BatchScheduler(std::shared_ptr<const Program> shared,
                               std::shared_ptr<BlockPool> blocks, ScratchLimits &scratch,
                               const Clock &clock, const Limits &limits)
    : program(std::move(shared)), pool(std::move(blocks)), clock(clock), limits(limits),
      fetches(program->fetches()) {
  for (int i = 0; i < limits.threads; ++i)
    runners.push_back(std::make_unique<SampleRunner>(program, scratch, clock));
  for (int i = 0; fetches && i < limits.fetchThreads; ++i)
    files.push_back(std::make_unique<Fetcher>(program, imageLimits(scratch), clock));
  for (int i = 0; program->device && i < std::min(limits.prefetch, mostOnDevice); ++i)
    stages.push_back(std::make_unique<DeviceStage>(program));
}

Result<std::unique_ptr<BatchScheduler>>
BatchScheduler::make(std::shared_ptr<const Program> program, std::shared_ptr<BlockPool> pool,
                     ScratchLimits &scratch, const Clock &clock, const Limits &limits) {
  std::unique_ptr<BatchScheduler> scheduler(
      new BatchScheduler(std::move(program), std::move(pool), scratch, clock, limits));
  for (auto [threads, count] :
       {std::pair(&scheduler->fetchers, scheduler->fetches ? limits.fetchThreads : 0),
        std::pair(&scheduler->devices, int(scheduler->stages.size())),
        std::pair(&scheduler->workers, limits.threads)}) {
    auto started = Workers::start(count);
    if (!started)
      return started.error();
    *threads = std::move(*started);
  }
  scheduler->pool->whenReturned([self = scheduler.get()] {
    std::lock_guard guard(self->lock);
    self->advance();
  });
  return scheduler;
}

BatchScheduler::~BatchScheduler() { stop(); }

void BatchScheduler::cancel() {
  std::lock_guard guard(lock);
  cancelled = true;
  for (const Shared &batch : flight)
    discard(*batch);
  changed.notify_all();
}

void BatchScheduler::stop() {
  pool->whenReturned(nullptr);
  std::deque<Shared> discarded;
  std::vector<Deferred> waiting;
  {
    std::lock_guard guard(lock);
    stopped = true;
    cancelled = true;
    discarded.swap(flight);
    spare.clear();
    for (const Shared &batch : discarded)
      discard(*batch);
    waiting.swap(deferred);
    changed.notify_all();
  }
  for (const auto &threads : {fetchers.get(), workers.get(), devices.get()})
    if (threads) // not where starting them failed
      threads->stop();
}

void BatchScheduler::restart(Cursor place, bool keeps) {
  std::deque<Shared> discarded; // ends after the lock: its memory calls back
  std::vector<Deferred> waiting;
  std::lock_guard guard(lock);
  auto kept = flight.begin();
  // Rows from the caller may be others the next time.
  keeps = keeps && !program->callerOrders;
  while (kept != flight.end() &&
         !(keeps && (*kept)->work.epoch == place.epoch && (*kept)->begin == place.position))
    ++kept;
  discarded.assign(flight.begin(), kept);
  flight.erase(flight.begin(), kept);
  for (const Shared &batch : discarded)
    discard(*batch);
  waiting.swap(deferred);
  for (Deferred &file : waiting)
    if (!file.batch->discarded)
      deferred.push_back(file);
  given.clear();
  nextEpoch = place.epoch;
  if (!flight.empty())
    return;
  start = place;
  nextBatch = 0;
}

void BatchScheduler::handOver(BatchScheduler &next) {
  {
    std::scoped_lock guard(lock, next.lock);
    handedOver = true;
    next.start = start;
    next.nextBatch = nextBatch;
    next.nextEpoch = nextEpoch;
    next.given = std::exchange(given, {});
  }
  std::lock_guard guard(next.lock);
  next.advance();
}

void BatchScheduler::follow(const BatchScheduler &before) {
  std::scoped_lock guard(lock, before.lock);
  nextEpoch = before.nextEpoch;
}

void BatchScheduler::give(std::vector<int64_t> rows) {
  std::lock_guard guard(lock);
  given.push_back(std::move(rows));
  advance();
}

int64_t BatchScheduler::batchesAhead() const {
  return fetches ? std::max<int64_t>(1, limits.fetchAhead / program->perRank) : 0;
}

bool BatchScheduler::wantsRows() const {
  std::lock_guard guard(lock);
  // One more than there can be: it begins when one is taken.
  return int64_t(flight.size() + given.size()) <= limits.prefetch + batchesAhead();
}

BatchScheduler::State BatchScheduler::take(Finished &finished, int64_t timeoutNs) {
  using std::chrono::steady_clock;
  constexpr int64_t longestNs = int64_t(1) << 60; // far from where clocks overflow
  const bool isLimited = timeoutNs >= 0 && timeoutNs < longestNs;
  const auto deadline = steady_clock::now() + std::chrono::nanoseconds(isLimited ? timeoutNs : 0);
  Shared batch;
  std::unique_lock guard(lock);
  finished.isLate = false;
  for (bool isOver = timeoutNs == 0;;) {
    if (cancelled)
      return State::Cancelled;
    advance();
    if (handedOver && flight.empty())
      return State::HandedOver;
    const uint32_t epoch = flight.empty() ? start.epoch : flight.front()->work.epoch;
    if (epoch != nextEpoch) {
      ++nextEpoch;
      return State::EndOfEpoch;
    }
    if (flight.empty())
      return State::NoRows;
    if (pool->allDelivered())
      return State::NoMemory;
    if (flight.front()->done)
      break;
    if (isOver)
      return State::Timeout;
    finished.isLate = true;
    if (isLimited)
      isOver = changed.wait_until(guard, deadline) == std::cv_status::timeout;
    else
      changed.wait(guard);
  }
  batch = std::move(flight.front());
  flight.pop_front();
  Work &work = batch->work;
  finished.block = std::move(work.memory);
  pool->deliver();
  finished.epoch = work.epoch;
  finished.end = batch->end;
  finished.count = work.count;
  finished.positions = work.positions;
  finished.rows.clear();
  for (int64_t slot = 0; slot < work.count; ++slot)
    finished.rows.push_back(work.row(slot, 0));
  finished.bad = std::move(work.bad);
  finished.fatal = std::move(work.fatal);
  finished.costs = work.costs;
  finished.program = program;
  finished.pool = pool;
  spare.push_back(std::move(batch));
  advance();
  return State::Batch;
}

int64_t BatchScheduler::grain() const {
  const int64_t cost = sampleNs.load(std::memory_order_relaxed);
  const int64_t perThread = std::max<int64_t>(1, program->perRank / limits.threads);
  const int64_t wanted = cost ? grainNs / cost : fetches ? 1 : 64;
  return std::clamp<int64_t>(wanted, 1, perThread);
}

uint64_t BatchScheduler::rank(const InFlight &batch, bool early) const {
  // Selecting is short, and what it asks for takes long.
  return early && fetches ? 0 : batch.number + 1;
}

void BatchScheduler::advance() {
  if (cancelled || stopped)
    return;
  fetchDeferred();
  while (!handedOver && int64_t(flight.size()) < limits.prefetch + batchesAhead() &&
         (program->callerOrders ? beginGiven() : begin())) {
  }
  int holders = 0;
  for (const Shared &batch : flight) {
    if (holders == limits.prefetch)
      break;
    ++holders;
    if (batch->work.memory)
      continue;
    batch->work.memory = pool->take();
    if (!batch->work.memory)
      break;
    batch->work.memory->begin(batch->work.count);
    for (Chunk &chunk : batch->chunks)
      if (std::exchange(chunk.ready, false))
        submitFirstStage(batch, chunk);
    if (batch->work.count == 0) {
      batch->work.memory->compact(0);
      batch->done = true;
      changed.notify_all();
    }
  }
}

bool BatchScheduler::begin() {
  if (nextBatch >= program->batchesFrom(start.position)) {
    // Every epoch has a batch (Session::open), so this ends.
    start = {start.epoch + 1, 0};
    nextBatch = 0;
    return begin();
  }
  const BatchPlace place = program->batchFrom(start.epoch, start.position, nextBatch++);
  const Shared batch = spareBatch(place.count);
  Work &work = batch->work;
  work.epoch = start.epoch;
  work.batchPosition = place.first;
  for (int64_t slot = 0; slot < place.count; ++slot)
    work.positions[size_t(slot)] = place.first + slot * place.step;
  batch->begin = place.begin;
  batch->end = place.end;
  submit(batch);
  return true;
}

bool BatchScheduler::beginGiven() {
  for (; !given.empty() && given.front().empty(); given.pop_front())
    start = {start.epoch + 1, 0};
  if (given.empty())
    return false;
  const int64_t count = int64_t(given.front().size()), world = program->world;
  const Shared batch = spareBatch(count);
  Work &work = batch->work;
  work.given = std::move(given.front());
  given.pop_front();
  work.epoch = start.epoch;
  work.batchPosition = start.position + program->rank;
  for (int64_t slot = 0; slot < count; ++slot)
    work.positions[size_t(slot)] = work.batchPosition + slot * world;
  batch->begin = start.position;
  batch->end = start.position += count * world;
  submit(batch);
  return true;
}

BatchScheduler::Shared BatchScheduler::spareBatch(int64_t count) {
  Shared batch;
  if (spare.empty()) {
    batch = std::make_shared<InFlight>();
    batch->pool = pool;
    batch->work.stop = stopOf(batch->discarded);
  } else {
    batch = std::move(spare.back());
    spare.pop_back();
  }
  batch->work.begin(program, count);
  batch->work.firstIndex = 0;
  batch->work.batchCount = count;
  return batch;
}

void BatchScheduler::submit(const Shared &batch) {
  const int64_t count = batch->work.count;
  batch->number = begun++;
  batch->stage = 0;
  batch->done = false;
  batch->failed.clear();
  batch->again.clear();
  batch->chunks.clear();
  for (int64_t first = 0, size = grain(); first < count; first += size) {
    Chunk &chunk = batch->chunks.emplace_back();
    chunk.first = first;
    chunk.end = std::min(first + size, count);
  }
  batch->split = batch->remaining = batch->chunks.size();
  flight.push_back(batch);
  for (Chunk &chunk : batch->chunks) {
    if (fetches)
      workers->submit(rank(*batch, true),
                      [this, batch, &chunk](int worker) { select(batch, chunk, worker); });
    else
      chunk.ready = true; // select is part of the first stage
  }
}

} // namespace penstock::runtime
