// SPDX-License-Identifier: Apache-2.0
//
// The tensors of one sample, while a thread computes it.
#pragma once

#include "runtime/sched/Program.h"
#include "runtime/sched/Scratch.h"
#include "runtime/sched/Work.h"

#include <vector>

namespace penstock::runtime {

/// Sets a buffer's extents by a sample's block, and its strides but for an output's. False if
/// extents exceed their bounds.
[[nodiscard]] bool shapeByBlock(const Layout &layout, const plan::PlanT &tree, int buffer,
                                const int64_t *block, pst_tensor &tensor, Failure &failure);

/// Shapes and memory of a sample's buffers, by their numbers in the plan; the
/// data of what is not made yet is null. Memory lies in the batch's block where
/// other stages or samples read it, else in the scratch of the thread.
class SampleBuffers {
public:
  SampleBuffers(const Program &program, Scratch &scratch);

  /// Begins a stage of a sample, with the buffers that earlier ones have kept.
  void begin(Work &work, int64_t slot, int stage);
  /// Ends the stage: its scratch is free.
  void end();

  int64_t *block = nullptr; ///< the parameter block of the sample at hand
  pst_tensor &operator[](int32_t buffer) { return tensors[size_t(buffer)]; }

  // Inline: called for each step of each sample.

  /// Sets the extents and strides that the block gives.
  bool shape(int buffer, Failure &failure) {
    return layout.buffers[size_t(buffer)].isStatic ||
           shapeByBlock(layout, tree, buffer, block, tensors[size_t(buffer)], failure);
  }
  /// Takes room for a temporary or a decoded region; null if there is none.
  uint8_t *storageFor(Work &work, int64_t slot, const BufferLayout &buffer, int64_t bytes);
  /// Returns why storageFor() gave nothing for `what`.
  Error refusal(const BufferLayout &buffer, std::string_view what, int64_t bytes) const;
  void bindOutputs(Work &work, int64_t slot, int stage);
  /// Returns a step's input, of this sample, a peer or all samples. Of all, it is valid until the
  /// next such call.
  const pst_tensor *input(Work &work, const StepLayout::Input &input) {
    // An alias that was kept stands for itself: its choices may be gone.
    const pst_tensor &tensor = tensors[size_t(input.buffer)];
    if (input.peerSlot >= 0)
      return ofPeer(work, input);
    if (input.all)
      return ofAll(work, input);
    return tensor.data ? &tensor : &own(input.buffer);
  }
  /// A buffer of this sample, or the one that an alias stands for.
  const pst_tensor &own(int buffer) const;
  /// Keeps the buffers of this stage that later stages and peers read.
  void keep(Work &work, int64_t slot, int stage);

private:
  const pst_tensor *ofPeer(Work &work, const StepLayout::Input &input);
  const pst_tensor *ofAll(Work &work, const StepLayout::Input &input);

  const Layout &layout;
  const plan::PlanT &tree;
  Scratch &scratch;
  std::vector<pst_tensor> tensors;
  pst_tensor everySample{};
  struct Place {
    uint8_t *data = nullptr;
    int64_t bytes = -1;
  };
  std::vector<Place> places; // memory that buffers share
};

} // namespace penstock::runtime
