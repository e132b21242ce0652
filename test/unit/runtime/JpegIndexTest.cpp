// SPDX-License-Identifier: Apache-2.0
//
// Decoding from checkpoints.
#include "test/unit/runtime/JpegAgreement.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

using namespace penstock::runtime;

namespace {

JpegOutcome decode(const std::vector<uint8_t> &file, const Region &region,
                   const EntropyIndex *index, const JpegDecoder::Options &options = {},
                   bool checks = true) {
  OneIndex one;
  one.given = index;
  one.checks = checks;
  return decodeJpeg(file, region, PixelFormat::Rgb, options, index ? &one : nullptr);
}

std::vector<uint8_t> boxOf(const std::vector<uint8_t> &full, uint32_t width, const Region &region) {
  std::vector<uint8_t> box;
  for (uint32_t y = 0; y < region.height; ++y) {
    const uint8_t *row = full.data() + (size_t(region.top + y) * width + region.left) * 3;
    box.insert(box.end(), row, row + region.width * 3);
  }
  return box;
}

Region anyRegion(uint32_t width, uint32_t height, std::mt19937 &random) {
  Region region{uint32_t(random() % height), uint32_t(random() % width), 0, 0};
  region.height = 1 + uint32_t(random()) % (height - region.top);
  region.width = 1 + uint32_t(random()) % (width - region.left);
  return region;
}

std::vector<JpegRecipe> recipes() {
  std::vector<JpegRecipe> all;
  for (int restart : {0, 1, 5, 400})
    for (int quality : {30, 90, 100}) {
      all.push_back({.name = "444", .restartInterval = restart, .quality = quality});
      all.push_back({.name = "420",
                     .factors = {{{2, 2}, {1, 1}, {1, 1}}},
                     .restartInterval = restart,
                     .quality = quality,
                     .optimised = true});
      all.push_back({.name = "gray12",
                     .components = 1,
                     .factors = {{{1, 2}}},
                     .stored = JCS_GRAYSCALE,
                     .restartInterval = restart,
                     .quality = quality});
    }
  return all;
}

TEST(JpegIndex, DecodesTheSamePixels) {
  std::mt19937 random(31);
  EntropyIndexer indexer;
  for (const JpegRecipe &recipe : recipes())
    for (int wide = 0; wide < 2; ++wide) {
      const uint32_t width = wide ? 1100 + random() % 100 : 1 + random() % 150;
      const uint32_t height = 1 + random() % (wide ? 60 : 150);
      const auto file = randomJpeg(recipe, int(width), int(height), random);
      const auto full = plainDecode(file, JCS_RGB);
      const auto index = indexer.build(file);
      ASSERT_TRUE(index.ok()) << index.error().message;
      EXPECT_EQ(index->points.size(), size_t(index->pointsPerRow()) * index->mcuRows);
      EXPECT_EQ(index->pointsPerRow() > 1, index->mcusPerRow > EntropyIndexer::longRow);
      for (const EntropyKernels *kernels : entropyKernels())
        for (int i = 0; i < 6; ++i) {
          JpegDecoder::Options options;
          options.kernels = kernels;
          const Region region = i ? anyRegion(width, height, random) : Region{0, 0, height, width};
          const JpegOutcome found = decode(file, region, &*index, options);
          ASSERT_TRUE(found.status.ok()) << found.status.error().message;
          ASSERT_EQ(found.pixels, boxOf(full, width, region))
              << recipe.name << " " << kernels->name << " " << width << " x " << height;
          // Of a whole image it is no use.
          const uint64_t least = region.top >= 32, most = i > 0;
          EXPECT_GE(found.stats.indexUses, least);
          EXPECT_LE(found.stats.indexUses, most);
          EXPECT_EQ(found.stats.entropyPaths[size_t(EntropyPath::Own)], 1u);
        }
    }
}

struct JpegIndexOf420 : testing::Test {
  std::mt19937 random{32};
  JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
  std::vector<uint8_t> file = randomJpeg(recipe, 320, 320, random);
  std::vector<uint8_t> full = plainDecode(file, JCS_RGB);
  EntropyIndex index = *EntropyIndexer().build(file);
  Region region{200, 100, 60, 90};
};

TEST_F(JpegIndexOf420, IsOfThisFileOnly) {
  EXPECT_TRUE(index.fits(file));
  auto changed = file;
  changed[changed.size() / 2] ^= 1;
  EXPECT_FALSE(index.fits(changed));
  auto longer = file;
  longer.push_back(0);
  EXPECT_FALSE(index.fits(longer));
  const JpegOutcome found = decode(longer, region, &index);
  ASSERT_TRUE(found.status.ok());
  EXPECT_EQ(found.pixels, boxOf(full, 320, region));
  EXPECT_EQ(found.stats.indexUses, 0u);
  EXPECT_EQ(found.stats.indexMisses, 1u);
}

/// Shows that what is above the region is not read, with an index that is
/// believed although the file is damaged there.
TEST_F(JpegIndexOf420, ReadsTheRegionOnly) {
  const auto info = probeJpeg(file);
  auto damaged = file;
  const size_t end = index.points[8].bit / 8;
  std::fill(damaged.begin() + long(info->scanOffset), damaged.begin() + long(end), uint8_t(0xFF));
  const JpegOutcome found = decode(damaged, region, &index, {}, false);
  ASSERT_TRUE(found.status.ok());
  EXPECT_EQ(found.pixels, boxOf(full, 320, region));
  EXPECT_FALSE(decode(damaged, region, nullptr).status.ok());
}

TEST_F(JpegIndexOf420, WrongPointsAreHarmless) {
  for (int i = 0; i < 300; ++i) {
    EntropyIndex wrong = index;
    for (EntropyIndex::Point &point : wrong.points) {
      point.bit = random() % 4 ? random() % (file.size() * 8 + 99) : uint64_t(random()) << 32;
      point.predictions.fill(int16_t(random()));
    }
    decode(file, region, &wrong);
  }
  EntropyIndex empty;
  empty.fileSize = file.size();
  empty.checksum = index.checksum;
  empty.mcusPerRow = index.mcusPerRow;
  EXPECT_EQ(decode(file, region, &empty).stats.indexMisses, 1u);
}

TEST_F(JpegIndexOf420, RefusesWhatIsLibjpegs) {
  EntropyIndexer indexer;
  recipe.progressive = true;
  EXPECT_EQ(indexer.build(randomJpeg(recipe, 40, 40, random)).error().message,
            "no checkpoints for this JPEG: other_coding");
  auto cut = file;
  cut.resize(cut.size() - 2);
  EXPECT_EQ(indexer.build(cut).error().message, "no checkpoints for this JPEG: no_end");
  auto damaged = file;
  damaged.erase(damaged.end() - 60, damaged.end() - 2);
  EXPECT_EQ(indexer.build(damaged).error().message, "no checkpoints for this JPEG: odd_data");
  EXPECT_FALSE(indexer.build({}).ok());
}

} // namespace
