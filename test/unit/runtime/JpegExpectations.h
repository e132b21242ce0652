// SPDX-License-Identifier: Apache-2.0
//
// Expectations on our own entropy decoder.
#pragma once

#include "test/unit/runtime/JpegAgreement.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <string>
#include <vector>

namespace penstock::runtime {

inline Region randomRegion(uint32_t width, uint32_t height, std::mt19937 &random) {
  Region region{uint32_t(random() % height), uint32_t(random() % width), 0, 0};
  region.height = 1 + random() % (height - region.top);
  region.width = 1 + random() % (width - region.left);
  if (random() % 3 == 0)
    region.height = std::min(region.height, 1 + unsigned(random() % 3));
  if (random() % 3 == 0)
    region.width = std::min(region.width, 1 + unsigned(random() % 3));
  return region;
}

struct PathCounts {
  std::array<int, entropyPathCount> counts{};
  int total = 0;
  void add(EntropyPath path) {
    ++counts[size_t(path)];
    ++total;
  }
  int operator[](EntropyPath path) const { return counts[size_t(path)]; }
};

/// The whole file and regions of it, at every level of instructions.
inline void expectAgreement(const std::vector<uint8_t> &file, const std::string &what,
                            std::mt19937 &random, int regions, PathCounts &paths) {
  const auto info = probeJpeg(file);
  ASSERT_TRUE(info.ok()) << what;
  for (const EntropyKernels *kernels : entropyKernels())
    for (int i = 0; i <= regions; ++i) {
      const Region region = i == 0 ? Region{0, 0, info->height, info->width}
                                   : randomRegion(info->width, info->height, random);
      const PixelFormat format = i % 3 == 2 ? PixelFormat::Gray : PixelFormat::Rgb;
      DecodeStats stats;
      ASSERT_EQ(
          jpegDisagreement(file, region, format, {.kernels = kernels, .wholeFile = i == 1}, &stats),
          "")
          << what << " of " << info->width << " x " << info->height << ", region at top "
          << region.top << ", left " << region.left << ", " << region.width << " x "
          << region.height;
      paths.add(pathIn(stats));
    }
}

inline EntropyPath pathOf(const std::vector<uint8_t> &file) {
  const auto info = probeJpeg(file);
  const JpegOutcome outcome =
      decodeJpeg(file, {0, 0, info->height, info->width}, PixelFormat::Rgb, {});
  return pathIn(outcome.stats);
}

} // namespace penstock::runtime
