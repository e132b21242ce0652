// SPDX-License-Identifier: Apache-2.0
//
// The own entropy decoder against libjpeg's, on files of all kinds, good and bad.
#include "test/unit/runtime/JpegExpectations.h"
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/runtime/JpegMutants.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace penstock::runtime;

namespace {

std::vector<JpegRecipe> baselineRecipes() {
  std::vector<JpegRecipe> all;
  const std::vector<std::array<std::array<int, 2>, 4>> samplings = {
      {{{1, 1}, {1, 1}, {1, 1}}}, {{{2, 1}, {1, 1}, {1, 1}}}, {{{2, 2}, {1, 1}, {1, 1}}},
      {{{1, 2}, {1, 1}, {1, 1}}}, {{{4, 1}, {1, 1}, {1, 1}}}, {{{4, 2}, {1, 1}, {1, 1}}},
      {{{1, 4}, {1, 1}, {1, 1}}}, {{{2, 2}, {1, 2}, {2, 1}}}, {{{2, 2}, {1, 2}, {1, 2}}},
      {{{4, 1}, {2, 1}, {2, 1}}}, {{{1, 1}, {2, 2}, {1, 2}}}, {{{2, 1}, {2, 1}, {2, 1}}},
      {{{3, 1}, {1, 1}, {1, 1}}}, {{{1, 3}, {1, 1}, {1, 1}}}};
  for (const auto &factors : samplings)
    for (int quality : {3, 50, 85, 100})
      for (int restart : {0, 1, 7})
        for (bool optimised : {false, true})
          all.push_back({.name = "ycc",
                         .factors = factors,
                         .restartInterval = restart,
                         .quality = quality,
                         .optimised = optimised});
  for (int quality : {20, 75, 97})
    for (int restart : {0, 5})
      for (bool optimised : {false, true}) {
        JpegRecipe base{
            .name = "", .restartInterval = restart, .quality = quality, .optimised = optimised};
        auto add = [&](std::string name, int components, J_COLOR_SPACE space, auto factors) {
          JpegRecipe recipe = base;
          recipe.name = name;
          recipe.components = components;
          recipe.stored = space;
          recipe.factors = factors;
          all.push_back(recipe);
        };
        using Factors = std::array<std::array<int, 2>, 4>;
        add("gray", 1, JCS_GRAYSCALE, Factors{{{1, 1}}});
        add("gray22", 1, JCS_GRAYSCALE, Factors{{{2, 2}}});
        add("gray13", 1, JCS_GRAYSCALE, Factors{{{1, 3}}});
        add("rgb", 3, JCS_RGB, Factors{{{1, 1}, {1, 1}, {1, 1}}});
        add("rgb420", 3, JCS_RGB, Factors{{{2, 2}, {1, 1}, {1, 1}}});
        add("cmyk", 4, JCS_CMYK, Factors{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}});
        add("ycck", 4, JCS_YCCK, Factors{{{2, 2}, {1, 1}, {1, 1}, {2, 2}}});
      }
  // EXIF, ICC, comments, and what no one has heard of.
  all.push_back({.name = "markers", .markers = {0xE1, 0xE2, 0xE2, 0xFE, 0xE9, 0xEF, 0xED}});
  return all;
}

TEST(JpegEntropy, EqualsLibjpegOnAllBaselineFiles) {
  std::mt19937 random(21);
  PathCounts paths;
  for (const JpegRecipe &recipe : baselineRecipes()) {
    const int width = random() % 4 ? 1 + random() % 130 : 1 + random() % 5;
    const int height = random() % 4 ? 1 + random() % 130 : 1 + random() % 5;
    const auto file = randomJpeg(recipe, width, height, random);
    expectAgreement(file, recipe.name + " quality " + std::to_string(recipe.quality), random, 3,
                    paths);
    if (HasFatalFailure())
      return;
  }
  EXPECT_GE(paths[EntropyPath::Own] * 100, paths.total * 98)
      << paths[EntropyPath::Own] << " of " << paths.total;
}

TEST(JpegEntropy, EqualsLibjpegOnExtremeSizes) {
  std::mt19937 random(22);
  PathCounts paths;
  for (auto [width, height] : {std::pair{65500, 3}, {3, 65500}, {65500, 17}, {4096, 40}}) {
    const JpegRecipe recipe{.name = "large",
                            .factors = {{{2, 2}, {1, 1}, {1, 1}}},
                            .restartInterval = width == 4096 ? 9 : 0,
                            .quality = 60};
    expectAgreement(randomJpeg(recipe, width, height, random), recipe.name, random, 4, paths);
    if (HasFatalFailure())
      return;
  }
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
}

