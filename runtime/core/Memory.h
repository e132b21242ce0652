// SPDX-License-Identifier: Apache-2.0
//
// Memory for buffers whose size follows the data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace penstock::runtime {

/// `size` bytes at a 64-byte aligned address, with unspecified contents; null
/// where there is no memory. freeMemory() with the same size gives them back.
/// Thread-safe.
uint8_t *allocateMemory(size_t size);
/// Frees memory; null is allowed. Pieces of 256 KiB and more go back to the system at once.
void freeMemory(uint8_t *bytes, size_t size);

} // namespace penstock::runtime
