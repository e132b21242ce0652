// SPDX-License-Identifier: Apache-2.0
//
// Files of several scans, and such as take liberties: our decoder against libjpeg's.
#include "test/unit/runtime/JpegExpectations.h"
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/runtime/JpegMutants.h"
#include "test/unit/runtime/JpegScripts.h"

#include <gtest/gtest.h>

using namespace penstock::runtime;

namespace {

std::vector<uint8_t> randomFile(const JpegRecipe &recipe, std::mt19937 &random) {
  const int width = random() % 4 ? 1 + random() % 130 : 1 + random() % 9;
  const int height = random() % 4 ? 1 + random() % 130 : 1 + random() % 9;
  return randomJpeg(recipe, width, height, random);
}

TEST(JpegScans, EqualsLibjpegOnRandomScripts) {
  std::mt19937 random(41);
  PathCounts paths, large; // with more blocks than an MCU may have, were it one scan
  for (int i = 0; i < 220 && !HasFatalFailure(); ++i) {
    const JpegRecipe recipe = randomScansRecipe(i % 3 > 0, random);
    const auto file = randomFile(recipe, random);
    expectAgreement(file, std::to_string(i) + ", " + recipe.name, random, 2,
                    blocksOf(recipe) > 10 ? large : paths);
    if (recipe.components < 4) {
      const auto info = probeJpeg(file);
      ASSERT_EQ(decodeJpeg(file, {0, 0, info->height, info->width}, PixelFormat::Rgb, {}).pixels,
                plainDecode(file, JCS_RGB));
    }
  }
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
  EXPECT_EQ(large[EntropyPath::SeveralScans], large.total);
  EXPECT_GT(large.total, 0);
}

TEST(JpegScans, EqualsLibjpegOnExtremeSizes) {
  std::mt19937 random(42);
  PathCounts paths;
  for (auto [width, height] : {std::pair{65500, 3}, {3, 65500}, {4096, 40}})
    for (bool progressive : {true, false}) {
      JpegRecipe recipe{.name = "large", .factors = {{{2, 2}, {1, 1}, {1, 1}}}, .quality = 60};
      recipe.progressive = progressive;
      recipe.separateScans = !progressive;
      expectAgreement(randomJpeg(recipe, width, height, random), recipe.name, random, 2, paths);
      if (HasFatalFailure())
        return;
    }
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
}

/// Blocks full of large coefficients, and images of one colour, whose bands end in
/// runs of many blocks.
TEST(JpegScans, EqualsLibjpegOnFullAndEmptyBlocks) {
  std::mt19937 random(43);
  PathCounts paths;
  for (int i = 0; i < 16 && !HasFatalFailure(); ++i) {
    JpegRecipe recipe{.name = "noise", .quality = 100};
    recipe.script = randomProgression(recipe, random);
    std::vector<uint8_t> pixels(size_t(300 * 90 * 3), 77);
    const unsigned amplitude = 2u << (i / 2);
    for (size_t at = 0; i % 2 == 0 && at < pixels.size(); ++at)
      pixels[at] = uint8_t(128 + random() % amplitude - amplitude / 2);
    if (i % 4 == 1)
      pixels[pixels.size() / 2] = 200;
    expectAgreement(encodeJpeg(recipe, 300, 90, pixels), recipe.name, random, 2, paths);
  }
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
}

TEST(JpegScans, TakesLibertiesAsLibjpegDoes) {
  std::mt19937 random(44);
  PathCounts paths;
  for (int i = 0; i < 160 && !HasFatalFailure(); ++i) {
    JpegRecipe recipe = randomScansRecipe(i % 4 == 0, random);
    if (blocksOf(recipe) > 10)
      continue;
    if (i % 4 > 1)
      recipe.script.clear();
    const auto file = withLiberties(randomFile(recipe, random), random);
    expectAgreement(file, std::to_string(i) + ", " + recipe.name, random, 1, paths);
  }
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
}

/// A component keeps the quantisation table that its first scan finds.
TEST(JpegScans, TablesMayChangeBetweenScans) {
  std::mt19937 random(45);
  PathCounts paths;
  for (int i = 0; i < 40 && !HasFatalFailure(); ++i) {
    const JpegRecipe recipe = randomScansRecipe(i % 2, random);
    if (blocksOf(recipe) > 10)
      continue;
    auto file = randomFile(recipe, random);
    const auto tables = segmentsOf(file, 0xDB), scans = segmentsOf(file, 0xDA);
    const size_t from = tables[random() % tables.size()];
    std::vector<uint8_t> changed(file.begin() + long(from),
                                 file.begin() + long(from) + 2 +
                                     (file[from + 2] << 8 | file[from + 3]));
    for (size_t at = 5; at < changed.size() && at < 69; ++at)
      changed[at] = uint8_t(1 + random() % 99);
    file.insert(file.begin() + long(scans[random() % scans.size()]), changed.begin(),
                changed.end());
    expectAgreement(file, std::to_string(i), random, 1, paths);
  }
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
}

/// libjpeg smooths what is not known, which we do not.
TEST(JpegScans, UnfinishedProgressionsAreLibjpegs) {
  std::mt19937 random(46);
  PathCounts paths;
  const auto file = randomJpeg(
      {.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}, .progressive = true}, 90, 70, random);
  const auto scans = segmentsOf(file, 0xDA);
  ASSERT_EQ(scans.size(), 10u);
  for (size_t count = 1; count < scans.size() && !HasFatalFailure(); ++count) {
    auto cut = file;
    cut.resize(scans[count]);
    cut.insert(cut.end(), {0xFF, 0xD9});
    expectAgreement(cut, std::to_string(count) + " scans", random, 2, paths);
  }
  EXPECT_EQ(paths[EntropyPath::SeveralScans], paths.total);
}

