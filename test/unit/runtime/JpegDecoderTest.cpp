// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/JpegDecoder.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

using namespace penstock::runtime;

namespace {

std::vector<JpegRecipe> allRecipes() {
  std::vector<JpegRecipe> bases = {
      {.name = "444"},
      {.name = "422", .factors = {{{2, 1}, {1, 1}, {1, 1}}}},
      {.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}},
      {.name = "440", .factors = {{{1, 2}, {1, 1}, {1, 1}}}},
      {.name = "411", .factors = {{{4, 1}, {1, 1}, {1, 1}}}},
      {.name = "410", .factors = {{{4, 2}, {1, 1}, {1, 1}}}},
      {.name = "1x4", .factors = {{{1, 4}, {1, 1}, {1, 1}}}},
      {.name = "uneven", .factors = {{{2, 2}, {1, 2}, {2, 1}}}},
      {.name = "tall422", .factors = {{{2, 2}, {1, 2}, {1, 2}}}},
      {.name = "wide422", .factors = {{{4, 1}, {2, 1}, {2, 1}}}},
      {.name = "lumaLow", .factors = {{{1, 1}, {2, 2}, {1, 2}}}},
      {.name = "doubled", .factors = {{{2, 1}, {2, 1}, {2, 1}}}},
      {.name = "rgb", .stored = JCS_RGB},
      {.name = "rgb420", .factors = {{{1, 1}, {2, 2}, {1, 1}}}, .stored = JCS_RGB},
      {.name = "gray", .components = 1, .stored = JCS_GRAYSCALE},
      {.name = "gray22", .components = 1, .factors = {{{2, 2}}}, .stored = JCS_GRAYSCALE},
  };
  std::vector<JpegRecipe> all;
  for (const JpegRecipe &base : bases) {
    all.push_back(base);
    all.push_back(base);
    all.back().name += "-progressive";
    all.back().progressive = true;
    all.push_back(base);
    all.back().name += "-restart";
    all.back().restartInterval = 3;
    if (base.components == 3) {
      all.push_back(base);
      all.back().name += "-scans";
      all.back().separateScans = true;
    }
    all.push_back(base);
    all.back().name += "-arithmetic";
    all.back().arithmetic = true;
  }
  return all;
}

Region randomRegion(int width, int height, std::mt19937 &random) {
  auto pick = [&](int extent, uint32_t &begin, uint32_t &size) {
    // A third each: tiny, anything, and reaching to the far edge.
    uint32_t kind = random() % 3;
    begin = random() % uint32_t(extent);
    uint32_t rest = uint32_t(extent) - begin;
    size = kind == 0 ? 1 + random() % std::min(rest, 3u) : kind == 1 ? 1 + random() % rest : rest;
  };
  Region region;
  pick(height, region.top, region.height);
  pick(width, region.left, region.width);
  return region;
}

/// Decodes a region to its place in room for the whole image: nothing outside
/// the image's rows may be written.
void expectInPlace(JpegDecoder &decoder, const std::vector<uint8_t> &file,
                   const std::vector<uint8_t> &full, int width, PixelFormat format,
                   const Region &region, const std::string &what) {
  const size_t channels = channelsOf(format), row = size_t(width) * channels, stride = row + 5;
  const size_t height = full.size() / row;
  std::vector<uint8_t> image(stride * height, 0xA5);
  const size_t left = region.left * channels;
  DecodeStats stats;
  Status status =
      decoder.decodeRegion(file, format, region, image.data() + region.top * stride + left, stride,
                           stats, JpegDecoder::Beside::Free);
  ASSERT_TRUE(status.ok()) << what << ": " << status.error().message;
  for (size_t y = 0; y < height; ++y) {
    const uint8_t *found = image.data() + y * stride;
    const bool inside = y >= region.top && y < region.top + region.height;
    if (inside) {
      ASSERT_TRUE(std::equal(found + left, found + left + region.width * channels,
                             full.data() + y * row + left))
          << what << " differs in row " << y << " of the image";
    }
    const auto kept = std::count(found + (inside ? row : 0), found + stride, 0xA5);
    ASSERT_EQ(size_t(kept), inside ? 5 : stride) << what << " wrote outside of row " << y;
  }
}

