// SPDX-License-Identifier: Apache-2.0
//
// Reuse of kernel results that depend on no sample's data: filters, windows, tables.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/sched/SampleBuffers.h"

#include <span>
#include <vector>

namespace penstock::runtime {

/// The results of constant steps (StepLayout::isConstant), which a thread keeps from sample to
/// sample as long as their scalars stay the same. A step with scalars of its own for each
/// sample is run for each: only results whose scalars have come twice are kept.
class ConstantSteps {
public:
  ConstantSteps(const Layout &layout, SampleBuffers &buffers) : layout(layout), buffers(buffers) {}

  /// Returns whether the results of step `number`, whose inputs are bound, are there. Where they
  /// are, or shall be kept, they lie in `outputs` and in the sample's buffers then.
  bool find(size_t number, std::span<const int64_t> scalars, std::span<pst_tensor> outputs);
  /// Marks the step that find() was asked for last as run.
  void keep(size_t number) { steps[number].isMade = steps[number].isKept; }

private:
  struct Step {
    std::vector<int64_t> scalars;  ///< of the last run
    std::vector<uint64_t> sources; ///< versions of the steps that made its inputs
    std::vector<Buffer> memory;    ///< of its outputs
    uint64_t version = 0;          ///< of its results; another one for each run
    bool isKept = false, isMade = false;
  };

  const Layout &layout;
  SampleBuffers &buffers;
  std::vector<Step> steps;
};

} // namespace penstock::runtime
