// SPDX-License-Identifier: Apache-2.0
//
// A plan's kernels and constants on a device, shared by all batches.
#pragma once

#include "runtime/device/Device.h"
#include "runtime/sched/Layout.h"

#include <memory>
#include <mutex>
#include <vector>

namespace penstock::runtime {

/// Shared by the session's threads. Copies to the device and kernels have a stream each, so that
/// one batch is copied while another is computed.
class DeviceProgram {
public:
  /// Without kernels where the stage only copies outputs. Errors: Unsupported where `images` have
  /// no code for the device; Limit without memory; the device's own.
  static Result<std::shared_ptr<DeviceProgram>> load(const Layout &layout,
                                                     std::shared_ptr<Device> device,
                                                     const std::vector<DeviceImage> &images);

  const std::shared_ptr<Device> device;
  /// Kernels by step of the layout; none for steps of the host and joined ones.
  std::vector<DeviceKernel> kernels;
  /// Kernels by join of the layout.
  std::vector<DeviceKernel> joins;
  /// Layout::planes, if there is one.
  DeviceKernel planes{};
  /// Layout::constants on the device.
  uint8_t *constants = nullptr;

  std::mutex lock; ///< of the streams: who queues a batch queues all of it
  std::unique_ptr<DeviceStream> copies, work;

private:
  explicit DeviceProgram(std::shared_ptr<Device> device) : device(std::move(device)) {}
  Status copyConstants(const Layout &layout);

  std::shared_ptr<DeviceCode> code;
  std::shared_ptr<void> constantMemory;
};

} // namespace penstock::runtime
