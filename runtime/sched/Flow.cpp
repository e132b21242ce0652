// Locks: `lock` guards which batches there are and how far they are; it is held
// for a few operations per chunk, never while samples are computed. Samples'
// data are handed from thread to thread through the queues of Workers.
#include "runtime/sched/Flow.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace penstock::runtime {

namespace {

/// Long enough that queues and clocks cost nothing, short enough to balance.
constexpr int64_t grainNs = 500'000;
/// Samples above this are timed one by one, below it by sampling.
constexpr int64_t shortSampleNs = 20'000;
constexpr int64_t timedEach = 16;
/// Buffers for encoded bytes are kept from batch to batch up to this size.
constexpr size_t keptFileBytes = size_t(1) << 18;

} // namespace

Flow::InFlight::~InFlight() {
  if (work.memory)
    pool->giveBack(std::move(work.memory));
}

Flow::Flow(std::shared_ptr<const Program> shared, std::shared_ptr<BlockPool> blocks,
           ScratchLimits &scratch, const Clock &clock, const Limits &limits)
    : program(std::move(shared)), pool(std::move(blocks)), clock(clock), limits(limits),
      fetches(program->mediaCount() > 0) {
  for (int i = 0; i < limits.threads; ++i)
    runners.push_back(std::make_unique<SampleRunner>(program, scratch, clock));
  for (int i = 0; fetches && i < limits.fetchThreads; ++i)
    files.push_back(std::make_unique<Fetcher>(program, imageLimits(scratch), clock));
}

Result<std::unique_ptr<Flow>> Flow::make(std::shared_ptr<const Program> program,
                                         std::shared_ptr<BlockPool> pool, ScratchLimits &scratch,
                                         const Clock &clock, const Limits &limits) {
  std::unique_ptr<Flow> flow(new Flow(std::move(program), std::move(pool), scratch, clock, limits));
  for (auto [threads, count] : {std::pair(&flow->fetchers, flow->fetches ? limits.fetchThreads : 0),
                                std::pair(&flow->workers, limits.threads)}) {
    auto started = Workers::start(count);
    if (!started)
      return started.error();
    *threads = std::move(*started);
  }
  flow->pool->whenReturned([self = flow.get()] {
    std::lock_guard guard(self->lock);
    self->advance();
  });
  return flow;
}

Flow::~Flow() { stop(); }

void Flow::cancel() {
  std::lock_guard guard(lock);
  cancelled = true;
  for (const Shared &batch : flight)
    drop(*batch);
  changed.notify_all();
}

void Flow::stop() {
  pool->whenReturned(nullptr);
  std::deque<Shared> dropped;
  std::vector<Deferred> waiting;
  {
    std::lock_guard guard(lock);
    stopped = true;
    cancelled = true;
    dropped.swap(flight);
    spare.clear();
    for (const Shared &batch : dropped)
      drop(*batch);
    waiting.swap(deferred);
    changed.notify_all();
  }
  for (const auto &threads : {fetchers.get(), workers.get()})
    if (threads) // not where starting them failed
      threads->stop();
}

void Flow::restart(Cursor place) {
  std::deque<Shared> dropped; // ends after the lock: its memory calls back
  std::vector<Deferred> waiting;
  std::lock_guard guard(lock);
  dropped.swap(flight);
  waiting.swap(deferred);
  for (const Shared &batch : dropped)
    drop(*batch);
  start = place;
  nextBatch = 0;
  nextEpoch = place.epoch;
}

