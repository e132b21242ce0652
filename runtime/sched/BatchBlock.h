// SPDX-License-Identifier: Apache-2.0
//
// The memory of a batch, and its way back to the pool.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/device/Device.h"
#include "runtime/sched/Batch.h"
#include "runtime/sched/Layout.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

namespace penstock::runtime {

/// One allocation of the host's: outputs, offsets of ragged outputs, and storage for the
/// buffers that are kept per slot. One of a device's, where there are outputs that stay there.
class BatchBlock {
public:
  /// Bytes for `count` samples, of the host's memory and of the device's.
  static uint64_t bytesFor(const Layout &layout, int64_t count);
  static uint64_t deviceBytesFor(const Layout &layout, int64_t count);
  /// Makes a block in memory of the host that `device` copies to fast. Null if there is none.
  static std::unique_ptr<BatchBlock> make(std::shared_ptr<const Layout> layout, int64_t count,
                                          std::shared_ptr<Device> device);
  ~BatchBlock();

  const Layout &layout() const { return *plan; }
  int64_t capacity() const { return samples; }
  /// Byte strides of an output, by position in its axes.
  const std::vector<int64_t> &strides(size_t output) const { return outputStrides[output]; }
  /// Returns an output's buffer in the host's memory; there is none for outputs that a device makes
  /// and keeps.
  uint8_t *output(size_t output) const { return base + outputOffsets[output]; }
  /// Return an output's values, and its offsets, on the device.
  uint8_t *deviceOutput(size_t output) const { return deviceBase + deviceOffsets[output]; }
  uint8_t *deviceLengths(size_t output) const { return deviceBase + deviceLengthOffsets[output]; }
  uint8_t *output(size_t output, int64_t slot) const {
    return base + outputOffsets[output] + slot * outputStrides[output][nAxis(output)];
  }
  /// Points `tensor` at a sample in an output's buffer, with its strides; the axes are those of the
  /// output without `n`, in the order of memory.
  void bind(size_t output, int64_t slot, pst_tensor &tensor) const;
  /// Extents of ragged samples; [slot] until compact(), offsets after it. Padded outputs keep
  /// extents, with the longest behind them.
  int64_t *lengths(size_t output) const {
    return reinterpret_cast<int64_t *>(base + lengthOffsets[output]);
  }
  uint8_t *keptStorage(int kept, int64_t slot) const {
    return base + keptOffsets[size_t(kept)] + slot * keptBytes[size_t(kept)];
  }

  /// Lays the strides out for `count` samples, where `n` is not outermost.
  void begin(int64_t count);
  /// Moves the values of ragged outputs together and fills up, where the host has them, and makes
  /// their offsets. Once for a batch.
  void compact(int64_t count);
  /// Returns the bytes of an output that are delivered, after compact().
  int64_t deliveredBytes(size_t output, int64_t count) const;
  std::vector<OutputView> views(int64_t count) const;
  /// Returns an output, or a copy of it, in the host's memory. Null if the copy failed.
  const uint8_t *onHost(size_t output, int64_t count) const;
  /// See Batch::contentHash().
  uint64_t contentHash(int64_t slot, int64_t count) const;

  /// See Batch::usedOn().
  void usedOn(void *stream);
  bool isOrdered() const;
  /// Takes the events that the device waits for before it writes here again.
  std::vector<std::unique_ptr<DeviceEvent>> takeUses();

private:
  BatchBlock() = default;
  int nAxis(size_t output) const { return plan->outputs[output].nAxis; }
  void fillOutput(size_t output, int64_t count);

  std::shared_ptr<const Layout> plan;
  int64_t samples = 0;
  std::shared_ptr<void> memory;
  uint8_t *base = nullptr;
  std::vector<int64_t> outputOffsets, lengthOffsets, keptOffsets, keptBytes;
  std::vector<std::vector<int64_t>> outputStrides;
  bool isCompact = false;

  std::shared_ptr<Device> device;
  std::shared_ptr<void> deviceMemory; ///< null: no output is there
  uint8_t *deviceBase = nullptr;
  std::vector<int64_t> deviceOffsets, deviceLengthOffsets;
  mutable std::mutex lock; ///< guards the members below
  std::vector<std::unique_ptr<DeviceEvent>> uses;
  bool isUsed = false;                               ///< usedOn() was called
  mutable std::vector<std::shared_ptr<void>> copies; ///< by output, of this batch
};

/// Blocks that are used again and again. Outlives its session as long as batches are
/// held.
class BlockPool {
public:
  /// Half of `blocks` are for batches in the making. `most`: how many there may be in
  /// the end, where the caller holds more than the other half. Limit where there is no memory.
  static Result<std::shared_ptr<BlockPool>> make(std::shared_ptr<const Layout> layout,
                                                 int64_t samples, int blocks, int64_t most,
                                                 std::shared_ptr<Device> device);
  /// Takes a free block; null if all are in use, and there may be no more.
  std::unique_ptr<BatchBlock> take();
  /// Calls back, without this pool's lock.
  void giveBack(std::unique_ptr<BatchBlock> block);
  /// Blocks that were handed to the caller of the session are counted apart.
  void deliver() { ++delivered; }
  void giveBackDelivered(std::unique_ptr<BatchBlock> block);
  /// Returns whether the caller holds all blocks that there may be.
  bool allDelivered() const;
  /// Null to stop. When this returns, the old callback is not running. The
  /// callback must not give back.
  void whenReturned(std::function<void()> callback);
  /// Blocks that there are, and samples that each has room for.
  int64_t size() const;
  int64_t capacity() const { return samples; }
  /// Returns whether its blocks are for batches of a layout.
  bool isOf(const Layout &wanted) const { return layout.get() == &wanted; }

private:
  mutable std::mutex lock;
  std::vector<std::unique_ptr<BatchBlock>> blocks;
  std::mutex callbackLock;
  std::function<void()> callback;
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<Device> device;
  int64_t samples = 0;
  int64_t making = 0;
  int64_t count = 0, most = 0; // of `lock`
  std::atomic<int64_t> delivered{0};
};

} // namespace penstock::runtime