TEST(JpegScans, WithoutAnEndMarkerOneScanIsOursIfItIsWhole) {
  std::mt19937 random(47);
  auto file = randomJpeg({.name = "444"}, 60, 60, random);
  file.resize(file.size() - 2);
  EXPECT_EQ(pathOf(file), EntropyPath::Own);
  PathCounts paths;
  expectAgreement(file, "whole", random, 6, paths);
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
  // Where it ends early, it is bad whatever the region.
  file.resize(file.size() - 40);
  const JpegOutcome top = decodeJpeg(file, {0, 0, 8, 8}, PixelFormat::Rgb, {});
  EXPECT_EQ(top.status.error().code, Code::Truncated);
  EXPECT_EQ(pathIn(top.stats), EntropyPath::NoEnd);
}

TEST(JpegScans, StandardCodesMayBeLeftOut) {
  std::mt19937 random(48);
  PathCounts paths;
  for (int components : {1, 3}) {
    auto file = randomJpeg({.name = "mjpeg",
                            .components = components,
                            .stored = components == 1 ? JCS_GRAYSCALE : JCS_YCbCr},
                           50, 40, random);
    for (auto tables = segmentsOf(file, 0xC4); !tables.empty(); tables.pop_back())
      file.erase(file.begin() + long(tables.back()),
                 file.begin() + long(tables.back()) + 2 +
                     (file[tables.back() + 2] << 8 | file[tables.back() + 3]));
    ASSERT_TRUE(segmentsOf(file, 0xC4).empty());
    expectAgreement(file, "mjpeg", random, 3, paths);
  }
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
}

/// libjpeg refuses a code of ones, though nothing may use it.
TEST(JpegScans, ACodeOfOnesIsNotOurs) {
  std::mt19937 random(53);
  auto file =
      randomJpeg({.name = "gray", .components = 1, .stored = JCS_GRAYSCALE}, 50, 40, random);
  const size_t table = segmentsOf(file, 0xC4).back();
  ASSERT_EQ(file[table + 4], 0x10);
  ++file[table + 20]; // of 16 bits
  file[table + 3] += 1;
  file.insert(file.begin() + long(table) + 2 + (file[table + 2] << 8 | file[table + 3]) - 1, 0xFB);
  const JpegOutcome outcome = decodeJpeg(file, {0, 0, 40, 50}, PixelFormat::Rgb, {});
  EXPECT_EQ(pathIn(outcome.stats), EntropyPath::OddHeader);
  ASSERT_FALSE(outcome.status.ok());
  EXPECT_EQ(outcome.status.error().message, "damaged JPEG: bogus Huffman table definition");
}

/// One block of noise, whose coefficients behind the 20th come in two scans.
std::vector<uint8_t> refinedBlock(std::mt19937 &random) {
  JpegRecipe recipe{.name = "gray", .components = 1, .stored = JCS_GRAYSCALE, .quality = 100};
  recipe.script = {scanOf({0}, 0, 0, 0, 0), scanOf({0}, 1, 20, 0, 0), scanOf({0}, 21, 63, 0, 1),
                   scanOf({0}, 21, 63, 1, 0)};
  std::vector<uint8_t> pixels(8 * 8);
  for (uint8_t &pixel : pixels)
    pixel = uint8_t(random() % 2 ? 100 + random() % 9 : random() % 255);
  return encodeJpeg(recipe, 8, 8, pixels);
}

