// SPDX-License-Identifier: Apache-2.0
//
// Planes, made to pixels by a plain reading of libjpeg-turbo's jdsample.c and jdcolor.c, are the
// pixels that decodeRegion() gives.
#include "runtime/media/jpeg/JpegDecoder.h"
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/runtime/JpegMutants.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace penstock::runtime;

namespace {

/// The sample that upsampling gives pixel (y, x) of the image, of a plane whose samples `chroma`
/// are there; past the image's edge it meets the sample on the edge.
int upsampled(const Planes &planes, const uint8_t *plane, int64_t y, int64_t x) {
  auto at = [&](int64_t row, int64_t column) {
    const Region &c = planes.chroma;
    row = std::clamp<int64_t>(row, c.top, c.top + c.height - 1);
    column = std::clamp<int64_t>(column, c.left, c.left + c.width - 1);
    return int(plane[(row - c.top) * int64_t(planes.stride(1)) + column - c.left]);
  };
  auto beside = [](int64_t i) { return i / 2 + (i % 2 ? 1 : -1); };
  if (planes.halvesRows && planes.halvesColumns) {
    auto sum = [&](int64_t column) { return 3 * at(y / 2, column) + at(beside(y), column); };
    return (3 * sum(x / 2) + sum(beside(x)) + (x % 2 ? 7 : 8)) >> 4;
  }
  if (planes.halvesColumns)
    return (3 * at(y, x / 2) + at(y, beside(x)) + (x % 2 ? 2 : 1)) >> 2;
  if (planes.halvesRows)
    return (3 * at(y / 2, x) + at(beside(y), x) + (y % 2 ? 2 : 1)) >> 2;
  return at(y, x);
}

std::vector<uint8_t> pixelsOf(const Planes &planes, const std::vector<uint8_t> &bytes) {
  std::vector<uint8_t> pixels;
  auto fix = [](double x) { return int64_t(x * 65536 + 0.5); };
  auto put = [&](int64_t value) { pixels.push_back(uint8_t(std::clamp<int64_t>(value, 0, 255))); };
  const Region &luma = planes.luma;
  for (uint32_t y = 0; y < luma.height; ++y)
    for (uint32_t x = 0; x < luma.width; ++x) {
      const int64_t light = bytes[y * planes.stride(0) + x];
      auto chroma = [&](size_t plane) {
        return upsampled(planes, bytes.data() + planes.offset(plane), luma.top + y, luma.left + x) -
               128;
      };
      const int64_t blue = chroma(1), red = chroma(2);
      put(light + ((fix(1.40200) * red + 32768) >> 16));
      put(light + ((-fix(0.34414) * blue - fix(0.71414) * red + 32768) >> 16));
      put(light + ((fix(1.77200) * blue + 32768) >> 16));
    }
  return pixels;
}

/// Decodes planes to a buffer that is exactly large enough.
Status decodePlanes(JpegDecoder &decoder, const std::vector<uint8_t> &file, const Planes &planes,
                    std::vector<uint8_t> &bytes) {
  bytes.assign(planes.bytes() + 16, 0xA5);
  DecodeStats stats;
  Status status = decoder.decodePlanes(file, planes, bytes.data(), stats);
  EXPECT_EQ(std::count(bytes.end() - 16, bytes.end(), 0xA5), 16) << "wrote behind the planes";
  return status;
}

Status decodePixels(JpegDecoder &decoder, const std::vector<uint8_t> &file, const Region &region,
                    std::vector<uint8_t> &pixels) {
  pixels.assign(size_t(region.height) * region.width * 3, 0);
  DecodeStats stats;
  return decoder.decodeRegion(file, PixelFormat::Rgb, region, pixels.data(), region.width * 3,
                              stats);
}

/// True where the file has planes for the region, which are then as they should be.
bool samePixels(JpegDecoder &decoder, const std::vector<uint8_t> &file, const Region &region) {
  const auto planes = decoder.planesFor(file, region);
  if (!planes)
    return false;
  std::vector<uint8_t> bytes, pixels;
  const Status found = decodePlanes(decoder, file, *planes, bytes);
  const Status expected = decodePixels(decoder, file, region, pixels);
  EXPECT_EQ(found.ok(), expected.ok()) << (found ? expected : found).error().message;
  if (found && expected)
    EXPECT_EQ(pixelsOf(*planes, bytes), pixels) << "top " << region.top << ", left " << region.left
                                                << ", " << region.width << " x " << region.height;
  else if (!found && !expected)
    EXPECT_EQ(found.error().message, expected.error().message);
  return true;
}

Region randomRegion(uint32_t width, uint32_t height, std::mt19937 &random) {
  Region region;
  region.top = random() % height;
  region.left = random() % width;
  const bool isTiny = random() % 3 == 0;
  region.height = 1 + random() % (isTiny ? std::min(3u, height - region.top) : height - region.top);
  region.width = 1 + random() % (isTiny ? std::min(3u, width - region.left) : width - region.left);
  return region;
}

std::vector<JpegRecipe> recipesWithPlanes() {
  std::vector<JpegRecipe> all;
  for (const JpegRecipe &base :
       {JpegRecipe{.name = "444"}, JpegRecipe{.name = "422", .factors = {{{2, 1}, {1, 1}, {1, 1}}}},
        JpegRecipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}},
        JpegRecipe{.name = "440", .factors = {{{1, 2}, {1, 1}, {1, 1}}}}})
    for (int kind = 0; kind < 5; ++kind) {
      JpegRecipe recipe = base;
      recipe.progressive = kind == 1;
      recipe.restartInterval = kind == 2 ? 3 : 0;
      recipe.separateScans = kind == 3;
      recipe.arithmetic = kind == 4;
      all.push_back(recipe);
    }
  return all;
}

