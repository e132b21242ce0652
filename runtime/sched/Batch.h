// SPDX-License-Identifier: Apache-2.0
//
// A delivered batch and its outputs.
#pragma once

#include "runtime/abi/plan_generated.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace penstock::runtime {

/// One output of a batch, as the user's `output` line declares it.
struct OutputView {
  std::string name;
  plan::DType type = plan::DType::none;
  /// In the order of `axes`. A ragged output has one axis in the place of `n`
  /// and its ragged axis: all values, one sample after the other.
  std::vector<std::string> axes;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides; ///< in bytes
  const void *data = nullptr;   ///< aligned to 64 bytes; of the device's memory, if it has one
  /// Ragged outputs: sample i has the values offsets[i] .. offsets[i + 1].
  const int64_t *offsets = nullptr;
  int device = -1;                        ///< the number of the GPU; -1: the host
  const int64_t *deviceOffsets = nullptr; ///< `offsets` there
};

/// A batch of one rank. Owns its memory, which goes back to the session's pool
/// (or is freed, where the session is closed) when the batch is destroyed. The
/// session may be closed first. Destroying is possible on any thread.
class Batch {
public:
  virtual ~Batch() = default;

  virtual uint32_t epoch() const = 0;
  /// Samples in it: the batch size, or fewer at the end of an epoch with
  /// `last keep`.
  virtual int64_t count() const = 0;
  virtual const std::vector<OutputView> &outputs() const = 0;
  /// By slot: the position in the epoch, and the row that fills it (a
  /// substitute's row where the position's own was bad).
  virtual const std::vector<int64_t> &positions() const = 0;
  virtual const std::vector<int64_t> &rows() const = 0;
  /// Nanoseconds that next() waited for this batch.
  virtual int64_t waitedNs() const = 0;
  /// 64-bit hash of the bytes of one sample's outputs, padding of the block
  /// excluded. Computed on request; of outputs on a device, from a copy. 0 where that cannot be
  /// read.
  virtual uint64_t contentHash(int64_t slot) const = 0;
  /// Returns an output's values in the host's memory, by its strides; from a device, a copy, which
  /// lives as long as the batch. Null where that cannot be read. Any thread.
  virtual const void *onHost(size_t output) const = 0;
  /// The session's CUDA stream.
  virtual void *stream() const = 0;
  /// Marks outputs on a device as used by the work queued on a CUDA stream: their memory is written
  /// again behind it. Without a call, the session's stream counts. Any thread.
  virtual void usedOn(void *stream) = 0;
};

using BatchPtr = std::unique_ptr<Batch>;

} // namespace penstock::runtime
