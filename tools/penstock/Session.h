// SPDX-License-Identifier: Apache-2.0
//
// Sessions, as the commands need them.
#pragma once

#include "tools/penstock/Program.h"
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>

namespace penstock::cli {

struct CloseSession {
  void operator()(pst_session *session) const { pst_session_close(session); }
};
using SessionPtr = std::unique_ptr<pst_session, CloseSession>;
struct ReleaseBatch {
  void operator()(pst_batch *batch) const { pst_batch_release(batch); }
};
using BatchPtr = std::unique_ptr<pst_batch, ReleaseBatch>;
struct ReleaseSample {
  void operator()(pst_sample *sample) const { pst_sample_release(sample); }
};
using SamplePtr = std::unique_ptr<pst_sample, ReleaseSample>;

enum class Wanted { Batches, Samples };

/// Opens a session, for single samples only or for batches; prints why not to stderr and
/// returns null. Null in silence where `program` is.
SessionPtr openSession(const ProgramPtr &program, const RunOptions &options,
                       Wanted wanted = Wanted::Batches);

/// While it lives, SIGINT and SIGTERM come to a thread of its own: they end the process at once,
/// or do what whenSeen() was told, and end it when a second one comes: what was told may find
/// nobody who reads what is written. Made before any other thread is: those it starts leave them to
/// it.
class Interrupts {
public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts &) = delete;

  /// Makes the first interrupt call `action`, from now on; one that came before has ended the
  /// process.
  void whenSeen(std::function<void()> action);
  bool seen() const { return wasSeen; }

private:
  void wait();

  std::mutex lock; ///< of `action`
  std::function<void()> action;
  std::atomic<bool> wasSeen = false;
  std::atomic<bool> done = false;
  std::thread waiter;
};

} // namespace penstock::cli
