// Reads files ahead of need, on threads of its own.
#pragma once

#include "runtime/core/Clock.h"
#include "runtime/core/FileSystem.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace penstock::runtime {

/// What became of one file.
struct Fetched {
  Status status;
  /// Time that a thread spent on it.
  int64_t busyNs = 0;
};

struct FetchRequest {
  std::string path;
  /// Receives the file. Left alone until `done` has been called.
  Buffer *out = nullptr;
  uint64_t maxBytes = FileSystem::defaultMaxBytes;
  /// Called exactly once for an accepted request, without any lock held: by a
  /// fetching thread, or by the thread that cancels or stops. It may call
  /// trySubmit() and cancel(); submit() only where the queue cannot be full (or
  /// all threads may come to wait for each other); never stop().
  std::function<void(Fetched)> done;
};

/// Reads in about the order of submission, several files at once.
class Fetcher {
public:
  using Ticket = uint64_t; ///< never 0

  /// stop()
  virtual ~Fetcher();

  /// Accepts a request; waits while the queue is full. Cancelled, without a
  /// call of `done`, once stop() has begun, even for one that waits.
  virtual Result<Ticket> submit(FetchRequest request) = 0;
  /// As submit(), but gives 0 instead of waiting.
  virtual Result<Ticket> trySubmit(FetchRequest &request) = 0;
  /// Takes a request out of the queue; its `done` gets Code::Cancelled before
  /// this returns. False if it is being read or done already.
  virtual bool cancel(Ticket ticket) = 0;
  /// Cancels what is queued, waits for what is being read, ends all threads.
  /// Idempotent, from any thread but the fetching ones.
  virtual void stop() = 0;
};

struct FetcherOptions {
  int threads = 8;        ///< files that are read at once; 1 ... 256
  size_t capacity = 1024; ///< requests that wait
  /// For `busyNs`; must outlive the fetcher. Null: not measured.
  const Clock *clock = nullptr;
};

/// A pool of threads over blocking reads. `files` must outlive it. Threads are
/// started here. Errors: InvalidArgument for options that cannot be; Limit
/// where the system gives no thread.
Result<std::unique_ptr<Fetcher>> makeThreadFetcher(FileSystem &files,
                                                   const FetcherOptions &options);

} // namespace penstock::runtime
