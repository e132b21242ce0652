// SPDX-License-Identifier: Apache-2.0
//
// Files that other programs wrote: cjpeg, jpegtran and wrjpgcom (libjpeg-turbo-progs)
// and ImageMagick. What they cover is read from the files, counted and printed.
//
// PENSTOCK_MUTANTS in the environment asks for more damaged ones, and
// PENSTOCK_LARGE_JPEGS=1 for large files.
#include "test/unit/runtime/JpegAgreement.h"
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/runtime/JpegMutants.h"
#include "test/unit/runtime/JpegScripts.h"
#include "test/unit/runtime/JpegTraits.h"
#include "test/unit/runtime/TempFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>

using namespace penstock::runtime;

namespace {

std::vector<uint8_t> contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string &path, const std::vector<uint8_t> &bytes,
           const std::string &before = "") {
  std::ofstream file(path, std::ios::binary);
  file << before;
  file.write(reinterpret_cast<const char *>(bytes.data()), long(bytes.size()));
}

constexpr uint64_t anySize = 1 << 30; // pixels

/// After the first failure nothing more is done.
struct JpegCorpus : testing::Test {
  TempFolder folder;
  const std::string pixels = folder.path() + "/in", made = folder.path() + "/made.jpg",
                    turned = folder.path() + "/turned.jpg";
  std::mt19937 random{61};
  const int mutants =
      std::getenv("PENSTOCK_MUTANTS") ? std::atoi(std::getenv("PENSTOCK_MUTANTS")) / 1000 : 1;

  std::map<std::string, int> counts; // of files, by trait
  std::set<std::string> samplings, quantisations;
  int files = 0, huffman = 0, own = 0, indexed = 0, regions = 0, damaged = 0;

  /// Runs a command and shows its output if it fails: cjpeg has a word of caution for
  /// every quality below 25.
  bool run(const std::string &command) {
    const std::string said = folder.path() + "/said";
    const bool good = std::system(("( " + command + " ) > " + said + " 2>&1").c_str()) == 0;
    if (!good)
      for (const uint8_t letter : contents(said))
        std::cerr.put(char(letter));
    return good;
  }

  void SetUp() override {
    if (!run("command -v cjpeg jpegtran wrjpgcom && convert -version | grep -q Magick"))
      GTEST_SKIP() << "libjpeg-turbo-progs or imagemagick is not installed (scripts/setup)";
  }

  std::string oneOf(std::initializer_list<std::string> values) {
    return values.begin()[random() % values.size()];
  }
  std::string quality() { return " -quality " + std::to_string(1 + random() % 100); }

  void program(const std::string &command, const std::string &name, const std::string &path,
               bool change = true);
  void check(const std::string &path, const std::string &name);
  void checkRegions(const std::vector<uint8_t> &file, const JpegInfo &info, bool isOwn,
                    bool severalScans);
  void writePixels(int width, int height, int channels);
  void cjpeg(const std::string &options, int width, int height, int channels = 3);
  void cjpeg(const std::string &options, int channels = 3) {
    cjpeg(options, 1 + int(random() % 140), 1 + int(random() % 140), channels);
  }

  void everySampling();
  void everyQuality();
  void restartIntervals();
  void sizes();
  void largeSizes();
  void colours();
  void markers();
  void otherCodings();
  void imageMagick();
};

/// Runs a command that makes a file, and checks it; and every sixth once more,
/// changed by jpegtran.
void JpegCorpus::program(const std::string &command, const std::string &name,
                         const std::string &path, bool change) {
  if (HasFailure())
    return;
  ASSERT_TRUE(run(command)) << command;
  check(path, name);
  EXPECT_FALSE(HasFailure()) << command;
  if (!change || random() % 6)
    return;
  const std::string how =
      oneOf({"-rotate 90", "-flip horizontal -optimize", "-restart 1 -transpose", "-transverse",
             "-restart 5B -copy all", "-rotate 180 -trim", "-optimize -copy none", "-progressive",
             "-progressive -restart 3 -flip vertical"});
  program("jpegtran " + how + " -outfile " + turned + " " + path, "by jpegtran", turned, false);
}

