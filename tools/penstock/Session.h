// SPDX-License-Identifier: Apache-2.0
//
// Sessions, as the commands need them.
#pragma once

#include "tools/penstock/Program.h"
#include <atomic>
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

/// Blocks SIGINT and SIGTERM in this thread and all that it starts. Call it
/// before any other thread exists.
void blockInterrupts();

/// While it lives, an interrupt cancels the session.
class CancelOnInterrupt {
public:
  explicit CancelOnInterrupt(pst_session *session);
  ~CancelOnInterrupt();
  bool interrupted() const { return seen; }

private:
  std::atomic<bool> seen = false;
  std::atomic<bool> done = false;
  std::thread waiter;
};

} // namespace penstock::cli