TEST(JpegPlanes, MakeThePixelsOfEveryRegion) {
  std::mt19937 random(21);
  for (bool plain : {false, true}) {
    JpegDecoder::Options options;
    options.plain = plain;
    JpegDecoder decoder(options);
    for (const JpegRecipe &recipe : recipesWithPlanes())
      for (int image = 0; image < 8 && !HasFailure(); ++image) {
        SCOPED_TRACE(recipe.name + (plain ? " by libjpeg" : ""));
        const uint32_t width = image == 0 ? 16 : image == 1 ? 1 + random() % 8 : 5 + random() % 140;
        const uint32_t height = image == 0   ? 16
                                : image == 1 ? 1 + random() % 8
                                             : 1 + random() % 140;
        const auto file = randomJpeg(recipe, int(width), int(height), random);
        const bool isHalved = recipe.factors[0][0] == 2;
        EXPECT_EQ(samePixels(decoder, file, {0, 0, height, width}), !isHalved || width > 4);
        for (int i = 0; i < 12; ++i)
          samePixels(decoder, file, randomRegion(width, height, random));
      }
  }
}

/// Every row and column border of one image, at each alignment.
TEST(JpegPlanes, EveryCornerOfASmall420Image) {
  std::mt19937 random(22);
  const auto file =
      randomJpeg({.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}}, 53, 51, random);
  JpegDecoder decoder;
  for (uint32_t at = 0; at < 50 && !HasFailure(); ++at)
    for (uint32_t size = 1; at + size <= 51 && !HasFailure(); ++size)
      samePixels(decoder, file, {at, (at * 7 + size) % 30, size, 1 + (at + size) % 23});
}

/// libjpeg smooths blocks of files whose last scans are missing.
TEST(JpegPlanes, OfUnfinishedProgressiveFiles) {
  std::mt19937 random(23);
  const JpegRecipe unfinished{
      .name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}, .progressive = true};
  JpegDecoder decoder;
  for (size_t scans = 1; scans <= 6; ++scans) {
    auto file = randomJpeg(unfinished, 130, 120, random);
    file.resize(segmentsOf(file, 0xDA)[scans]);
    file.insert(file.end(), {0xFF, 0xD9});
    for (int i = 0; i < 10 && !HasFailure(); ++i)
      EXPECT_TRUE(samePixels(decoder, file, randomRegion(130, 120, random)));
  }
}

/// The same damage is found, with the same words.
TEST(JpegPlanes, OfDamagedFilesAreRefusedAsTheirPixelsAre) {
  std::mt19937 random(24);
  JpegDecoder decoder;
  int refused = 0;
  for (const JpegRecipe &recipe : recipesWithPlanes())
    for (int i = 0; i < 60 && !HasFailure(); ++i) {
      SCOPED_TRACE(recipe.name);
      const auto file = mutate(randomJpeg(recipe, 90, 70, random), random);
      const auto info = probeJpeg(file);
      if (!info || uint64_t(info->width) * info->height > 100000)
        continue;
      const Region region = randomRegion(info->width, info->height, random);
      std::vector<uint8_t> pixels;
      refused += samePixels(decoder, file, region) && !decodePixels(decoder, file, region, pixels);
    }
  EXPECT_GT(refused, 100);
}

