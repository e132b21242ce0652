// Where batches live and pixel kernels run: the host, or an accelerator.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace penstock::runtime {

/// Marks a point in a device's queue of work. Reusable: recording again moves it.
class DeviceEvent {
public:
  virtual ~DeviceEvent() = default;
  /// True when everything up to the last record() is done. Never blocks.
  virtual bool done() const = 0;
  /// Blocks until done(). Errors are those of the work waited for.
  virtual Status wait() = 0;
};

/// A device with memory and one queue of work in order. Callable from any
/// thread; copies of one queue run in the order of the calls.
class Device {
public:
  virtual ~Device() = default;

  virtual const char *name() const = 0;
  /// True where host code may touch the device's memory.
  virtual bool isHost() const = 0;

  /// Memory aligned to 64 bytes, freed with the last reference; null where
  /// there is none left. May be used by copies as long as it lives.
  virtual std::shared_ptr<void> allocate(size_t bytes) = 0;
  /// The same for host memory that copies to this device are fast from.
  virtual std::shared_ptr<void> allocateHost(size_t bytes) = 0;

  /// Queue a copy between host and device memory. The host side must stay
  /// alive and untouched until an event that is recorded later is done.
  virtual Status copyToDevice(void *device, const void *host, size_t bytes) = 0;
  virtual Status copyToHost(void *host, const void *device, size_t bytes) = 0;

  virtual std::unique_ptr<DeviceEvent> makeEvent() = 0;
  /// `event` is one of this device's.
  virtual Status record(DeviceEvent &event) = 0;
};

} // namespace penstock::runtime