void JpegCorpus::check(const std::string &path, const std::string &name) {
  const auto file = contents(path);
  const auto info = probeJpeg(file);
  ASSERT_TRUE(info.ok()) << info.error().message;
  const Region whole{0, 0, info->height, info->width};
  DecodeStats stats;
  for (const EntropyKernels *kernels : entropyKernels())
    ASSERT_EQ(jpegDisagreement(file, whole, PixelFormat::Rgb,
                               {.kernels = kernels, .maxPixels = anySize}, &stats),
              "");
  // Not through any code of ours, where Pillow's conversion does not come behind it.
  if (info->components < 4)
    ASSERT_EQ(decodeJpeg(file, whole, PixelFormat::Rgb, {}).pixels, plainDecode(file, JCS_RGB));
  const JpegTraits traits = traitsOf(file);
  const bool isOwn = pathIn(stats) == EntropyPath::Own;
  const bool severalScans =
      traits.words.contains("progressive") || traits.words.contains("several scans");
  checkRegions(file, *info, isOwn, severalScans);

  ++files;
  const bool isHuffman = !traits.words.contains("arithmetic");
  huffman += isHuffman;
  own += isHuffman && isOwn;
  ++counts[name];
  for (const std::string &word : traits.words)
    ++counts[word];
  if (info->components == 3)
    samplings.insert(traits.sampling);
  quantisations.insert(traits.quantisation);
}

void JpegCorpus::checkRegions(const std::vector<uint8_t> &file, const JpegInfo &info, bool isOwn,
                              bool severalScans) {
  for (int i = 0; i < 2; ++i)
    ASSERT_EQ(jpegDisagreement(file, random(), anySize), "");
  for (int i = 0; i < mutants; ++i, ++damaged) {
    const auto mutant = mutate(file, random); // first: arguments have no order of their own
    ASSERT_EQ(jpegDisagreement(mutant, random()), "") << "damaged";
  }
  if (!isOwn || info.height < 100 || severalScans)
    return;
  // From checkpoints: the lower right corner, which always needs less than all.
  const auto index = EntropyIndexer().build(file);
  ASSERT_TRUE(index.ok()) << index.error().message;
  OneIndex one;
  one.given = &*index;
  const uint32_t width = 1 + random() % info.width, height = 1 + random() % 30;
  const Region corner{info.height - height, info.width - width, height, width};
  DecodeStats stats;
  ASSERT_EQ(jpegDisagreement(file, corner, PixelFormat::Rgb,
                             {.indexes = &one, .maxPixels = anySize}, &stats),
            "")
      << "from checkpoints";
  indexed += int(stats.indexUses);
  ++regions;
}

void JpegCorpus::writePixels(int width, int height, int channels) {
  write(pixels, randomPixels(width, height, channels, random),
        (channels == 3 ? "P6 " : "P5 ") + std::to_string(width) + " " + std::to_string(height) +
            " 255\n");
}

void JpegCorpus::cjpeg(const std::string &options, int width, int height, int channels) {
  writePixels(width, height, channels);
  program("cjpeg " + options + " -outfile " + made + " " + pixels, "by cjpeg", made);
}

/// All that libjpeg takes: whole ratios, and at most ten blocks in an MCU.
void JpegCorpus::everySampling() {
  constexpr int pairs = 16;
  for (int all = 0; all < pairs * pairs * pairs; ++all) {
    int blocks = 0, most[2] = {1, 1};
    int factors[3][2];
    for (int c = 0, rest = all; c < 3; ++c, rest /= pairs) {
      factors[c][0] = 1 + rest % 4;
      factors[c][1] = 1 + rest / 4 % 4;
      blocks += factors[c][0] * factors[c][1];
      for (int axis : {0, 1})
        most[axis] = std::max(most[axis], factors[c][axis]);
    }
    bool taken = blocks <= 10;
    std::string sample;
    for (const auto &factor : factors) {
      taken &= most[0] % factor[0] == 0 && most[1] % factor[1] == 0;
      sample +=
          (sample.empty() ? "" : ",") + std::to_string(factor[0]) + "x" + std::to_string(factor[1]);
    }
    if (taken)
      cjpeg("-sample " + sample + quality() +
            oneOf({"", "", " -restart 1", " -restart 3B", " -optimize", " -optimize -restart 2"}));
  }
}

void JpegCorpus::everyQuality() {
  for (int quality = 1; quality <= 100; ++quality)
    cjpeg("-quality " + std::to_string(quality) + oneOf({"", " -optimize", " -baseline"}),
          random() % 2 ? 1 : 3);
}

void JpegCorpus::restartIntervals() {
  for (const char *interval : {"1B", "2B", "3B", "8B", "9B", "100B", "65535B", "1", "2", "5"})
    for (const char *sample : {"1x1", "2x1", "2x2"})
      cjpeg(std::string("-sample ") + sample + " -restart " + interval + oneOf({"", " -optimize"}) +
            quality());
}

