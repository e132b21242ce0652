// SPDX-License-Identifier: Apache-2.0
//
// Batches in the making, from their first row to the last store.
#pragma once

#include "runtime/core/Clock.h"
#include "runtime/sched/BatchBlock.h"
#include "runtime/sched/DeviceStage.h"
#include "runtime/sched/Fetcher.h"
#include "runtime/sched/Program.h"
#include "runtime/sched/SampleRunner.h"
#include "runtime/sched/Work.h"
#include "runtime/sched/Workers.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::runtime {

/// A place between two batches.
struct Cursor {
  uint32_t epoch = 0;
  /// The first one that no rank has been given; where batches go by length, how many batches
  /// of the epoch are given.
  int64_t position = 0;
};

/// A batch that a BatchScheduler has finished, with its costs and its bad samples.
struct Finished {
  std::unique_ptr<BatchBlock> block;
  uint32_t epoch = 0;
  int64_t end = 0; ///< the Cursor's position behind it, of all ranks
  int64_t count = 0;
  std::vector<int64_t> positions;
  std::vector<int64_t> rows;
  std::vector<BadSample> bad; ///< by slot
  std::string fatal;          ///< not empty: why the batch cannot be delivered
  bool isLate = false;        ///< it was not ready when it was asked for
  Costs costs;
  std::shared_ptr<const Program> program; ///< whose batch it is
  std::shared_ptr<BlockPool> pool;        ///< where its block goes back to
};

/// Keeps `prefetch` batches in the making or ready, in the order of their
/// positions, and the bytes of some more on their way.
///
/// A batch is cut into chunks of consecutive slots. A chunk goes through select,
/// fetching (on threads of its own) and the first stage without waiting for
/// others; later stages begin when the whole batch has passed the one before. That of a device
/// is last, and takes the batch as a whole.
/// Bad samples become chunks of one slot and start again with a substitute.
class BatchScheduler {
public:
  struct Limits {
    int threads = 1;
    int fetchThreads = 1;
    int prefetch = 2;
    int64_t fetchAhead = 0; ///< samples
    /// Fetched bytes that wait to be decoded, above which only the batch that
    /// is due next fetches more.
    int64_t fetchMemory = int64_t(1) << 30;
    bool isFetchMemoryGiven = false;
  };

  /// Starts the threads; begins no work before restart(). Limit where the system
  /// gives no more threads.
  static Result<std::unique_ptr<BatchScheduler>> make(std::shared_ptr<const Program> program,
                                                      std::shared_ptr<BlockPool> pool,
                                                      ScratchLimits &scratch, const Clock &clock,
                                                      const Limits &limits);
  ~BatchScheduler();

  enum class State { Batch, EndOfEpoch, NoMemory, NoRows, Timeout, Cancelled, HandedOver };
  /// Waits for the next batch and takes it out. NoMemory: nothing is in the
  /// making because the caller holds all blocks. NoRows: nor is it, because the caller
  /// has given no rows. Timeout: `timeoutNs` (negative: no limit) have passed. HandedOver: all
  /// that was begun before handOver() has been taken.
  State take(Finished &finished, int64_t timeoutNs = -1);
  /// Discards everything and goes on at `place`. Where `keeps`, what is in the making there
  /// and behind it stays.
  void restart(Cursor place, bool keeps);
  /// From now on `next` begins batches, from where this one has come; what is in the making here
  /// comes out of take() as before. `next` has the same samples, and has begun nothing.
  void handOver(BatchScheduler &next);
  /// Goes on with the epoch in which the one that handed over has ended: take() comes next.
  void follow(const BatchScheduler &before);
  /// The rows of the batch that comes after all others; none: the epoch ends there.
  void give(std::vector<int64_t> rows);
  /// Returns whether rows from the caller could be worked on at once.
  bool wantsRows() const;
  /// Makes take() return Cancelled from now on. Any thread.
  void cancel();
  /// Ends the threads. Idempotent.
  void stop();
  /// Most fetched bytes that waited at any time.
  int64_t peakHeldBytes() const;

private:
  struct Chunk {
    int64_t first = 0, end = 0; // slots
    std::atomic<int64_t> pending{0};
    bool ready = false; // waits for the batch's memory
  };
  struct InFlight {
    Work work;
    uint64_t number = 0;
    int64_t begin = 0, end = 0; // as in Cursor
    std::deque<Chunk> chunks;   // the first `split` cover the batch, the others repeat slots
    size_t split = 0;
    size_t remaining = 0; // chunks that have not passed the stage
    int stage = 0;
    std::vector<std::pair<int64_t, Failure>> failed; // of a later stage; work.lock
    std::vector<int64_t> again;                      // slots that a device runs alone; empty: all
    bool done = false;
    int64_t heldBytes = 0; // fetched and not yet decoded
    std::atomic<bool> discarded{false};
    std::shared_ptr<BlockPool> pool;
    ~InFlight();
  };
  using Shared = std::shared_ptr<InFlight>;
  /// A file that waits for memory.
  struct Deferred {
    Shared batch;
    Chunk *chunk;
    int64_t slot;
  };