/// Blocks that end at coefficient 63 without a code for it: two symbols of one
/// lookup may lie in two blocks.
TEST(JpegEntropy, EqualsLibjpegOnFullBlocks) {
  std::mt19937 random(23);
  PathCounts paths;
  for (int i = 0; i < 12; ++i) {
    JpegRecipe recipe{.name = "noise", .quality = 100, .optimised = i % 2 == 1};
    std::vector<uint8_t> pixels(size_t(90 * 70 * 3));
    const unsigned amplitude = 2u << (i / 2);
    for (uint8_t &pixel : pixels)
      pixel = uint8_t(128 + random() % amplitude - amplitude / 2);
    expectAgreement(encodeJpeg(recipe, 90, 70, pixels), recipe.name, random, 4, paths);
    if (HasFatalFailure())
      return;
  }
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
}

TEST(JpegEntropy, TellsWhyAFileIsLibjpegs) {
  std::mt19937 random(24);
  const JpegRecipe plain{.name = "444"};
  EXPECT_EQ(pathOf(randomJpeg(plain, 40, 40, random)), EntropyPath::Own);
  JpegRecipe recipe = plain;
  recipe.arithmetic = true;
  EXPECT_EQ(pathOf(randomJpeg(recipe, 40, 40, random)), EntropyPath::OtherCoding);
  recipe = plain;
  recipe.progressive = true;
  auto file = randomJpeg(recipe, 40, 40, random);
  auto cut = file;
  cut.resize(cut.size() - 2);
  EXPECT_EQ(pathOf(cut), EntropyPath::NoEnd);
  auto unfinished = file;
  unfinished.resize(segmentsOf(file, 0xDA).back());
  unfinished.insert(unfinished.end(), {0xFF, 0xD9});
  EXPECT_EQ(pathOf(unfinished), EntropyPath::SeveralScans);
  file = randomJpeg(plain, 40, 40, random);
  auto odd = file; // a line count behind the first segment, which libjpeg passes over
  odd.insert(odd.begin() + 20, {0xFF, 0xDC, 0, 4, 0, 40});
  EXPECT_EQ(pathOf(odd), EntropyPath::OddHeader);
  auto short_ = file;
  short_.erase(short_.end() - 40, short_.end() - 2);
  EXPECT_EQ(pathOf(short_), EntropyPath::OddData);
  EXPECT_STREQ(nameOf(EntropyPath::Own), "own");
  EXPECT_STREQ(nameOf(EntropyPath::OtherLibrary), "other_library");
}

TEST(JpegEntropy, AnotherLibraryIsNoticed) {
  std::mt19937 random(25);
  const auto file = randomJpeg({.name = "444"}, 40, 40, random);
  EntropyKernels broken = *entropyKernels().front();
  EXPECT_TRUE(JpegDecoder::entropyFits(broken));
  broken.decodeMcu = [](McuState &, int16_t *const *) { return true; };
  EXPECT_FALSE(JpegDecoder::entropyFits(broken));
  JpegDecoder::Options options;
  options.kernels = &broken;
  const JpegOutcome outcome = decodeJpeg(file, {0, 0, 40, 40}, PixelFormat::Rgb, options);
  EXPECT_EQ(outcome.stats.entropyPaths[size_t(EntropyPath::OtherLibrary)], 1u);
  EXPECT_EQ(outcome.pixels, plainDecode(file, JCS_RGB));
}

/// All tests here go through entropyKernels(), so whatever is in it is tested.
TEST(JpegEntropy, HasAllLevelsThatTheCpuRuns) {
  std::vector<std::string> found, expected;
  for (const EntropyKernels *kernels : entropyKernels())
    found.push_back(kernels->name);
#ifdef __x86_64__
  if (__builtin_cpu_supports("x86-64-v4"))
    expected.push_back("avx512");
  if (__builtin_cpu_supports("x86-64-v3"))
    expected.push_back("avx2");
  if (__builtin_cpu_supports("x86-64-v2"))
    expected.push_back("sse4");
#ifdef __clang__
  expected.push_back("scalar");
#else
  expected.push_back("baseline"); // Highway has no scalar target beside SSE2's with g++
#endif
  EXPECT_EQ(found, expected);
#endif
  EXPECT_FALSE(found.empty());
}

TEST(JpegEntropy, RestartMarkersPassOverRows) {
  std::mt19937 random(26);
  const JpegRecipe recipe{.name = "444", .restartInterval = 8}; // one row of 64 pixels
  auto file = randomJpeg(recipe, 64, 128, random);
  const auto full = plainDecode(file, JCS_RGB);
  const size_t second = markerAt(file, 1), third = markerAt(file, 2);
  ASSERT_GT(third, second + 20);
  file.erase(file.begin() + long(second) + 12, file.begin() + long(third)); // of row 2
  JpegOutcome below = decodeJpeg(file, {40, 0, 80, 64}, PixelFormat::Rgb, {});
  ASSERT_TRUE(below.status.ok()) << below.status.error().message;
  EXPECT_TRUE(std::equal(below.pixels.begin(), below.pixels.end(), full.begin() + 40 * 64 * 3));
  EXPECT_EQ(below.stats.entropyPaths[size_t(EntropyPath::Own)], 1u);
  JpegDecoder::Options options;
  options.wholeFile = true;
  EXPECT_FALSE(decodeJpeg(file, {40, 0, 80, 64}, PixelFormat::Rgb, options).status.ok());
  // In another order they are damage, wherever they stand.
  file[markerAt(file, 0) + 1] ^= 1;
  EXPECT_FALSE(decodeJpeg(file, {40, 0, 80, 64}, PixelFormat::Rgb, {}).status.ok());
}

