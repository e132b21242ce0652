// A device for tests: late, out of order with the host, and unforgiving.
#pragma once

#include "runtime/device/Device.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <random>

namespace penstock::runtime {

/// Work is queued and done when the test says so, or when somebody waits for an
/// event. Until then the destination of a copy holds poison, so that reading
/// too early shows; sources are read when the copy is done, so that reusing one
/// too early shows too. New memory is poisoned.
class FakeDevice final : public Device, public std::enable_shared_from_this<FakeDevice> {
public:
  static constexpr uint8_t poison = 0xA5;

  explicit FakeDevice(uint64_t seed = 0, size_t memory = SIZE_MAX) : random(seed), left(memory) {}

  const char *name() const override { return "fake"; }
  bool isHost() const override { return false; }
  std::shared_ptr<void> allocate(size_t bytes) override;
  std::shared_ptr<void> allocateHost(size_t bytes) override { return allocate(bytes); }
  Status copyToDevice(void *device, const void *host, size_t bytes) override;
  Status copyToHost(void *host, const void *device, size_t bytes) override;
  std::unique_ptr<DeviceEvent> makeEvent() override;
  Status record(DeviceEvent &event) override;

  /// Does a random number of the queued operations, in order; false where none
  /// was queued.
  bool advance();
  /// The operation that is queued `count` operations from now fails, and so
  /// does every wait for what follows it.
  void failAfter(int count);
  size_t freeBytes() const;

private:
  class Event;
  struct Operation {
    void *to = nullptr;
    const void *from = nullptr;
    size_t bytes = 0;
    bool fails = false;
  };
  Status enqueue(void *to, const void *from, size_t bytes);
  void doOne(); // lock held

  mutable std::mutex lock;
  std::mt19937_64 random;
  std::deque<Operation> queue;
  uint64_t queued = 0, finished = 0;
  int failing = -1;
  bool broken = false;
  size_t left;
};

} // namespace penstock::runtime