/// libjpeg warns of new coefficients of more than one bit in a refinement, and reads
/// one bit for them.
TEST(JpegScans, RefinementsOfAnySizeAreNotOurs) {
  std::mt19937 random(54);
  for (int i = 0; i < 150; ++i) {
    auto file = refinedBlock(random);
    const size_t table = segmentsOf(file, 0xC4).back(), first = table + 21;
    const size_t end = table + 2 + size_t(file[table + 2] << 8 | file[table + 3]);
    for (size_t at = first; at < end; ++at)
      if (file[at] & 15)
        ++file[at];
    for (const EntropyKernels *kernels : entropyKernels()) {
      DecodeStats stats;
      EXPECT_EQ(
          jpegDisagreement(file, {0, 0, 8, 8}, PixelFormat::Gray, {.kernels = kernels}, &stats),
          "");
    }
  }
}

/// Runs of blocks end with their segment, whatever their length says.
TEST(JpegScans, RunsEndWithTheirSegment) {
  JpegRecipe recipe{.name = "gray", .components = 1, .stored = JCS_GRAYSCALE, .restartInterval = 4};
  recipe.script = {scanOf({0}, 0, 0, 0, 0), scanOf({0}, 1, 63, 0, 0)};
  std::vector<uint8_t> pixels(size_t(8 * 21) * 8, 90);
  std::mt19937 random(56);
  for (size_t x = 8 * 17; x < 8 * 21; ++x) // the last segment has coefficients
    pixels[x] = uint8_t(random());
  auto file = encodeJpeg(recipe, 8 * 21, 8, pixels);
  PathCounts paths;
  expectAgreement(file, "4 blocks", random, 1, paths);
  int changed = 0;
  for (size_t at = segmentsOf(file, 0xDA).back() + 10; at + 2 < file.size(); ++at)
    if (file[at + 1] == 0xFF && file[at + 2] >= 0xD0 && file[at + 2] <= 0xD3) {
      ASSERT_EQ(file[at], 0b11110000); // a code of six bits, and two of the run's length
      file[at] |= 0b11;
      ++changed;
    }
  EXPECT_EQ(changed, 4);
  expectAgreement(file, "7 blocks", random, 3, paths);
  EXPECT_EQ(paths[EntropyPath::Own], paths.total);
}

/// Where a scan says that its values are of the highest bits, they overflow as
/// libjpeg's do, some of them to zero.
TEST(JpegScans, CoefficientsOverflowAsLibjpegs) {
  std::mt19937 random(55);
  int own = 0;
  for (int i = 0; i < 40; ++i) {
    auto file = refinedBlock(random);
    const auto scans = segmentsOf(file, 0xDA);
    file[scans[2] + 9] = 13;
    file[scans[3] + 9] = 13 << 4 | 12;
    for (const EntropyKernels *kernels : entropyKernels()) {
      DecodeStats stats;
      EXPECT_EQ(
          jpegDisagreement(file, {0, 0, 8, 8}, PixelFormat::Gray, {.kernels = kernels}, &stats),
          "");
      own += pathIn(stats) == EntropyPath::Own;
    }
  }
  EXPECT_GT(own, 0);
}

/// Scans are read to their ends, also beside and below the region.
TEST(JpegScans, DamageIsSeenWhateverTheRegion) {
  std::mt19937 random(49);
  JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
  int damaged = 0;
  for (int i = 0; i < 120; ++i) {
    recipe.progressive = i % 2;
    recipe.separateScans = i % 2 == 0;
    recipe.restartInterval = i % 3 ? 0 : 4;
    auto file = randomJpeg(recipe, 80, 80, random);
    const auto scans = segmentsOf(file, 0xDA);
    const size_t end = i % 4 < 2 ? scans[1] : file.size() - 2; // of the first or the last one
    file.erase(file.begin() + long(end) - 6, file.begin() + long(end) - 1);
    const JpegOutcome top = decodeJpeg(file, {0, 0, 1, 1}, PixelFormat::Rgb, {});
    JpegDecoder::Options plain;
    plain.plain = true;
    const JpegOutcome all = decodeJpeg(file, {0, 0, 80, 80}, PixelFormat::Rgb, plain);
    EXPECT_EQ(top.status.ok(), all.status.ok());
    damaged += !top.status.ok();
  }
  EXPECT_GT(damaged, 60);
}

