// SPDX-License-Identifier: Apache-2.0
//
// Bytes that see how they are read.
#pragma once

#include "runtime/media/MediaBytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

namespace penstock::runtime {

/// Bytes of which only some may be read, each once, from the first to the last.
class Watched final : public MediaBytes {
public:
  Watched(std::span<const uint8_t> bytes, std::vector<ByteRange> parts, bool mayRepeat = false)
      : bytes(bytes), parts(std::move(parts)), mayRepeat(mayRepeat) {}
  uint64_t size() const override { return bytes.size(); }
  Status read(uint64_t offset, std::span<uint8_t> out) override {
    EXPECT_TRUE(mayRepeat || offset >= at) << "bytes are asked for twice";
    at = offset + out.size();
    EXPECT_TRUE(std::ranges::any_of(parts,
                                    [&](const ByteRange &part) {
                                      return offset >= part.offset && at <= part.offset + part.size;
                                    }))
        << "bytes " << offset << " to " << at << " were not announced";
    EXPECT_LE(at, bytes.size());
    std::memcpy(out.data(), bytes.data() + offset, out.size());
    return {};
  }

private:
  std::span<const uint8_t> bytes;
  std::vector<ByteRange> parts;
  bool mayRepeat;
  uint64_t at = 0;
};

} // namespace penstock::runtime
