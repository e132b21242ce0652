// SPDX-License-Identifier: Apache-2.0
//
// Runs a plan: rows in, batches out.
#pragma once

#include "runtime/core/KernelTable.h"
#include "runtime/core/Plan.h"
#include "runtime/core/Processors.h"
#include "runtime/sched/Batch.h"
#include "runtime/sched/Options.h"
#include "runtime/sched/Report.h"

#include <memory>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// One reader of one pipeline. Work runs ahead on the session's own threads;
/// nothing that next() delivers depends on how many there are.
///
/// next(), sample(), start(), setTransfer(), giveRows(), restore(), close() and functions that
/// return sizes: one call at a time. cancel(), state(), statistics() and badSamples(): from any
/// thread.
class Session {
public:
  /// Opens the sources, takes the fixed memory and starts the threads; begins no
  /// work. The image may be shared by sessions.
  ///
  /// Errors: InvalidArgument for options that do not fit the plan (unknown or
  /// missing parameter, batch size and world size, rank ...); Limit if the
  /// fixed memory exceeds the budget, with the options to lower, and if the system
  /// gives no more threads; the source's own.
  static Result<std::unique_ptr<Session>> open(std::shared_ptr<const Plan> plan,
                                               std::shared_ptr<const KernelTable> kernels,
                                               SessionOptions options);
  /// Calls close().
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  /// The next batch. Null at the end of the epoch; the call after that begins
  /// the next one. Blocks.
  ///
  /// Errors: Cancelled; Limit where the caller holds so many batches that no
  /// memory is left for another (release one and call again); else the session
  /// has failed (bad samples over the limit, or `on_error = fail`) and every
  /// later call repeats the error until restore().
  Result<BatchPtr> next();

  /// The result of a wait for a batch. Without one: the end of the epoch; a timeout; or, where
  /// rows come from the caller, none are left.
  struct Taken {
    enum What { Batch, EndOfEpoch, Timeout, NoRows } what = Batch;
    BatchPtr batch;
  };
  /// As next(), but waits for `timeoutNs` at most; 0: polls; negative: no limit.
  Result<Taken> nextWithin(int64_t timeoutNs);

  /// Makes next() go on at the beginning of `epoch`, of any epoch at any time, with
  /// other values of some parameters, and clears an error. Work that was done ahead
  /// is used where it is that epoch's and the parameters stay.
  ///
  /// Errors: InvalidArgument for parameters that do not fit, and for those that say what
  /// tables read; Limit as in open(). The session is then unchanged.
  Status start(uint32_t epoch, const std::vector<ParamValue> &params = {});

  /// Lets values cross to the GPU at another of the levels that the session was opened with, from
  /// the first batch on that is not in the making yet; those that are come first, or are made again
  /// where memory is not enough for both, or where an earlier change has not come out of next()
  /// yet. Changes no sample.
  ///
  /// Errors: InvalidArgument for an unknown level; Limit as in open(); the device's. The session
  /// is then unchanged.
  Status setTransfer(std::string_view level);
  /// The level of batches that are begun from now on.
  std::string transfer() const;

  /// Appends a batch of these rows behind the ones given before, at most the batch size; none: the
  /// epoch ends there. Only where rows come from the caller.
  Status giveRows(std::vector<int64_t> rows);
  /// A batch of rows that could be worked on ahead, and is not given yet.
  struct WantedRows {
    uint32_t epoch;
    uint64_t given; ///< batches and ends of epochs that giveRows() has taken so far
  };
  /// Nothing where none is wanted: enough are given, of this epoch and the next.
  std::optional<WantedRows> wantedRows();

  /// Returns the position of the next call of next(), as a line of text. Restoring it gives the
  /// same remaining samples under any threads, prefetch and world size.
  /// \param beforeLast  as if the last batch of next() were still to come
  std::string state(bool beforeLast = false) const;
  /// Goes there; drops what was prepared, and clears an error. InvalidArgument
  /// for text that is no state and for another pipeline's; the session is then
  /// unchanged.
  Status restore(std::string_view state);

  /// Computes one sample of any epoch, without disturbing the epoch that runs.
  /// Where samples of a batch read each other, this rank's whole batch (counted
  /// from position 0) is computed. Blocks.
  Result<SampleReport> sample(uint32_t epoch, int64_t position);

  Statistics statistics() const;
  /// Returns the bad samples of the batches delivered so far, all epochs, in order of delivery; at
  /// most the last 65,536.
  std::vector<BadSample> badSamples() const;
  MemoryReport memory() const;
  /// GPU memory taken so far by the session and its batches; grows to the largest batch. Any
  /// thread.
  DeviceMemory deviceMemory() const;
  /// Lists the sidecar files that were found damaged when the session was opened, and are not used.
  /// A line each.
  const std::vector<std::string> &warnings() const;

  int64_t tableLength() const; ///< rows of the table of `for`
  /// The names of the classes that labels of this table number; empty where there are none.
  std::vector<std::string> classNames() const;
  /// Returns a text of a row of this table. Any thread.
  Result<std::string> rowText(int64_t row, std::string_view column) const;
  int64_t batchSize() const; ///< of this rank
  /// Batches of this rank in an epoch that starts at position 0; -1 where rows come
  /// from the caller.
  int64_t batchesPerEpoch() const;
  /// Samples of this rank in such an epoch.
  int64_t samplesPerEpoch() const;
  uint32_t epoch() const; ///< of the next batch
  /// Samples of the epoch that are delivered, by all ranks; `beforeLast` as for state().
  int64_t position(bool beforeLast = false) const;
  int threads() const;
  /// Processors that were available when the session was opened.
  const Processors &processors() const;

  /// Makes a waiting and every later next() and sample() return Cancelled, soon.
  void cancel();
  /// Ends all work and all threads. Batches stay valid. Idempotent.
  void close();

private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace penstock::runtime