TEST(JpegScans, ARegionHoldsItsOwnCoefficientsOnly) {
  std::mt19937 random(50);
  const auto file =
      randomJpeg({.name = "444", .progressive = true, .quality = 30}, 2000, 600, random);
  const auto held = [&](const Region &region) {
    JpegDecoder decoder;
    std::vector<uint8_t> out(size_t(region.width) * region.height * 3);
    DecodeStats stats;
    EXPECT_TRUE(
        decoder.decodeRegion(file, PixelFormat::Rgb, region, out.data(), region.width * 3, stats)
            .ok());
    EXPECT_EQ(pathIn(stats), EntropyPath::Own);
    return decoder.heldBytes();
  };
  const uint64_t whole = held({0, 0, 600, 2000}), part = held({200, 900, 64, 64});
  EXPECT_GT(whole, 2000u * 600 * 3 * 2);
  EXPECT_LT(part, whole / 8); // masks of all blocks, and what a decoder always has
}

TEST(JpegScans, LargeMemoryIsGivenBack) {
  const JpegRecipe recipe{
      .name = "gray", .components = 1, .stored = JCS_GRAYSCALE, .progressive = true};
  auto file = encodeJpeg(recipe, 4200, 4200, std::vector<uint8_t>(4200 * 4200, 90));
  std::vector<uint8_t> out(4200 * 4200);
  JpegDecoder decoder;
  for (const bool isWhole : {true, false}) {
    DecodeStats stats;
    const Status status =
        decoder.decodeRegion(file, PixelFormat::Gray, {0, 0, 4200, 4200}, out.data(), 4200, stats);
    EXPECT_EQ(status.ok(), isWhole);
    EXPECT_EQ(pathIn(stats), isWhole ? EntropyPath::Own : EntropyPath::OddData);
    EXPECT_LT(decoder.heldBytes(), 2u << 20);
    file.erase(file.end() - 6, file.end() - 2);
  }
}

/// Returns whether a file is too large does not depend on the region, nor on who decodes it.
TEST(JpegScans, LimitsAreThoseOfTheWholeImage) {
  std::mt19937 random(51);
  const auto file = randomJpeg({.name = "444", .progressive = true}, 300, 300, random);
  JpegDecoder::Options options;
  options.limits.maxWorkBytes = 500'000;
  const JpegOutcome part = decodeJpeg(file, {0, 0, 8, 8}, PixelFormat::Rgb, options);
  ASSERT_FALSE(part.status.ok());
  EXPECT_EQ(part.status.error().message,
            "JPEG of 300 x 300 pixels needs more than 500000 bytes of working memory");
  options = {};
  options.limits.maxScans = 9;
  EXPECT_EQ(decodeJpeg(file, {0, 0, 8, 8}, PixelFormat::Rgb, options).status.error().message,
            "JPEG with more than 9 scans");
  options.limits.maxScans = 10;
  EXPECT_EQ(pathIn(decodeJpeg(file, {0, 0, 8, 8}, PixelFormat::Rgb, options).stats),
            EntropyPath::Own);
}

/// PENSTOCK_MUTANTS in the environment asks for more.
TEST(JpegScans, EqualsLibjpegOnMutatedFiles) {
  const char *asked = std::getenv("PENSTOCK_MUTANTS");
  const int wanted = asked ? std::atoi(asked) : 3000;
  std::mt19937 random(52);
  int own = 0, refused = 0;
  for (int i = 0; i < wanted; ++i) {
    const JpegRecipe recipe = randomScansRecipe(i % 4 > 0, random);
    auto file = randomJpeg(recipe, 1 + random() % 50, 1 + random() % 50, random);
    if (random() % 2)
      file = mutateScans(file, random);
    if (random() % 3)
      file = mutate(file, random);
    const std::vector<uint8_t> exact(file.begin(), file.end());
    ASSERT_EQ(jpegDisagreement(exact, random()), "") << "mutant " << i << " of " << recipe.name;
    ImageLimits limits;
    limits.maxPixels = 1 << 22;
    const auto info = probeJpeg(exact, limits);
    if (!info)
      continue;
    DecodeStats stats;
    const EntropyKernels *kernels = entropyKernels()[random() % entropyKernels().size()];
    const Region whole{0, 0, info->height, info->width};
    ASSERT_EQ(jpegDisagreement(exact, whole, PixelFormat::Rgb, {.kernels = kernels}, &stats), "")
        << "mutant " << i << " of " << recipe.name;
    own += pathIn(stats) == EntropyPath::Own;
    refused += stats.images == 0;
  }
  EXPECT_GT(own, wanted / 10) << "hardly any mutant is ours";
  EXPECT_GT(refused, wanted / 10) << "hardly any mutant is damaged";
}

} // namespace
