// SPDX-License-Identifier: Apache-2.0
//
// The threads that compute.
#pragma once

#include "runtime/core/Status.h"

#include <cfenv>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock::runtime {

/// A fixed number of threads that run tasks in the order of their rank; equal
/// ranks in the order of submission. docs/rationale/sessions.md says why these
/// are threads of our own.
///
/// Every thread runs with the default floating-point mode: round to nearest,
/// subnormals kept, no traps.
class Workers {
public:
  /// Gets the number of the thread that runs it, 0 ..< count().
  using Task = std::function<void(int worker)>;

  /// Starts threads. Limit if the system gives no more; the started ones end again.
  static Result<std::unique_ptr<Workers>> start(int count);
  /// Calls stop().
  ~Workers();

  int count() const { return int(threads.size()); }
  /// Queues a task. Any thread, tasks included. After stop(), the task is dropped.
  void submit(uint64_t rank, Task task);
  /// Waits for the running tasks, drops the others, and ends the threads.
  /// Idempotent; not from a task.
  void stop();

private:
  struct Entry {
    uint64_t rank;
    uint64_t number;
    Task task;
  };
  Workers() = default;
  static bool later(const Entry &a, const Entry &b);
  void run(int worker);

  std::mutex lock;
  std::condition_variable wake;
  std::vector<Entry> heap;
  uint64_t submitted = 0;
  bool stopping = false;
  std::vector<std::thread> threads;
};

/// The default floating-point mode for as long as it lives, on this thread, which then has its own
/// mode and flags again. Of x86's both units: the C library rounds text by the older one's.
class FloatMode {
public:
  FloatMode();
  ~FloatMode();
  FloatMode(const FloatMode &) = delete;
  FloatMode &operator=(const FloatMode &) = delete;

private:
  std::fenv_t saved;
};

} // namespace penstock::runtime
