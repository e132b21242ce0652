// SPDX-License-Identifier: Apache-2.0
//
// The host as a device: memory is memory, and copies are done at once.
#pragma once

#include "runtime/device/Device.h"

namespace penstock::runtime {

std::shared_ptr<Device> makeCpuDevice();

} // namespace penstock::runtime