/// Decodes a region and compares it with the same box of `full`.
void expectRegion(JpegDecoder &decoder, const std::vector<uint8_t> &file,
                  const std::vector<uint8_t> &full, int width, PixelFormat format,
                  const Region &region, const std::string &what) {
  uint32_t channels = channelsOf(format);
  size_t stride = region.width * channels + 5;
  std::vector<uint8_t> out(stride * region.height, 0xA5);
  DecodeStats stats;
  Status status = decoder.decodeRegion(file, format, region, out.data(), stride, stats);
  ASSERT_TRUE(status.ok()) << what << ": " << status.error().message;
  for (uint32_t y = 0; y < region.height; ++y) {
    const uint8_t *expected =
        full.data() + (size_t(region.top + y) * width + region.left) * channels;
    const uint8_t *found = out.data() + y * stride;
    ASSERT_TRUE(std::equal(found, found + region.width * channels, expected))
        << what << " differs in row " << y << " of the region at top " << region.top << ", left "
        << region.left << ", " << region.width << " x " << region.height;
    ASSERT_EQ(std::count(found + region.width * channels, found + stride, 0xA5), 5)
        << what << " wrote behind its row";
  }
  expectInPlace(decoder, file, full, width, format, region, what);
}

struct RegionTest : testing::TestWithParam<JpegRecipe> {};

