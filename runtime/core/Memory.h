// SPDX-License-Identifier: Apache-2.0
//
// Memory for buffers whose size follows the data.
#pragma once

#include "runtime/core/Status.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace penstock::runtime {

/// `size` bytes at a 64-byte aligned address, with unspecified contents; null
/// where there is no memory. freeMemory() with the same size gives them back.
/// Thread-safe.
uint8_t *allocateMemory(size_t size);
/// Frees memory; null is allowed. Pieces of 256 KiB and more go back to the system at once.
void freeMemory(uint8_t *bytes, size_t size);

/// Keeps addresses apart, which cost no memory, until the first noMemory(): an error that is told
/// where no byte is left needs some. Thread-safe; for each session anew.
void keepReserve();
/// Returns the error of an allocation that failed, `purpose` being "to ..." or "for ...": no data
/// is to blame, and others would fare no better.
Error noMemory(std::string_view purpose);

} // namespace penstock::runtime
