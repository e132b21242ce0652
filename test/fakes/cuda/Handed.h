// SPDX-License-Identifier: Apache-2.0
//
// What a launch hands its kernel beside tensors: records and states (runtime/abi/kernel.h).
#pragma once

#include "runtime/device/cuda/FakeDriver.h"

#include <cstdint>
#include <string>
#include <vector>

namespace penstock::runtime::cuda {

struct HandedMemory {
  const char *name;
  uint8_t *begin, *end;
};

/// Returns what a launch of a kernel of `text` hands over, in ascending order.
std::vector<HandedMemory> handedBy(const std::string &text, const FakeLaunch &launch);

} // namespace penstock::runtime::cuda