/// A whole row of MCUs more or less is damage seen or not.
TEST(JpegPlanes, AreReadAsFarAsPixels) {
  std::mt19937 random(25);
  JpegDecoder decoder;
  for (const JpegRecipe &recipe : recipesWithPlanes()) {
    if (recipe.progressive || recipe.separateScans || recipe.arithmetic)
      continue;
    auto file = randomJpeg(recipe, 64, 96, random);
    const auto info = probeJpeg(file);
    SCOPED_TRACE(recipe.name + std::to_string(recipe.restartInterval));
    for (size_t at = info->scanOffset + 8; at < file.size() - 10; at += 211) {
      auto damaged = file;
      std::fill_n(damaged.begin() + long(at), 8, uint8_t(0xFE));
      for (uint32_t bottom = 1; bottom < 96 && !HasFailure(); bottom += 5)
        samePixels(decoder, damaged, {bottom / 3, 5, bottom - bottom / 3, 30});
    }
  }
}

TEST(JpegPlanes, FilesThatHavePixelsAlone) {
  std::mt19937 random(26);
  JpegDecoder decoder;
  const Region region{0, 0, 8, 8};
  for (const JpegRecipe &recipe :
       {JpegRecipe{.name = "gray", .components = 1, .stored = JCS_GRAYSCALE},
        JpegRecipe{.name = "rgb", .stored = JCS_RGB},
        JpegRecipe{.name = "cmyk", .components = 4, .stored = JCS_YCCK},
        JpegRecipe{.name = "411", .factors = {{{4, 1}, {1, 1}, {1, 1}}}},
        JpegRecipe{.name = "uneven", .factors = {{{2, 2}, {1, 2}, {2, 1}}}},
        JpegRecipe{.name = "lumaLow", .factors = {{{1, 1}, {2, 2}, {1, 2}}}},
        JpegRecipe{.name = "doubled", .factors = {{{2, 1}, {2, 1}, {2, 1}}}}})
    EXPECT_FALSE(decoder.planesFor(randomJpeg(recipe, 32, 32, random), region)) << recipe.name;
  const JpegRecipe narrow{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
  EXPECT_FALSE(decoder.planesFor(randomJpeg(narrow, 4, 32, random), {0, 0, 8, 4}));
  EXPECT_TRUE(decoder.planesFor(randomJpeg(narrow, 5, 32, random), {0, 0, 8, 4}));
  const std::vector<uint8_t> none{0x89, 'P', 'N', 'G'};
  EXPECT_FALSE(decoder.planesFor(none, region));
}

/// As libjpeg's default_decompress_parms() has it.
TEST(JpegPlanes, WhatSaysThatColoursAreYcc) {
  std::mt19937 random(27);
  auto isYcc = [](const std::vector<uint8_t> &file) { return probeJpeg(file)->isYcc; };
  const auto ycc = randomJpeg({.name = "444"}, 16, 16, random);
  ASSERT_TRUE(isYcc(ycc));
  // Without JFIF's segment, by the numbers of the components.
  auto bare = ycc;
  bare.erase(bare.begin() + 2, bare.begin() + 20);
  EXPECT_TRUE(isYcc(bare));
  auto named = bare;
  const size_t frame = segmentsOf(named, 0xC0).front(), scan = segmentsOf(named, 0xDA).front();
  for (size_t c = 0; c < 3; ++c)
    named[frame + 10 + 3 * c] = named[scan + 5 + 2 * c] = uint8_t("RGB"[c]);
  EXPECT_FALSE(isYcc(named));
  // Adobe's word counts before them, and JFIF's before Adobe's.
  auto adobe = [](std::vector<uint8_t> file, uint8_t transform) {
    const std::initializer_list<uint8_t> segment = {0xFF, 0xEE, 0,   14, 'A', 'd', 'o', 'b',
                                                    'e',  0,    100, 0,  0,   0,   0,   transform};
    file.insert(file.begin() + 2, segment);
    return file;
  };
  EXPECT_FALSE(isYcc(adobe(bare, 0)));
  EXPECT_TRUE(isYcc(adobe(bare, 1)));
  EXPECT_TRUE(isYcc(adobe(named, 1)));
  EXPECT_TRUE(isYcc(adobe(ycc, 0)));
  // libjpeg is of the same mind: pixels are made of planes.
  JpegDecoder decoder;
  for (const auto &file : {bare, adobe(bare, 1), adobe(named, 1), adobe(ycc, 0)})
    EXPECT_TRUE(samePixels(decoder, file, {0, 0, 16, 16}));
}

} // namespace
