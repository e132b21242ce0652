// SPDX-License-Identifier: Apache-2.0
//
// Computes samples on one thread.
#pragma once

#include "runtime/sched/Codecs.h"
#include "runtime/sched/ConstantSteps.h"
#include "runtime/sched/SampleBuffers.h"
#include "runtime/sched/SampleMedia.h"
#include "runtime/sched/Setup.h"

#include <vector>

namespace penstock::runtime {

/// The state that one thread needs beside the batch: buffers of the sample at
/// hand, scratch, decoders. The thread must be in the default floating-point
/// mode (FloatMode).
class SampleRunner {
public:
  SampleRunner(std::shared_ptr<const Program> program, ScratchLimits &limits, const Clock &clock);

  /// Position to rows: fills the block, runs the select kernel, and sets the
  /// rows that the sample needs (substitutes where attempts say so). False where
  /// it was stopped (Work::stop); so do the stages then.
  [[nodiscard]] bool select(Work &work, int64_t slot);
  /// Prefetches for firstStage() of this selected slot, which comes next.
  void prefetch(Work &work, int64_t slot) const;
  /// Fields, headers, setup, decoding and the steps of stage 0, from bytes that
  /// are in `work.media()`. Everything goes to the slot's place in the batch.
  [[nodiscard]] bool firstStage(Work &work, int64_t slot, Failure &failure);
  /// The steps of a stage >= 1; every sample of `work` has passed the last one.
  [[nodiscard]] bool laterStage(Work &work, int64_t slot, int stage, Failure &failure);

  /// Returns the times and counts since the last call.
  Costs takeCosts();
  /// Sets the number of samples that the next one's times stand for; 0: it is not timed.
  void setTimed(int64_t samples) { timed = samples; }

private:
  bool fields(Work &work, int64_t slot, Failure &failure);
  bool runSetup(const Work &work, Failure &failure);
  bool runStage(Work &work, int64_t slot, int stage, Failure &failure);
  /// Runs a step of a sample: binds its inputs and outputs, and runs its kernel or codec.
  bool runStep(Work &work, int64_t slot, const StepLayout &step, Failure &failure);
  /// Runs a step whose tensors and scalars are bound. A step that `isMade` takes its memory all the
  /// same: whether a sample has enough must not depend on the thread.
  bool runCode(const Work &work, const StepLayout &step, bool isMade, Failure &failure);
  bool runCodec(const StepLayout &step, Failure &failure);
  void storeScalars(Work &work, int64_t slot);
  int64_t scratchBytes(int kernel, const int64_t *block) const {
    return runtime::scratchBytes(layout.scratch[size_t(kernel)], block);
  }

  std::shared_ptr<const Program> program;
  const Layout &layout;
  const plan::PlanT &tree;
  const Clock &clock;
  Costs costs;
  Scratch scratch;
  SampleBuffers buffers;
  ConstantSteps constants;
  SampleMedia media;
  Codecs codecs;
  std::vector<Buffer> fieldStorage; // by buffer
  std::vector<pst_tensor> arguments;
  std::vector<int64_t> scalars;
  int64_t timed = 1;
};

} // namespace penstock::runtime
