// Files that other programs wrote: cjpeg and jpegtran (libjpeg-turbo-progs).
#include "test/unit/runtime/JpegAgreement.h"
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/runtime/JpegMutants.h"
#include "test/unit/runtime/TempFolder.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

using namespace penstock::runtime;

namespace {

std::vector<uint8_t> contents(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void writePnm(const std::string &path, int width, int height, int channels, std::mt19937 &random) {
  const auto pixels = randomPixels(width, height, channels, random);
  std::ofstream file(path, std::ios::binary);
  file << (channels == 3 ? "P6 " : "P5 ") << width << ' ' << height << " 255\n";
  file.write(reinterpret_cast<const char *>(pixels.data()), long(pixels.size()));
}

struct JpegPrograms : testing::Test {
  TempFolder folder;
  std::mt19937 random{61};
  int files = 0, baseline = 0, own = 0;
  const int mutants =
      std::getenv("PENSTOCK_MUTANTS") ? std::atoi(std::getenv("PENSTOCK_MUTANTS")) / 100 : 2;

  bool run(const std::string &command) { return std::system(command.c_str()) == 0; }

  void SetUp() override {
    if (!run("command -v cjpeg jpegtran >/dev/null"))
      GTEST_SKIP() << "cjpeg and jpegtran are not installed (scripts/setup)";
  }

  void check(const std::string &path, const std::string &what, bool isBaseline) {
    const auto file = contents(path);
    const auto info = probeJpeg(file);
    ASSERT_TRUE(info.ok()) << what << ": " << info.error().message;
    EntropyPath way{};
    const Region whole{0, 0, info->height, info->width};
    ASSERT_EQ(jpegDisagreement(file, whole, PixelFormat::Rgb, false, *entropyKernels().front(), &way),
              "")
        << what;
    for (int i = 0; i < 3; ++i)
      ASSERT_EQ(jpegDisagreement(file, random()), "") << what;
    for (int i = 0; i < mutants; ++i)
      ASSERT_EQ(jpegDisagreement(mutate(file, random), random()), "") << what << ", damaged";
    ++files;
    baseline += isBaseline;
    own += isBaseline && way == EntropyPath::Own;
  }
};

TEST_F(JpegPrograms, FilesOfCjpegAndJpegtranAreDecodedAsByLibjpeg) {
  const std::string pixels = folder.path() + "/in", made = folder.path() + "/a.jpg",
                    turned = folder.path() + "/b.jpg";
  for (const char *sampling : {"1x1", "2x1", "2x2", "1x2", "4x1", "gray", "rgb"})
    for (const char *more : {"", "-restart 1", "-restart 3B", "-optimize", "-progressive",
                             "-arithmetic", "-optimize -restart 2"}) {
      const std::string kind = sampling;
      const int quality = 20 + int(random() % 81);
      writePnm(pixels, 1 + int(random() % 140), 1 + int(random() % 140), kind == "gray" ? 1 : 3,
               random);
      const std::string options = "-quality " + std::to_string(quality) + " " + more +
                                  (kind == "gray"  ? ""
                                   : kind == "rgb" ? " -rgb"
                                                   : " -sample " + kind);
      const bool isBaseline =
          std::string(more) != "-progressive" && std::string(more) != "-arithmetic";
      ASSERT_TRUE(run("cjpeg " + options + " -outfile " + made + " " + pixels)) << options;
      check(made, "cjpeg " + options, isBaseline);
      for (const char *change : {"-rotate 90", "-flip horizontal -optimize", "-progressive",
                                 "-restart 1 -transpose"}) {
        if (random() % 2 || HasFatalFailure())
          continue;
        ASSERT_TRUE(run(std::string("jpegtran ") + change + " -outfile " + turned + " " + made));
        check(turned, "cjpeg " + options + ", jpegtran " + change,
              isBaseline && std::string(change) != "-progressive");
      }
      if (HasFatalFailure())
        return;
    }
  EXPECT_GT(files, 60);
  EXPECT_GE(own * 100, baseline * 98) << own << " of " << baseline;
}

} // namespace