  BatchScheduler(std::shared_ptr<const Program> program, std::shared_ptr<BlockPool> pool,
                 ScratchLimits &scratch, const Clock &clock, const Limits &limits);
  void advance();    // lock held
  bool begin();      // lock held
  bool beginGiven(); // lock held
  Shared spareBatch(int64_t count);
  void submit(const Shared &batch); // lock held
  int64_t batchesAhead() const;
  void fetchDeferred(); // lock held
  int64_t expectedBytes() const;
  bool mayFetch(const Shared &batch) const;
  void discard(InFlight &batch); // lock held
  void submitFirstStage(const Shared &batch, Chunk &chunk);
  void select(const Shared &batch, Chunk &chunk, int worker);
  void fetch(const Shared &batch, Chunk &chunk, int64_t slot, int worker);
  void consumed(const Shared &batch, int64_t bytes);
  void firstStage(const Shared &batch, Chunk &chunk, int worker);
  void laterStage(const Shared &batch, Chunk &chunk, int worker);
  void deviceStage(const Shared &batch, int worker);
  void repeat(const Shared &batch, int64_t slot);
  void finishChunk(const Shared &batch);
  void nextStage(const Shared &batch);
  void measure(InFlight &batch, SampleRunner &runner, int64_t beginNs, int64_t samples);
  int64_t grain() const;
  uint64_t rank(const InFlight &batch, bool early) const;

  std::shared_ptr<const Program> program;
  std::shared_ptr<BlockPool> pool;
  const Clock &clock;
  Limits limits;
  bool fetches;
  std::vector<std::unique_ptr<SampleRunner>> runners; // by worker
  std::vector<std::unique_ptr<Fetcher>> files;        // by worker that fetches
  std::vector<std::unique_ptr<DeviceStage>> stages;   // by worker that waits for a device
  std::atomic<int64_t> sampleNs{0};                   // a running mean

  mutable std::mutex lock; // of all below
  std::condition_variable changed;
  Cursor start;           // where the epoch that is being begun was entered
  int64_t nextBatch = 0;  // in it
  uint32_t nextEpoch = 0; // of the batch to be taken
  uint64_t begun = 0;
  std::deque<Shared> flight;
  std::deque<std::vector<int64_t>> given; // rows from the caller, by batch
  std::vector<Shared> spare;
  std::vector<Deferred> deferred;
  int64_t heldBytes = 0, peakBytes = 0;
  int64_t readingBytes = 0;  // expected of what is being fetched
  int64_t largestBytes = -1; // of the samples that were fetched
  bool cancelled = false;
  bool stopped = false;
  bool handedOver = false;

  std::unique_ptr<Workers> fetchers;
  std::unique_ptr<Workers> devices; // one for each batch that a device works on
  std::unique_ptr<Workers> workers; // last: tasks use all of the above
};

} // namespace penstock::runtime
