// SPDX-License-Identifier: Apache-2.0
//
// Headers of tar files that every tar reads.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// Returns a header of ustar; names that do not fit get an extended header of pax before it. Owner
/// and group are 0, the mode is 0644: the bytes depend on the arguments only.
std::vector<uint8_t> tarHeader(std::string_view name, uint64_t size, int64_t modifiedSeconds);
/// Zeros from the end of contents of this size to the next header.
std::vector<uint8_t> tarPadding(uint64_t size);
/// The two blocks of zeros at the end of a tar file.
std::vector<uint8_t> tarEnd();

} // namespace penstock::runtime
