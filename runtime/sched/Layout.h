// SPDX-License-Identifier: Apache-2.0
//
// A plan with its slots, shapes and kernels laid out for the inner loop.
#pragma once

#include "runtime/abi/kernel.h"
#include "runtime/core/KernelTable.h"
#include "runtime/core/Plan.h"
#include "runtime/sched/ChainRecords.h"
#include "runtime/sched/JoinedRecords.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::runtime {

/// An extent: a number, or a parameter of the block.
struct SlotExtent {
  int64_t value = 0;
  int32_t slot = -1;
  int64_t bound = -1;

  int64_t of(const int64_t *block) const { return slot < 0 ? value : block[slot]; }
  /// The largest it may be; -1 where nothing says.
  int64_t largest() const { return slot < 0 ? value : bound; }
};

struct BufferLayout {
  plan::BufferKind kind = plan::BufferKind::temporary;
  int64_t elementBytes = 1;
  int rank = 0;
  std::array<SlotExtent, PST_MAX_RANK> extents;
  bool isStatic = true;
  /// Extents and strides where static; strides of output buffers always.
  pst_tensor shape{};
  int64_t bytes = -1; ///< of the largest; -1 where nothing says
  int row = -1, column = -1, output = -1;
  std::vector<int32_t> choices;
  int32_t indexSlot = -1;
  /// Number among the buffers kept per slot, of a buffer that is read in a later stage than it is
  /// made, or by other samples; else -1.
  int kept = -1;
  int place = -1;              ///< memory that it shares; -1: its own
  int stage = 0;               ///< in which it is made
  bool once = false;           ///< by the first sample, for the whole batch
  bool readByAll = false;      ///< those of all samples lie one behind the other
  int64_t constantOffset = -1; ///< in Layout::constants

  /// Returns the buffer that an alias stands for in a sample with this block.
  int32_t chosen(const int64_t *block) const {
    return choices[size_t(std::clamp<int64_t>(block[indexSlot], 0, int64_t(choices.size()) - 1))];
  }
  /// Returns the buffers of all samples as one tensor, `n` first: they lie one behind the other.
  pst_tensor ofAll(const pst_tensor &first, int64_t count) const;
};

struct StepLayout {
  std::string name; ///< `k0`, `codec0`: as `explain` calls it
  pst_kernel code = nullptr;
  int kernel = 0;
  plan::Codec codec = plan::Codec::none; ///< in place of the two
  int stage = 0;
  struct Input {
    int buffer;
    int peerSlot;
    bool all;      ///< of all samples
    int64_t count; ///< how many there must be; -1: any number
  };
  std::vector<Input> inputs;
  std::vector<int32_t> outputs;
  std::vector<int32_t> scalars;
  int32_t guard = -1;
  bool once = false; ///< for the first sample of a batch alone
  /// Set if only scalars and results of such steps, `sources`, go into its results, which are
  /// small.
  bool isConstant = false;
  std::vector<int> sources;
  const plan::DeviceKernelT *device = nullptr; ///< where its kernel is a device's; the plan's
  int join = -1;                               ///< one launch with others: number in Layout::joins
  uint32_t body = 0;                           ///< of its kernel there
  int chain = -1;                              ///< of that launch
  int parts = 0;                               ///< one in each of so many chains
};

/// Steps of a device that are one launch.
struct JoinLayout {
  const plan::JoinT *launch; ///< with `chains` or without
  size_t steps = 0;          ///< how many
  /// Of a sample, or of one of its chains.
  size_t recordBytes() const {
    return launch->chains ? ChainRecords::bytes(launch->room) : JoinedRecords::bytes(steps);
  }
};

struct OutputLayout {
  std::string name;
  plan::DType type = plan::DType::none;
  std::vector<std::string> axes;
  /// By position in `axes`: extents (the bound where dynamic; 0 for n).
  std::vector<int64_t> extents;
  std::vector<int> stored; ///< positions in `axes`, outermost first
  int nAxis = 0;
  int raggedAxis = -1;
  int32_t lengthSlot = -1;
  int32_t scalarSlot = -1;
  /// Numbers of elements that kernels find; see plan.fbs.
  struct Count {
    int buffer;
    int64_t limit;
    int32_t check;
    bool isLength;
  };
  std::vector<Count> counts;
  std::vector<uint8_t> fill; ///< of a ragged output that is filled up to the batch's longest
  bool onDevice = false;     ///< delivered in a device's memory
  bool madeOnDevice = false; ///< by kernels there
  int64_t elementBytes = 1;
  int64_t sampleBytes = 1; ///< of one sample, at its largest

  /// Strides in bytes of a block of `count` samples, by position in `axes`.
  std::vector<int64_t> strides(int64_t count) const;
};

struct KernelScratch {
  int64_t fixed = 0;
  struct Term {
    int64_t bytes;
    std::vector<SlotExtent> extents;
  };
  std::vector<Term> terms;
};

/// Everything about a plan that does not change from session to session.
/// Refers into the plan, which it keeps alive.
struct Layout {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<const KernelTable> kernels;

  pst_kernel rows = nullptr; ///< which rows the order takes
  pst_kernel select = nullptr;
  pst_kernel setup = nullptr;
  std::vector<BufferLayout> buffers;
  std::vector<StepLayout> steps; ///< by stage
  std::vector<JoinLayout> joins;
  const plan::DeviceKernelT *planes = nullptr; ///< makes pixels of planes; the plan's
  std::vector<size_t> stageBegin;              ///< by stage, and one past the last
  std::vector<OutputLayout> outputs;
  std::vector<KernelScratch> scratch; ///< by kernel
  /// Most that the kernels may need that run before there is a sample.
  static constexpr int64_t earlyScratch = 1 << 20;
  std::vector<uint8_t> constantBytes;
  const uint8_t *constants = nullptr; ///< aligned to 64
  std::vector<int> kept;              ///< buffers kept per slot
  std::vector<int64_t> places;        ///< bytes of the largest static buffer of each
  /// Bytes of one sample's temporaries and scratch, as far as they are static.
  int64_t staticScratch = 0;

  /// Returns the number of samples that every batch must have; -1: any number.
  int64_t exactCount() const;

  const plan::PlanT &tree() const { return plan->contents(); }
  int stages() const { return int(stageBegin.size()) - 1; }
  /// The stage of a device, the last one, which may have no steps where outputs are only copied
  /// there; -1: there is none.
  int deviceStage() const { return hasDeviceStage ? stages() - 1 : -1; }
  bool hasDeviceStage = false;
  /// Returns whether samples need others of their batch.
  bool joinsSamples() const;

  /// InvalidArgument where the table has other kernels than the plan. `onHost`: outputs that the
  /// plan has on a device are delivered in the host's memory.
  static Result<std::shared_ptr<const Layout>> make(std::shared_ptr<const Plan> plan,
                                                    std::shared_ptr<const KernelTable> kernels,
                                                    bool onHost = false);
};

/// Rounds up to the alignment of storage.
constexpr int64_t alignStorage(int64_t bytes) { return (bytes + 63) / 64 * 64; }
/// Readable bytes behind every input.
inline constexpr int64_t storageSlack = 64;

} // namespace penstock::runtime