/// Data that end early in front of a restart marker, where the next row begins
/// behind it: nothing is passed over, and the damage must not be either.
TEST(JpegEntropy, ShortSegmentsAreSeenBetweenRows) {
  std::mt19937 random(29);
  const JpegRecipe recipe{.name = "444", .restartInterval = 3};
  const auto file = randomJpeg(recipe, 24, 40, random);
  const auto info = probeJpeg(file);
  int damaged = 0;
  for (size_t at = info->scanOffset; at + 1 < file.size(); ++at)
    if (file[at] == 0xFF && file[at + 1] >= 0xD0 && file[at + 1] <= 0xD7)
      for (int lost : {2, 6}) {
        auto cut = file;
        cut.erase(cut.begin() + long(at) - lost, cut.begin() + long(at));
        for (const EntropyKernels *kernels : entropyKernels()) {
          const Region whole{0, 0, 40, 24};
          EXPECT_EQ(jpegDisagreement(cut, whole, PixelFormat::Rgb, {.kernels = kernels}), "") << at;
          JpegDecoder::Options options;
          options.kernels = kernels;
          damaged += !decodeJpeg(cut, whole, PixelFormat::Rgb, options).status.ok();
        }
      }
  EXPECT_GT(damaged, 0);
}

TEST(JpegEntropy, UnstuffsToExactEnds) {
  std::mt19937 random(27);
  for (const EntropyKernels *kernels : entropyKernels())
    for (int i = 0; i < 4000; ++i) {
      // Their own allocations, so that reads and writes outside are seen.
      std::vector<uint8_t> in(random() % 300), expected;
      for (uint8_t &byte : in)
        byte = random() % 3 ? uint8_t(random()) : random() % 4 ? 0 : 0xFF;
      const size_t room = random() % 400;
      size_t end = 0;
      for (; end < in.size() && expected.size() < room; ++end) {
        if (in[end] == 0xFF && (end + 1 == in.size() || in[end + 1] != 0))
          break;
        expected.push_back(in[end]);
        end += in[end] == 0xFF;
      }
      std::vector<uint8_t> out(room + readerSlack);
      const auto done =
          kernels->unstuff(in.data(), in.data() + in.size(), out.data(), out.data() + room);
      ASSERT_EQ(size_t(done.in - in.data()), end) << kernels->name;
      ASSERT_EQ(size_t(done.out - out.data()), expected.size());
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out.begin()));
      const bool atMarker =
          end < in.size() && in[end] == 0xFF && (end + 1 == in.size() || in[end + 1]);
      if (expected.size() < room) {
        ASSERT_EQ(done.ended, end == in.size() || atMarker);
      }
      size_t marker = 0;
      while (marker < in.size() &&
             !(in[marker] == 0xFF && marker + 1 < in.size() && in[marker + 1]))
        marker += in[marker] == 0xFF ? 2 : 1;
      marker = std::min(marker, in.size());
      ASSERT_EQ(size_t(kernels->findMarker(in.data(), in.data() + in.size()) - in.data()), marker);
    }
}

// ---- damaged files ----------------------------------------------------------

/// PENSTOCK_MUTANTS in the environment asks for more.
TEST(JpegEntropy, EqualsLibjpegOnMutatedFiles) {
  const char *asked = std::getenv("PENSTOCK_MUTANTS");
  const int wanted = asked ? std::atoi(asked) : 3000;
  std::mt19937 random(28);
  const auto recipes = baselineRecipes();
  int own = 0, good = 0;
  for (int i = 0; i < wanted; ++i) {
    const JpegRecipe &recipe = recipes[random() % recipes.size()];
    const int width = 1 + random() % 70, height = 1 + random() % 70;
    const auto mutant = mutate(randomJpeg(recipe, width, height, random), random);
    const std::vector<uint8_t> exact(mutant.begin(), mutant.end());
    ASSERT_EQ(jpegDisagreement(exact, random()), "")
        << "mutant " << i << " of " << recipe.name << ", quality " << recipe.quality;
    ImageLimits limits;
    limits.maxPixels = 1 << 22;
    const auto info = probeJpeg(exact, limits);
    if (!info)
      continue;
    DecodeStats stats;
    const Region whole{0, 0, info->height, info->width};
    const EntropyKernels *kernels = entropyKernels()[random() % entropyKernels().size()];
    ASSERT_EQ(jpegDisagreement(exact, whole, PixelFormat::Rgb, {.kernels = kernels}, &stats), "")
        << "mutant " << i << " of " << recipe.name << ", quality " << recipe.quality;
    own += pathIn(stats) == EntropyPath::Own;
    ++good;
  }
  EXPECT_GT(good, wanted / 2) << "hardly any mutant reaches the decoder";
  EXPECT_GT(own, wanted / 20) << "hardly any mutant is ours";
}

} // namespace
