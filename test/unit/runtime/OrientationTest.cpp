// SPDX-License-Identifier: Apache-2.0
//
// Regions of the upright image, for all orientations. The expected pixels are
// written down per orientation, in the words of the EXIF standard.
#include "runtime/media/Orientation.h"

#include "runtime/media/jpeg/JpegDecoder.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <utility>

using namespace penstock::runtime;

namespace {

/// Row and column of the stored image that lie at (y, x) of the upright one.
std::pair<int, int> storedAt(int exif, int y, int x, int height, int width) {
  switch (exif) {
  case 2:
    return {y, width - 1 - x}; // mirrored
  case 3:
    return {height - 1 - y, width - 1 - x}; // upside down
  case 4:
    return {height - 1 - y, x}; // mirrored, upside down
  case 5:
    return {x, y}; // mirrored, on its side
  case 6:
    return {height - 1 - x, y}; // row 0 is on the right
  case 7:
    return {height - 1 - x, width - 1 - y}; // mirrored, on the other side
  case 8:
    return {x, width - 1 - y}; // row 0 is on the left
  default:
    return {y, x};
  }
}

struct Turned : testing::TestWithParam<int> {};

TEST_P(Turned, RegionsEqualTheUprightFullDecode) {
  const int exif = GetParam();
  const Orientation orientation(exif);
  std::mt19937 random{unsigned(exif)};
  JpegDecoder decoder;
  const JpegRecipe recipes[] = {
      {.name = "444"},
      {.name = "422", .factors = {{{2, 1}, {1, 1}, {1, 1}}}},
      {.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}},
      {.name = "440", .factors = {{{1, 2}, {1, 1}, {1, 1}}}},
      {.name = "411", .factors = {{{4, 1}, {1, 1}, {1, 1}}}},
      {.name = "420p", .factors = {{{2, 2}, {1, 1}, {1, 1}}}, .progressive = true},
      {.name = "gray", .components = 1, .stored = JCS_GRAYSCALE},
  };
  for (const JpegRecipe &recipe : recipes)
    for (PixelFormat format : {PixelFormat::Rgb, PixelFormat::Gray})
      for (int image = 0; image < 12; ++image) {
        const int height = 1 + random() % 90, width = 1 + random() % 90;
        const auto file = randomJpeg(recipe, width, height, random);
        const auto full = plainDecode(file, format == PixelFormat::Rgb ? JCS_RGB : JCS_GRAYSCALE);
        const uint32_t channels = channelsOf(format);
        const uint32_t rows = uint32_t(orientation.isTransposed() ? width : height);
        const uint32_t columns = uint32_t(orientation.isTransposed() ? height : width);
        Region region;
        region.top = random() % rows;
        region.left = random() % columns;
        region.height = 1 + random() % (rows - region.top);
        region.width = 1 + random() % (columns - region.left);

        const Region stored = orientation.stored(region, uint32_t(height), uint32_t(width));
        std::vector<uint8_t> pixels(size_t(stored.height) * stored.width * channels);
        DecodeStats stats;
        Status status = decoder.decodeRegion(file, format, stored, pixels.data(),
                                             size_t(stored.width) * channels, stats);
        ASSERT_TRUE(status) << status.error().message;
        const size_t stride = size_t(region.width) * channels + 3;
        std::vector<uint8_t> out(stride * region.height, 0xA5);
        orientation.copy(pixels.data(), region, channels, out.data(), stride);
        for (uint32_t y = 0; y < region.height; ++y) {
          for (uint32_t x = 0; x < region.width; ++x) {
            const auto [r, c] =
                storedAt(exif, int(region.top + y), int(region.left + x), height, width);
            ASSERT_EQ(std::memcmp(out.data() + y * stride + x * channels,
                                  full.data() + (size_t(r) * size_t(width) + size_t(c)) * channels,
                                  channels),
                      0)
                << recipe.name << " at " << y << ", " << x;
          }
          ASSERT_EQ(out[y * stride + size_t(region.width) * channels], 0xA5) << "behind its row";
        }
      }
}

INSTANTIATE_TEST_SUITE_P(, Turned, testing::Range(1, 9));

TEST(Orientation, SenselessNumbersAreUpright) {
  for (int exif : {0, 1, 9, 255})
    EXPECT_TRUE(Orientation(exif).isUpright()) << exif;
  for (int exif = 2; exif <= 8; ++exif)
    EXPECT_FALSE(Orientation(exif).isUpright()) << exif;
}

} // namespace