TEST_P(RegionTest, EqualsTheFullDecode) {
  const JpegRecipe &recipe = GetParam();
  std::mt19937 random(unsigned(std::hash<std::string>{}(recipe.name)));
  JpegDecoder decoder;
  for (int image = 0; image < 8; ++image) {
    int width = 1 + random() % 150, height = 1 + random() % 150;
    if (image == 0)
      width = 16, height = 16;
    if (image == 1)
      width = 1 + random() % 4, height = 1 + random() % 4;
    auto file = randomJpeg(recipe, width, height, random);
    for (PixelFormat format : {PixelFormat::Rgb, PixelFormat::Gray}) {
      auto full = plainDecode(file, format == PixelFormat::Rgb ? JCS_RGB : JCS_GRAYSCALE);
      Region whole{0, 0, uint32_t(height), uint32_t(width)};
      expectRegion(decoder, file, full, width, format, whole, recipe.name);
      for (int i = 0; i < 12 && !HasFatalFailure(); ++i)
        expectRegion(decoder, file, full, width, format, randomRegion(width, height, random),
                     recipe.name + " " + std::to_string(width) + " x " + std::to_string(height));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, RegionTest, testing::ValuesIn(allRecipes()), [](const auto &info) {
  std::string name = info.param.name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

/// Every row and column border of one image, at each alignment.
TEST(JpegDecoder, EveryCornerOfASmall420Image) {
  JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
  std::mt19937 random(7);
  const int width = 53, height = 51;
  auto file = randomJpeg(recipe, width, height, random);
  auto full = plainDecode(file, JCS_RGB);
  JpegDecoder decoder;
  for (uint32_t at = 0; at < 50 && !HasFatalFailure(); ++at)
    for (uint32_t size = 1; at + size <= 51 && !HasFatalFailure(); ++size)
      expectRegion(decoder, file, full, width, PixelFormat::Rgb,
                   {at, (at * 7 + size) % 30, size, 1 + (at + size) % 23}, "420");
}

/// libjpeg smooths blocks of progressive files whose last scans are missing,
/// and that looks two blocks far.
TEST(JpegDecoder, RegionsOfUnfinishedProgressiveFiles) {
  JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}, .progressive = true};
  std::mt19937 random(8);
  JpegDecoder decoder;
  for (int scans = 1; scans <= 6; ++scans) {
    auto file = randomJpeg(recipe, 130, 120, random);
    int seen = 0;
    for (size_t i = 0; i + 1 < file.size(); ++i)
      if (file[i] == 0xFF && file[i + 1] == 0xDA && ++seen > scans) {
        file.resize(i);
        file.insert(file.end(), {0xFF, 0xD9});
      }
    auto full = plainDecode(file, JCS_RGB);
    for (int i = 0; i < 30 && !HasFatalFailure(); ++i)
      expectRegion(decoder, file, full, 130, PixelFormat::Rgb, randomRegion(130, 120, random),
                   std::to_string(scans) + " scans");
  }
}

Status decode(const std::vector<uint8_t> &file, const Region &region, DecodeStats &stats,
              JpegDecoder::Options options = {}) {
  std::vector<uint8_t> out(size_t(region.width) * region.height * 3);
  JpegDecoder decoder(options);
  return decoder.decodeRegion(file, PixelFormat::Rgb, region, out.data(), region.width * 3, stats);
}

TEST(JpegDecoder, ASmallRegionTransformsFewBlocks) {
  std::mt19937 random(1);
  JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
  auto file = randomJpeg(recipe, 512, 512, random);
  DecodeStats whole, part, top, bottom;
  ASSERT_TRUE(decode(file, {0, 0, 512, 512}, whole).ok());
  EXPECT_EQ(whole.blocksTransformed, 64u * 64 + 2 * 32 * 32);
  ASSERT_TRUE(decode(file, {0, 0, 64, 512}, top).ok());
  // Four rows of MCUs, and below, where fancy upsampling looks, one of blocks.
  EXPECT_EQ(top.blocksTransformed, 4u * (2 * 64 + 2 * 32) + 64 + 2 * 32);
  ASSERT_TRUE(decode(file, {448, 0, 64, 512}, bottom).ok());
  EXPECT_EQ(bottom.blocksTransformed, whole.blocksTransformed * 5 / 32);
  ASSERT_TRUE(decode(file, {130, 130, 12, 12}, part).ok());
  EXPECT_EQ(part.blocksTransformed, 6u); // one MCU

  EXPECT_EQ(part.images, 1u);
}

TEST(JpegDecoder, CountsOnlyBlocksThatExist) {
  std::mt19937 random(1);
  JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
  auto file = randomJpeg(recipe, 40, 24, random);
  DecodeStats stats;
  ASSERT_TRUE(decode(file, {0, 0, 24, 40}, stats).ok());
  EXPECT_EQ(stats.blocksTransformed, 5u * 3 + 2 * 3 * 2);
}

TEST(JpegDecoder, GrayTransformsOnlyLuma) {
  std::mt19937 random(1);
  JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
  auto file = randomJpeg(recipe, 64, 64, random);
  std::vector<uint8_t> out(64 * 64);
  DecodeStats stats;
  JpegDecoder decoder;
  ASSERT_TRUE(
      decoder.decodeRegion(file, PixelFormat::Gray, {0, 0, 64, 64}, out.data(), 64, stats).ok());
  EXPECT_EQ(stats.blocksTransformed, 64u);
}

TEST(JpegDecoder, ConvertsCmykAsPillowDoes) {
  std::mt19937 random(5);
  auto scaled = [](int a, int b) {
    int t = a * b + 128;
    return ((t >> 8) + t) >> 8;
  };
  for (J_COLOR_SPACE stored : {JCS_CMYK, JCS_YCCK}) {
    JpegRecipe recipe{.name = "cmyk", .components = 4, .stored = stored};
    if (stored == JCS_YCCK)
      recipe.factors = {{{2, 2}, {1, 1}, {1, 1}, {2, 2}}};
    auto file = randomJpeg(recipe, 45, 37, random);
    auto raw = plainDecode(file, JCS_CMYK);
    std::vector<uint8_t> rgb, gray;
    for (size_t i = 0; i < raw.size(); i += 4) {
      int nk = 255 - (255 - raw[i + 3]);
      int c[3];
      for (int k = 0; k < 3; ++k) {
        c[k] = std::clamp(nk - scaled(255 - raw[i + size_t(k)], nk), 0, 255);
        rgb.push_back(uint8_t(c[k]));
      }
      gray.push_back(uint8_t((19595 * c[0] + 38470 * c[1] + 7471 * c[2] + 32768) >> 16));
    }
    JpegDecoder decoder;
    for (int i = 0; i < 40; ++i) {
      Region region = randomRegion(45, 37, random);
      expectRegion(decoder, file, rgb, 45, PixelFormat::Rgb, region, "cmyk");
      expectRegion(decoder, file, gray, 45, PixelFormat::Gray, region, "cmyk");
    }
  }
}

TEST(JpegDecoder, RefusesARegionOutsideTheImage) {
  std::mt19937 random(1);
  auto file = randomJpeg({.name = "444"}, 20, 10, random);
  DecodeStats stats;
  EXPECT_EQ(decode(file, {5, 0, 6, 20}, stats).error().message,
            "region of 20 x 6 at left 0, top 5 is not inside the image of 20 x 10");
  EXPECT_FALSE(decode(file, {0, 0, 0, 20}, stats).ok());
  EXPECT_FALSE(decode(file, {0, 0xFFFFFFFF, 1, 2}, stats).ok());
}

TEST(JpegDecoder, KeepsItsMemoryFromImageToImage) {
  std::mt19937 random(1);
  auto file = randomJpeg({.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}}, 700, 500, random);
  std::vector<uint8_t> out(700 * 500 * 3);
  DecodeStats stats;
  JpegDecoder decoder;
  uint64_t held = 0;
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(
        decoder.decodeRegion(file, PixelFormat::Rgb, {0, 0, 500, 700}, out.data(), 2100, stats)
            .ok());
    if (i > 0) {
      EXPECT_EQ(decoder.heldBytes(), held);
    }
    held = decoder.heldBytes();
  }
  EXPECT_GT(held, 0u);
  EXPECT_LT(held, 1u << 20);
}