void JpegCorpus::sizes() {
  for (int size : {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33})
    for (const char *sample : {"-sample 1x1", "-sample 2x2", "-sample 4x1", "-grayscale"}) {
      cjpeg(sample + quality(), size, size);
      cjpeg(sample + quality(), size, 1);
      cjpeg(sample + quality(), 1, size);
    }
  for (int size : {1, 17, 40})
    for (bool wide : {false, true})
      cjpeg("-quality 60" + oneOf({"", " -restart 1", " -sample 1x1"}), wide ? 65500 : size,
            wide ? size : 65500);
}

void JpegCorpus::largeSizes() {
  for (auto [width, height] : {std::pair{65500, 300}, {300, 65500}, {5120, 5120}, {65500, 1000}})
    for (const char *more :
         {"", " -sample 1x1 -restart 1", " -optimize -sample 2x1", " -grayscale"})
      cjpeg("-quality 80" + std::string(more), width, height);
}

void JpegCorpus::colours() {
  for (int i = 0; i < 12; ++i) {
    cjpeg("-grayscale" + quality());
    cjpeg(oneOf({"", "-optimize", "-restart 2B"}) + quality(), 1);
    cjpeg("-rgb" + oneOf({"", " -sample 2x2", " -sample 2x1,1x1,2x1"}) + quality());
    // No program here writes CMYK as it is.
    JpegRecipe recipe{.name = "cmyk", .components = 4, .stored = JCS_CMYK};
    if (i % 2)
      recipe.factors = {{{2, 2}, {1, 1}, {1, 1}, {2, 2}}};
    recipe.quality = 1 + int(random() % 100);
    write(made, randomJpeg(recipe, 1 + random() % 140, 1 + random() % 140, random));
    program("jpegtran -copy all " + oneOf({"", "-optimize", "-restart 2B"}) + " -outfile " +
                turned + " " + made,
            "by jpegtran", turned, false);
  }
}

/// ICC profiles in pieces, comments, and segments of all kinds that no one has heard
/// of: empty, of the largest size, and such that look like others.
void JpegCorpus::markers() {
  const std::string data = folder.path() + "/profile";
  for (int size : {1, 400, 65519, 65520, 200000}) {
    write(data, randomPixels(size, 1, 1, random));
    cjpeg("-icc " + data + quality());
    program("jpegtran -copy icc -optimize -outfile " + turned + " " + made, "by jpegtran", turned,
            false);
    program("wrjpgcom -comment 'a word' " + made + " > " + turned, "by wrjpgcom", turned, false);
  }
  for (int marker : {0xE0, 0xE1, 0xE2, 0xE3, 0xEC, 0xED, 0xEE, 0xEF, 0xFE})
    for (const std::string &text :
         {std::string(), std::string("JFXX\0\x10", 6),
          std::string("http://ns.adobe.com/xap/1.0/\0", 29), std::string("Exif\0\0II*\0", 10),
          std::string("Adobe\0", 6), std::string("ICC_PROFILE\0\1\1", 14),
          std::string(65533, '\xFF')}) {
      cjpeg(quality());
      auto file = contents(made);
      const size_t length = text.size() + 2;
      std::vector<uint8_t> segment{0xFF, uint8_t(marker), uint8_t(length >> 8), uint8_t(length)};
      segment.insert(segment.end(), text.begin(), text.end());
      file.insert(file.begin() + 20, segment.begin(), segment.end()); // behind JFIF's
      write(made, file);
      program("jpegtran -copy all -outfile " + turned + " " + made, "by jpegtran", turned, false);
      if (!HasFailure())
        check(made, "with a marker put in");
    }
}

/// Progressive files and such of several scans, by scripts of all kinds, and
/// arithmetic coding, which is libjpeg's.
void JpegCorpus::otherCodings() {
  const std::string script = folder.path() + "/scans";
  const auto writeScript = [&](bool progressive, const JpegRecipe &recipe) {
    std::ofstream out(script);
    for (const jpeg_scan_info &scan :
         progressive ? randomProgression(recipe, random) : randomScans(recipe, random)) {
      for (int i = 0; i < scan.comps_in_scan; ++i)
        out << scan.component_index[i] << ' ';
      out << ": " << scan.Ss << '-' << scan.Se << ", " << scan.Ah << ", " << scan.Al << ";\n";
    }
  };
  JpegRecipe recipe;
  for (int i = 0; i < 24; ++i) {
    recipe.factors[0] = {1 + int(random() % 2), 1 + int(random() % 2)};
    const std::string sample = " -sample " + std::to_string(recipe.factors[0][0]) + "x" +
                               std::to_string(recipe.factors[0][1]);
    const std::string more = oneOf({"", " -restart 1", " -restart 7B"});
    writeScript(i % 3 > 0, recipe);
    cjpeg("-optimize -scans " + script + sample + more + quality());
    writeScript(i % 2, recipe);
    cjpeg(sample + quality());
    program("jpegtran -optimize -scans " + script + more + " -outfile " + turned + " " + made,
            "by jpegtran", turned, false);
  }
  for (const char *more : {"-progressive", "-arithmetic", "-progressive -restart 1",
                           "-arithmetic -sample 1x1", "-progressive -grayscale"})
    cjpeg(more + quality());
}

