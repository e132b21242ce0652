// SPDX-License-Identifier: Apache-2.0
//
// Regions of files of every sampling that libjpeg reads, against the same part of
// its full decode: through our decoder at every level of instructions, and through
// libjpeg's cropping.
//
// PENSTOCK_JPEG_SAMPLINGS in the environment asks for more files, PENSTOCK_JPEG_SEED
// for others.
#include "test/unit/runtime/JpegExpectations.h"
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/runtime/JpegScripts.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

using namespace penstock::runtime;

namespace {

int numberIn(const char *variable, int otherwise) {
  const char *text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

/// Any factors of up to ten blocks in all, or more where scans share them. Of one in
/// ten, some component's do not divide the largest: libjpeg refuses it, where that
/// component is wanted.
JpegRecipe anySampling(std::mt19937 &random) {
  JpegRecipe recipe;
  recipe.components = random() % 6 ? 3 : random() % 2 ? 4 : 1;
  const bool whole = random() % 10, severalScans = random() % 3 == 0;
  for (;;) {
    int most[2] = {1, 1};
    for (int c = 0; c < recipe.components; ++c)
      for (size_t axis : {0, 1}) {
        recipe.factors[size_t(c)][axis] = 1 + int(random() % 4);
        most[axis] = std::max(most[axis], recipe.factors[size_t(c)][axis]);
      }
    bool divides = true;
    for (int c = 0; c < recipe.components; ++c)
      for (size_t axis : {0, 1})
        divides &= most[axis] % recipe.factors[size_t(c)][axis] == 0;
    if ((severalScans || blocksOf(recipe) <= 10) && (divides == whole || recipe.components == 1))
      break;
  }
  recipe.stored = recipe.components == 1   ? JCS_GRAYSCALE
                  : recipe.components == 4 ? (random() % 2 ? JCS_CMYK : JCS_YCCK)
                  : random() % 5           ? JCS_YCbCr
                                           : JCS_RGB;
  recipe.restartInterval = random() % 3 ? 0 : 1 + int(random() % 9);
  recipe.quality = 20 + int(random() % 81);
  recipe.optimised = random() % 2;
  if (severalScans)
    recipe.script = random() % 4 ? randomProgression(recipe, random) : randomScans(recipe, random);
  for (int c = 0; c < recipe.components; ++c)
    recipe.name += (c ? "," : "") + std::to_string(recipe.factors[size_t(c)][0]) + "x" +
                   std::to_string(recipe.factors[size_t(c)][1]);
  return recipe;
}

/// 1 ... 200, often a multiple of an MCU's size, one less or more.
int sizeNear(int factor, std::mt19937 &random) {
  if (random() % 2)
    return 1 + int(random() % 200);
  const int mcu = 8 * factor;
  return std::clamp(mcu * int(1 + random() % uint32_t(160 / mcu)) + int(random() % 3) - 1, 1, 200);
}

/// Every second one at an end of the rows, and a few pixels wide.
Region anyRegion(uint32_t width, uint32_t height, std::mt19937 &random) {
  Region region = randomRegion(width, height, random);
  if (random() % 2)
    return region;
  region.width = std::min(width, 1 + uint32_t(random() % 4));
  const uint32_t space = width - region.width, away = std::min(space, uint32_t(random() % 3));
  region.left = random() % 2 ? away : space - away;
  return region;
}

struct JpegSampling : testing::Test {
  std::mt19937 random{uint32_t(numberIn("PENSTOCK_JPEG_SEED", 71))};
  int regions = 0, refused = 0;

  void check(const JpegRecipe &recipe, const std::vector<uint8_t> &file, uint32_t width,
             uint32_t height, int wanted);
  void checkRegion(const std::vector<uint8_t> &file, const Region &region, PixelFormat format,
                   const JpegOutcome &all, uint32_t width);
};

/// `all` is what libjpeg makes of the whole.
void JpegSampling::checkRegion(const std::vector<uint8_t> &file, const Region &region,
                               PixelFormat format, const JpegOutcome &all, uint32_t width) {
  const size_t pixel = channelsOf(format), row = region.width * pixel;
  std::vector<uint8_t> expected;
  for (uint32_t y = 0; all.status.ok() && y < region.height; ++y) {
    const auto from = all.pixels.begin() + long(((region.top + y) * width + region.left) * pixel);
    expected.insert(expected.end(), from, from + long(row));
  }
  const auto compare = [&](const JpegDecoder::Options &options, const std::string &way) {
    const JpegOutcome part = decodeJpeg(file, region, format, options);
    ASSERT_EQ(part.status.ok(), all.status.ok()) << way;
    if (all.status.ok())
      ASSERT_TRUE(part.pixels == expected) << way << ": other pixels";
    else
      ASSERT_EQ(part.status.error().message, all.status.error().message) << way;
  };
  compare({.limits = {}, .plain = true}, "cropped by libjpeg");
  for (const EntropyKernels *kernels : entropyKernels())
    compare({.limits = {}, .kernels = kernels}, kernels->name);
}

void JpegSampling::check(const JpegRecipe &recipe, const std::vector<uint8_t> &file, uint32_t width,
                         uint32_t height, int wanted) {
  for (const PixelFormat format : {PixelFormat::Rgb, PixelFormat::Gray}) {
    const Region whole{0, 0, height, width};
    JpegOutcome all = decodeJpeg(file, whole, format, {.limits = {}, .plain = true});
    if (all.status.ok() && recipe.stored == JCS_YCbCr)
      ASSERT_EQ(all.pixels,
                plainDecode(file, format == PixelFormat::Rgb ? JCS_RGB : JCS_GRAYSCALE));
    refused += !all.status.ok();
    for (int i = 0; i <= wanted; ++i, ++regions) {
      const Region region = i == 0 ? whole : anyRegion(width, height, random);
      checkRegion(file, region, format, all, width);
      ASSERT_FALSE(HasFatalFailure())
          << recipe.name << (recipe.script.empty() ? "" : ", several scans") << ", "
          << recipe.components << " components of " << width << " x " << height
          << (format == PixelFormat::Gray ? ", gray" : "") << ", region at top " << region.top
          << ", left " << region.left << ", " << region.width << " x " << region.height;
    }
  }
}

TEST_F(JpegSampling, RegionsEqualLibjpegsFullDecode) {
  const int files = numberIn("PENSTOCK_JPEG_SAMPLINGS", 120);
  for (int i = 0; i < files && !HasFatalFailure(); ++i) {
    const JpegRecipe recipe = anySampling(random);
    int most[2] = {1, 1};
    for (int c = 0; c < recipe.components; ++c)
      for (size_t axis : {0, 1})
        most[axis] = std::max(most[axis], recipe.factors[size_t(c)][axis]);
    const int width = sizeNear(most[0], random), height = sizeNear(most[1], random);
    check(recipe, rawJpeg(recipe, width, height, random), uint32_t(width), uint32_t(height), 4);
    EXPECT_FALSE(HasFatalFailure()) << "file " << i;
  }
  std::printf("%d files, %d regions, %d refused\n", files, regions, refused);
  EXPECT_LT(refused * 4, files);
}

} // namespace