TEST(JpegDecoder, KeepsTheMemoryAndScanLimits) {
  std::mt19937 random(1);
  JpegRecipe recipe{.name = "progressive", .progressive = true};
  auto file = randomJpeg(recipe, 300, 300, random);
  DecodeStats stats;
  JpegDecoder::Options options;
  options.limits.maxWorkBytes = 200000;
  Status status = decode(file, {0, 0, 300, 300}, stats, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Limit);
  EXPECT_EQ(status.error().message, "JPEG of 300 x 300 pixels needs more than "
                                    "200000 bytes of working memory");
  options = {};
  options.limits.maxScans = 3;
  status = decode(file, {0, 0, 300, 300}, stats, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "JPEG with more than 3 scans");
}

// ---- damage -----------------------------------------------------------------

struct Damage : testing::Test {
  std::mt19937 random{11};
  JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
  std::vector<uint8_t> file = randomJpeg(recipe, 160, 160, random);
  DecodeStats stats;
};

TEST_F(Damage, TruncationIsFoundWhateverTheRegion) {
  auto cut = file;
  cut.resize(cut.size() * 3 / 4);
  for (Region region : {Region{0, 0, 160, 160}, Region{0, 0, 8, 8}}) {
    Status status = decode(cut, region, stats);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, Code::Truncated);
    EXPECT_EQ(status.error().message, "truncated JPEG: it ends after " +
                                          std::to_string(cut.size()) +
                                          " bytes (premature end of data segment)");
  }
}

TEST_F(Damage, AMissingEndMarkerAloneIsNoDamage) {
  auto cut = file;
  cut.resize(cut.size() - 2);
  auto full = plainDecode(file, JCS_RGB);
  JpegDecoder decoder;
  expectRegion(decoder, cut, full, 160, PixelFormat::Rgb, {8, 8, 100, 100}, "cut");
}

TEST_F(Damage, ButForSeveralScansItIs) {
  for (bool progressive : {true, false}) {
    recipe.progressive = progressive;
    recipe.separateScans = !progressive;
    auto cut = randomJpeg(recipe, 160, 160, random);
    cut.resize(cut.size() - 2);
    EXPECT_EQ(decode(cut, {0, 0, 8, 8}, stats).error().message,
              "truncated JPEG: it ends after " + std::to_string(cut.size()) +
                  " bytes (premature end of JPEG file)");
  }
}

TEST_F(Damage, AndForArithmeticCoding) {
  recipe.arithmetic = true;
  auto cut = randomJpeg(recipe, 160, 160, random);
  cut.resize(cut.size() - 2);
  for (Region region : {Region{0, 0, 160, 160}, Region{0, 0, 8, 8}})
    EXPECT_EQ(decode(cut, region, stats).error().message,
              "truncated JPEG: it ends after " + std::to_string(cut.size()) +
                  " bytes (premature end of JPEG file)");
}

