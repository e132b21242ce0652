#include "runtime/device/FakeDevice.h"

#include <cstdlib>
#include <cstring>

namespace penstock::runtime {

/// Marks how many operations were queued when it was recorded.
class FakeDevice::Event final : public DeviceEvent {
public:
  explicit Event(FakeDevice &device) : device(device) {}

  bool done() const override {
    std::lock_guard guard(device.lock);
    return device.finished >= at;
  }
  Status wait() override {
    std::lock_guard guard(device.lock);
    while (device.finished < at)
      device.doOne();
    if (device.broken)
      return Error{Code::Io, "the fake device failed"};
    return {};
  }

  FakeDevice &device;
  uint64_t at = 0;
};

std::shared_ptr<void> FakeDevice::allocate(size_t bytes) {
  std::lock_guard guard(lock);
  if (bytes > left)
    return nullptr;
  const size_t size = (bytes + 63) / 64 * 64;
  void *memory = std::aligned_alloc(64, size ? size : 64);
  if (!memory)
    return nullptr;
  std::memset(memory, poison, bytes);
  left -= bytes;
  return std::shared_ptr<void>(memory, [self = shared_from_this(), bytes](void *address) {
    std::lock_guard guard(self->lock);
    // Whatever is still queued for this memory must not touch it afterwards.
    while (!self->queue.empty())
      self->doOne();
    std::free(address);
    self->left += bytes;
  });
}

Status FakeDevice::enqueue(void *to, const void *from, size_t bytes) {
  std::lock_guard guard(lock);
  if (bytes)
    std::memset(to, poison, bytes);
  queue.push_back({to, from, bytes, failing == 0});
  if (failing >= 0)
    --failing;
  ++queued;
  return {};
}

Status FakeDevice::copyToDevice(void *device, const void *host, size_t bytes) {
  return enqueue(device, host, bytes);
}

Status FakeDevice::copyToHost(void *host, const void *device, size_t bytes) {
  return enqueue(host, device, bytes);
}

std::unique_ptr<DeviceEvent> FakeDevice::makeEvent() { return std::make_unique<Event>(*this); }

Status FakeDevice::record(DeviceEvent &event) {
  std::lock_guard guard(lock);
  static_cast<Event &>(event).at = queued;
  return {};
}

void FakeDevice::doOne() {
  const Operation next = queue.front();
  queue.pop_front();
  ++finished;
  broken |= next.fails;
  if (!broken && next.bytes)
    std::memcpy(next.to, next.from, next.bytes);
}

bool FakeDevice::advance() {
  std::lock_guard guard(lock);
  if (queue.empty())
    return false;
  for (uint64_t count = 1 + random() % queue.size(); count > 0; --count)
    doOne();
  return true;
}

void FakeDevice::failAfter(int count) {
  std::lock_guard guard(lock);
  failing = count;
}

size_t FakeDevice::freeBytes() const {
  std::lock_guard guard(lock);
  return left;
}

} // namespace penstock::runtime
