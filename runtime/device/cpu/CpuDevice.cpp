// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cpu/CpuDevice.h"

#include <cstring>
#include <sys/mman.h>

namespace penstock::runtime {

namespace {

class DoneEvent final : public DeviceEvent {
public:
  bool done() const override { return true; }
  Status wait() override { return {}; }
};

class CpuStream final : public DeviceStream {
public:
  Status copyToDevice(void *device, const void *host, size_t bytes) override {
    std::memcpy(device, host, bytes);
    return {};
  }
  Status copyToHost(void *host, const void *device, size_t bytes) override {
    std::memcpy(host, device, bytes);
    return {};
  }
  Status copy(void *to, const void *from, size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status clear(void *device, size_t bytes) override {
    std::memset(device, 0, bytes);
    return {};
  }
  Status launch(const DeviceLaunch &) override {
    return Error{Code::Unsupported, "the host runs no kernels of a device"};
  }
  Status record(DeviceEvent &) override { return {}; }
  Status waitFor(const DeviceEvent &) override { return {}; }
  Status finish() override { return {}; }
};

class CpuDevice final : public Device {
public:
  const std::string &name() const override { return ownName; }
  bool isHost() const override { return true; }
  int number() const override { return -1; }

  std::shared_ptr<void> allocate(size_t bytes) override {
    // Blocks of batches are large and written once from end to end: large
    // pages save most of the page faults and table misses.
    bytes = bytes ? bytes : 1;
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      return nullptr;
    madvise(memory, bytes, MADV_HUGEPAGE); // where it is refused, all works as before
    return std::shared_ptr<void>(memory, [bytes](void *address) { munmap(address, bytes); });
  }
  std::shared_ptr<void> allocateHost(size_t bytes) override { return allocate(bytes); }

  DeviceMemory taken() const override { return {}; }

  Result<std::unique_ptr<DeviceStream>> makeStream() override {
    return std::unique_ptr<DeviceStream>(new CpuStream());
  }
  Result<std::unique_ptr<DeviceEvent>> makeEvent() override {
    return std::unique_ptr<DeviceEvent>(new DoneEvent());
  }
  std::unique_ptr<DeviceEvent> eventAfter(void *) override { return nullptr; }
  Result<std::shared_ptr<DeviceCode>> load(const std::vector<DeviceImage> &) override {
    return Error{Code::Unsupported, "the host runs no kernels of a device"};
  }

private:
  const std::string ownName = "cpu";
};

} // namespace

std::shared_ptr<Device> makeCpuDevice() { return std::make_shared<CpuDevice>(); }

} // namespace penstock::runtime