void JpegCorpus::imageMagick() {
  const std::string exif = folder.path() + "/exif", other = folder.path() + "/other",
                    icc = folder.path() + "/icc.jpg";
  const std::string orientation("Exif\0\0II*\0\10\0\0\0\1\0\22\1\3\0\1\0\0\0\6\0\0\0\0\0\0\0", 32);
  write(exif, {}, orientation);
  write(other, randomPixels(70000, 1, 1, random));
  for (int round = 0; round < 8; ++round) {
    writePixels(1 + int(random() % 140), 1 + int(random() % 140), 3);
    if (!run("cjpeg -icc " + exif + " -outfile " + icc + " " + pixels))
      ADD_FAILURE() << "cjpeg -icc";
    std::string command = "convert " + (round % 2 ? icc : pixels);
    constexpr int each = 10;
    const auto name = [&](int i) { return folder.path() + "/im" + std::to_string(i) + ".jpg"; };
    for (int i = 0; i < each; ++i)
      command += " \\( +clone" +
                 oneOf({"", "", " -colorspace Gray", " -colorspace CMYK", " -colorspace CMYK"}) +
                 oneOf({"", " -profile app1:" + exif, " -profile 8bim:" + other,
                        " -profile iptc:" + other + " -profile app1:" + exif,
                        " -set comment 'a word'", " -strip"}) +
                 " -interlace " + (i % 3 ? "none" : "JPEG") +
                 " -define jpeg:optimize-coding=" + oneOf({"true", "false"}) +
                 " -sampling-factor " +
                 oneOf({"1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "2x2,1x2,2x1"}) + quality() +
                 " -write " + name(i) + " +delete \\)";
    if (!run(command + " null:"))
      ADD_FAILURE() << command;
    for (int i = 0; i < each; ++i)
      program("true", "by ImageMagick", name(i));
  }
}

TEST_F(JpegCorpus, IsDecodedAsByLibjpeg) {
  everySampling();
  everyQuality();
  restartIntervals();
  sizes();
  colours();
  markers();
  otherCodings();
  imageMagick();
  if (const char *large = std::getenv("PENSTOCK_LARGE_JPEGS"); large && *large == '1')
    largeSizes();
  if (HasFailure())
    return;
  for (const auto &[what, count] : counts)
    std::printf("%6d  %s\n", count, what.c_str());
  std::printf(
      "%6d files, %d damaged ones, %zu samplings of three components, %zu quantisation tables\n"
      "%6d files with Huffman codes, %d of them by our decoder; %d of %d regions from "
      "checkpoints\n",
      files, damaged, samplings.size(), quantisations.size(), huffman, own, indexed, regions);

  EXPECT_GE(own * 100, huffman * 98) << own << " of " << huffman;
  EXPECT_EQ(indexed, regions);
  EXPECT_GT(regions, 100);
  EXPECT_EQ(samplings.size(), 311u) << "all that libjpeg takes";
  EXPECT_GE(quantisations.size(), 100u);
  EXPECT_EQ(counts["8 bits"], files);
  for (const char *what : {"by cjpeg",
                           "by jpegtran",
                           "by ImageMagick",
                           "by wrjpgcom",
                           "gray",
                           "YCbCr",
                           "RGB",
                           "CMYK",
                           "YCCK",
                           "standard tables",
                           "optimised tables",
                           "restart markers",
                           "restart marker after each MCU",
                           "1 x 1",
                           "65,500 wide",
                           "65,500 high",
                           "EXIF",
                           "ICC",
                           "ICC in pieces",
                           "comment",
                           "Photoshop",
                           "JFIF or Adobe",
                           "other markers",
                           "progressive",
                           "arithmetic",
                           "several scans"})
    EXPECT_GE(counts[what], 2) << what;
}

} // namespace