TEST_F(Damage, BytesBehindTheImageAreIgnored) {
  auto longer = file;
  longer.insert(longer.end(), 5000, 0x41);
  EXPECT_TRUE(decode(longer, {0, 0, 8, 8}, stats).ok());
  EXPECT_TRUE(decode(longer, {0, 0, 160, 160}, stats).ok());
}

TEST_F(Damage, ALostRestartMarkerIsFound) {
  recipe.restartInterval = 4;
  auto damaged = randomJpeg(recipe, 160, 160, random);
  for (size_t i = damaged.size() / 2; i + 1 < damaged.size(); ++i)
    if (damaged[i] == 0xFF && damaged[i + 1] >= 0xD0 && damaged[i + 1] <= 0xD7) {
      damaged.erase(damaged.begin() + long(i), damaged.begin() + long(i) + 2);
      break;
    }
  Status status = decode(damaged, {0, 0, 160, 160}, stats);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Corrupt);
  EXPECT_EQ(status.error().message.substr(0, 14), "damaged JPEG: ");
}

TEST_F(Damage, BehindTheRegionItIsFoundOnRequest) {
  auto damaged = file;
  // A marker in the middle of the data ends them early.
  damaged[damaged.size() * 3 / 4] = 0xFF;
  damaged[damaged.size() * 3 / 4 + 1] = 0xD9;
  EXPECT_TRUE(decode(damaged, {0, 0, 16, 160}, stats).ok());
  JpegDecoder::Options options;
  options.wholeFile = true;
  Status status = decode(damaged, {0, 0, 16, 160}, stats, options);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "damaged JPEG: premature end of data segment");
}

TEST_F(Damage, ADecoderWorksOnAfterAFailure) {
  auto cut = file;
  cut.resize(cut.size() / 2);
  auto full = plainDecode(file, JCS_RGB);
  JpegDecoder decoder;
  std::vector<uint8_t> out(160 * 160 * 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(
        decoder.decodeRegion(cut, PixelFormat::Rgb, {0, 0, 160, 160}, out.data(), 480, stats).ok());
    expectRegion(decoder, file, full, 160, PixelFormat::Rgb, {0, 0, 160, 160}, "after a failure");
  }
}

/// The file without its segments of this marker.
std::vector<uint8_t> without(uint8_t marker, const std::vector<uint8_t> &file) {
  std::vector<uint8_t> kept(file.begin(), file.begin() + 2);
  size_t at = 2;
  while (file[at + 1] != 0xDA) {
    const size_t end = at + 2 + (size_t(file[at + 2]) << 8 | file[at + 3]);
    if (file[at + 1] != marker)
      kept.insert(kept.end(), file.begin() + long(at), file.begin() + long(end));
    at = end;
  }
  kept.insert(kept.end(), file.begin() + long(at), file.end());
  return kept;
}

// Motion JPEG leaves out Huffman tables where they are the standard's.
TEST(JpegDecoder, TablesEndWithTheirFile) {
  std::mt19937 random(5);
  const auto pixels = randomPixels(33, 25, 3, random);
  const auto whole = encodeJpeg({.name = "baseline"}, 33, 25, pixels);
  const auto other =
      encodeJpeg({.name = "other", .progressive = true, .quality = 30}, 33, 25, pixels);
  const auto noHuffman = without(0xC4, whole), noQuantisation = without(0xDB, whole);
  ASSERT_LT(noHuffman.size() + 400, whole.size());
  JpegDecoder decoder;
  DecodeStats stats;
  std::vector<uint8_t> expected(pixels.size()), found(pixels.size());
  auto decode = [&](const std::vector<uint8_t> &file, std::vector<uint8_t> &into) {
    return decoder.decodeRegion(file, PixelFormat::Rgb, {0, 0, 25, 33}, into.data(), 33 * 3, stats);
  };
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(decode(whole, expected).ok());
    ASSERT_TRUE(decode(other, found).ok());
    ASSERT_TRUE(decode(noHuffman, found).ok());
    EXPECT_EQ(found, expected);
    ASSERT_TRUE(decode(other, found).ok());
    EXPECT_FALSE(decode(noQuantisation, found).ok());
  }
}