Flow::State Flow::take(Finished &finished) {
  Shared batch;
  std::unique_lock guard(lock);
  for (;;) {
    if (cancelled)
      return State::Cancelled;
    advance();
    const uint32_t epoch = flight.empty() ? start.epoch : flight.front()->work.epoch;
    if (epoch != nextEpoch) {
      ++nextEpoch;
      return State::EndOfEpoch;
    }
    if (pool->allDelivered())
      return State::NoMemory;
    if (!flight.empty() && flight.front()->done)
      break;
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
  spare.push_back(std::move(batch));
  advance();
  return State::Batch;
}

int64_t Flow::grain() const {
  const int64_t cost = sampleNs.load(std::memory_order_relaxed);
  const int64_t perThread = std::max<int64_t>(1, program->perRank / limits.threads);
  const int64_t wanted = cost ? grainNs / cost : fetches ? 1 : 64;
  return std::clamp<int64_t>(wanted, 1, perThread);
}

uint64_t Flow::rank(const InFlight &batch, bool early) const {
  // Selecting is short, and what it asks for takes long.
  return early && fetches ? 0 : batch.number + 1;
}

void Flow::advance() {
  if (cancelled || stopped)
    return;
  fetchDeferred();
  const int64_t ahead = !fetches ? 0 : std::max<int64_t>(1, limits.fetchAhead / program->perRank);
  while (int64_t(flight.size()) < limits.prefetch + ahead && begin()) {
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
        enter(batch, chunk);
    if (batch->work.count == 0) {
      batch->work.memory->compact(0);
      batch->done = true;
      changed.notify_all();
    }
  }
}

bool Flow::begin() {
  const RankLayout layout = program->ranks(start.position);
  const int64_t positions = program->positions();
  if (nextBatch >= layout.batches(positions, program->keepLast)) {
    // Every epoch has a batch (Session::open), so this ends.
    start = {start.epoch + 1, 0};
    nextBatch = 0;
    return begin();
  }
  Shared batch;
  if (spare.empty()) {
    batch = std::make_shared<InFlight>();
    batch->pool = pool;
    batch->work.stop = stopOf(batch->dropped);
  } else {
    batch = std::move(spare.back());
    spare.pop_back();
  }
  const int64_t count = layout.samples(nextBatch, positions);
  Work &work = batch->work;
  work.begin(program, count);
  work.epoch = start.epoch;
  work.firstIndex = 0;
  work.batchCount = count;
  work.batchPosition = layout.position(nextBatch, 0);
  for (int64_t slot = 0; slot < count; ++slot)
    work.positions[size_t(slot)] = layout.position(nextBatch, slot);
  batch->number = begun++;
  batch->end = layout.endOf(nextBatch);
  batch->stage = 0;
  batch->done = false;
  batch->failed.clear();
  batch->chunks.clear();
  for (int64_t first = 0, size = grain(); first < count; first += size) {
    Chunk &chunk = batch->chunks.emplace_back();
    chunk.first = first;
    chunk.end = std::min(first + size, count);
  }
  batch->split = batch->remaining = batch->chunks.size();
  ++nextBatch;
  flight.push_back(batch);
  for (Chunk &chunk : batch->chunks) {
    if (fetches)
      workers->submit(rank(*batch, true),
                      [this, batch, &chunk](int worker) { select(batch, chunk, worker); });
    else
      chunk.ready = true; // select is part of the first stage
  }
  return true;
}

void Flow::enter(const Shared &batch, Chunk &chunk) {
  workers->submit(rank(*batch, false),
                  [this, batch, &chunk](int worker) { firstStage(batch, chunk, worker); });
}

void Flow::select(const Shared &batch, Chunk &chunk, int worker) {
  if (batch->dropped)
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

void Flow::fetch(const Shared &batch, Chunk &chunk, int64_t slot, int worker) {
  {
    std::lock_guard guard(lock);
    if (batch->dropped)
      return;
    if (heldBytes > limits.fetchMemory && !flight.empty() && batch != flight.front()) {
      deferred.push_back({batch, &chunk, slot});
      return;
    }
  }
  const int64_t bytes = files[size_t(worker)]->fetch(batch->work, slot);
  const bool isLast = chunk.pending.fetch_sub(1) == 1;
  std::lock_guard guard(lock);
  if (batch->dropped)
    return;
  batch->heldBytes += bytes;
  heldBytes += bytes;
  peakBytes = std::max(peakBytes, heldBytes);
  if (!isLast)
    return;
  if (batch->work.memory)
    enter(batch, chunk);
  else
    chunk.ready = true;
}

void Flow::consumed(const Shared &batch, int64_t bytes) {
  std::lock_guard guard(lock);
  if (batch->dropped)
    return;
  batch->heldBytes -= bytes;
  heldBytes -= bytes;
  fetchDeferred();
}

void Flow::fetchDeferred() {
  auto resume = [&](const Deferred &waiting) {
    if (heldBytes > limits.fetchMemory && waiting.batch != flight.front())
      return false;
    if (!waiting.batch->dropped)
      fetchers->submit(waiting.batch->number, [this, waiting](int worker) {
        fetch(waiting.batch, *waiting.chunk, waiting.slot, worker);
      });
    return true;
  };
  if (!flight.empty())
    std::erase_if(deferred, resume);
}

void Flow::drop(InFlight &batch) {
  batch.dropped = true;
  heldBytes -= std::exchange(batch.heldBytes, 0);
}

int64_t Flow::peakHeldBytes() const {
  std::lock_guard guard(lock);
  return peakBytes;
}

void Flow::firstStage(const Shared &batch, Chunk &chunk, int worker) {
  if (batch->dropped)
    return;
  Work &work = batch->work;
  SampleRunner &runner = *runners[size_t(worker)];
  runner.takeCosts(); // of a batch that was dropped
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
      runner.expect(work, slot + 1);
    Failure failure;
    const bool good = runner.firstStage(work, slot, failure);
    bytes += freeFiles(work, slot, keptFileBytes);
    if (batch->dropped) // a sample that was stopped is not bad
      return;
    // From here on the slot may be another thread's.
    if (!good && substitute(work, slot, failure))
      repeat(batch, slot);
  }
  measure(*batch, runner, begin, count);
  if (fetches)
    consumed(batch, bytes);
  passed(batch);
}

void Flow::measure(InFlight &batch, SampleRunner &runner, int64_t beginNs, int64_t samples) {
  const int64_t each = (clock.nowNs() - beginNs) / samples;
  const int64_t before = sampleNs.load(std::memory_order_relaxed);
  sampleNs.store(std::max<int64_t>(1, before ? (3 * before + each) / 4 : each),
                 std::memory_order_relaxed);
  std::lock_guard guard(batch.work.lock);
  batch.work.costs.add(runner.takeCosts());
}

void Flow::repeat(const Shared &batch, int64_t slot) {
  std::lock_guard guard(lock);
  Chunk &chunk = batch->chunks.emplace_back();
  chunk.first = slot;
  chunk.end = slot + 1;
  ++batch->remaining;
  if (fetches)
    workers->submit(rank(*batch, true),
                    [this, batch, &chunk](int worker) { select(batch, chunk, worker); });
  else
    enter(batch, chunk);
}

void Flow::passed(const Shared &batch) {
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

void Flow::nextStage(const Shared &batch) {
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
  if (!again.empty()) {
    {
      std::lock_guard guard(lock);
      batch->stage = 0;
      batch->remaining = 1; // ours, until all are under way
    }
    for (int64_t slot : again)
      repeat(batch, slot);
    passed(batch);
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
  batch->remaining = batch->split;
  for (size_t i = 0; i < batch->split; ++i)
    workers->submit(rank(*batch, false), [this, batch, &chunk = batch->chunks[i]](int worker) {
      laterStage(batch, chunk, worker);
    });
}

void Flow::laterStage(const Shared &batch, Chunk &chunk, int worker) {
  if (batch->dropped)
    return;
  Work &work = batch->work;
  SampleRunner &runner = *runners[size_t(worker)];
  runner.takeCosts();
  runner.setTimed(1);
  for (int64_t slot = chunk.first; slot < chunk.end && !batch->dropped; ++slot) {
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
  if (!batch->dropped)
    passed(batch);
}

} // namespace penstock::runtime
