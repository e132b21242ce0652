// SPDX-License-Identifier: Apache-2.0
//
// The devices that batches live and pixel kernels run on: the host, or an accelerator.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

struct pst_sample_status;

namespace penstock::runtime {

/// Marks a point in a stream's work. Reusable: recording again moves it.
class DeviceEvent {
public:
  virtual ~DeviceEvent() = default;
  /// True when everything up to the last record() is done, or has failed. Never blocks.
  virtual bool done() const = 0;
  /// Blocks until done(). Errors are those of the work waited for.
  virtual Status wait() = 0;
};

/// An entry point of device code.
struct DeviceKernel {
  void *handle = nullptr;
  uint32_t together = 0; ///< blocks that run at once where nothing else does; 0: nobody asked
};

/// One launch of a kernel as runtime/abi/kernel.h describes it.
struct DeviceLaunch {
  DeviceKernel kernel;
  uint32_t blocks = 1;      ///< for each sample
  uint32_t count = 0;       ///< samples, at most PST_MAX_GRID_Y
  uint32_t threads = 0;     ///< of a block
  uint32_t sharedBytes = 0; ///< dynamic shared memory of a block
  const void *records = nullptr;
  pst_sample_status *status = nullptr;
};

/// Work that is done in the order in which it was queued, late. Callable from any thread,
/// by one at a time.
class DeviceStream {
public:
  virtual ~DeviceStream() = default;

  /// Queue a copy between host and device memory. Both sides must stay alive, and the
  /// host's untouched, until an event that is recorded later is done.
  virtual Status copyToDevice(void *device, const void *host, size_t bytes) = 0;
  virtual Status copyToHost(void *host, const void *device, size_t bytes) = 0;
  /// Queue a copy within the device. The two must not overlap.
  virtual Status copy(void *to, const void *from, size_t bytes) = 0;
  /// Queue the writing of zeros.
  virtual Status clear(void *device, size_t bytes) = 0;
  virtual Status launch(const DeviceLaunch &launch) = 0;
  virtual Status record(DeviceEvent &event) = 0;
  /// Makes work that is queued later wait for `event`, as it is recorded now.
  virtual Status waitFor(const DeviceEvent &event) = 0;
  /// Waits until nothing is queued, or can be done any more.
  virtual Status finish() = 0;
};

/// Compiled kernels for devices of one kind.
struct DeviceImage {
  int architecture = 0; ///< of a cubin: 90 for sm_90; of PTX: the least it needs
  bool isPtx = false;
  std::string bytes;
};

/// Kernels that a device has loaded.
class DeviceCode {
public:
  virtual ~DeviceCode() = default;
  /// `sharedBytes`: the most that a launch of it asks for. `threads` of a block: asks how many run
  /// at once. NotFound where there is no such kernel; Unsupported where no block may have as much.
  virtual Result<DeviceKernel> kernel(const std::string &name, uint32_t sharedBytes = 0,
                                      uint32_t threads = 0) = 0;
};

/// Bytes that were taken through a device and not given back.
struct DeviceMemory {
  uint64_t device = 0;
  uint64_t pinned = 0; ///< of the host
};

/// A device with memory. Callable from any thread. The objects it makes keep it alive.
class Device {
public:
  virtual ~Device() = default;

  /// "cpu"; "NVIDIA H200".
  virtual const std::string &name() const = 0;
  /// True where host code may touch the device's memory.
  virtual bool isHost() const = 0;
  /// Returns the number of this GPU of the machine; -1: the host.
  virtual int number() const = 0;

  /// Memory aligned to 64 bytes, freed with the last reference; null where
  /// there is none left.
  virtual std::shared_ptr<void> allocate(size_t bytes) = 0;
  /// As allocate(), for host memory that copies to this device are fast from.
  virtual std::shared_ptr<void> allocateHost(size_t bytes) = 0;
  /// Returns the bytes taken by allocate() (where the host may not touch them) and allocateHost().
  virtual DeviceMemory taken() const = 0;

  virtual Result<std::unique_ptr<DeviceStream>> makeStream() = 0;
  virtual Result<std::unique_ptr<DeviceEvent>> makeEvent() = 0;
  /// Records an event after the work queued now on a foreign stream (a CUstream). Null where
  /// that is done already, or was waited for as there can be no event.
  virtual std::unique_ptr<DeviceEvent> eventAfter(void *stream) = 0;
  /// Loads the one of `images` that suits the device best. Unsupported where none does.
  virtual Result<std::shared_ptr<DeviceCode>> load(const std::vector<DeviceImage> &images) = 0;
};

} // namespace penstock::runtime