/// Mutations and truncations of all kinds of file: never a crash, and where
/// decoding succeeds it takes sane time and memory.
TEST(JpegFuzz, MutatedFilesNeverCrash) {
  std::mt19937 random(99);
  JpegDecoder::Options options;
  options.limits.maxPixels = 1 << 20;
  options.limits.maxWorkBytes = 64 << 20;
  JpegDecoder decoder(options);
  int accepted = 0, refused = 0;
  auto recipes = allRecipes();
  recipes.push_back({.name = "cmyk", .components = 4, .stored = JCS_CMYK});
  recipes.push_back({.name = "ycck", .components = 4, .stored = JCS_YCCK});
  for (const JpegRecipe &recipe : recipes) {
    int width = 1 + random() % 60, height = 1 + random() % 60;
    auto file = randomJpeg(recipe, width, height, random);
    for (int i = 0; i < 60; ++i) {
      auto mutant = file;
      for (int count = 1 + random() % 6; count > 0 && !mutant.empty(); --count) {
        size_t at = random() % mutant.size();
        // Headers matter more than their share of the bytes.
        if (random() % 2)
          at %= 700;
        at %= mutant.size();
        switch (random() % 5) {
        case 0:
          mutant[at] = uint8_t(random());
          break;
        case 1:
          mutant[at] ^= uint8_t(1 << random() % 8);
          break;
        case 2:
          mutant.erase(mutant.begin() + long(at));
          break;
        case 3:
          mutant.insert(mutant.begin() + long(at), uint8_t(random()));
          break;
        case 4:
          if (random() % 4 == 0)
            mutant.resize(at + 1);
          break;
        }
      }
      // Its own allocation, so that a read behind the end is seen.
      std::vector<uint8_t> exact(mutant.begin(), mutant.end());
      auto info = probeJpeg(exact, options.limits);
      if (!info) {
        EXPECT_FALSE(info.error().message.empty());
        ++refused;
        continue;
      }
      ASSERT_LE(uint64_t(info->width) * info->height, options.limits.maxPixels);
      Region region = randomRegion(int(info->width), int(info->height), random);
      PixelFormat format = random() % 2 ? PixelFormat::Rgb : PixelFormat::Gray;
      size_t stride = region.width * channelsOf(format);
      std::vector<uint8_t> out(stride * region.height);
      DecodeStats stats;
      Status status = decoder.decodeRegion(exact, format, region, out.data(), stride, stats);
      status.ok() ? ++accepted : ++refused;
      if (!status.ok()) {
        EXPECT_FALSE(status.error().message.empty());
      }
    }
  }
  EXPECT_GT(accepted + refused, 4000);
  EXPECT_GT(accepted, 300) << "hardly any mutant reaches the decoder";
  EXPECT_GT(refused, 300);
}

TEST(JpegFuzz, EveryTruncationIsAnError) {
  std::mt19937 random(3);
  for (int kind = 0; kind < 6; ++kind) {
    JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
    recipe.progressive = kind % 2;
    recipe.arithmetic = kind / 2 >= 1;
    recipe.restartInterval = kind / 2 == 2 ? 2 : 0;
    auto file = randomJpeg(recipe, 40, 40, random);
    JpegDecoder decoder;
    std::vector<uint8_t> out(40 * 40 * 3);
    DecodeStats stats;
    // The last bytes may hold only padding bits.
    for (size_t size = 0; size + 4 < file.size(); ++size) {
      std::vector<uint8_t> cut(file.begin(), file.begin() + long(size));
      Status status =
          decoder.decodeRegion(cut, PixelFormat::Rgb, {0, 0, 4, 4}, out.data(), 12, stats);
      ASSERT_FALSE(status.ok()) << "cut to " << size << " of " << file.size();
      if (size > 2) {
        ASSERT_EQ(status.error().code, Code::Truncated) << status.error().message;
      }
    }
  }
}

} // namespace
