// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/JpegHeader.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace penstock::runtime;

namespace {

std::vector<uint8_t> small() {
  std::mt19937 random(1);
  return randomJpeg({.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}}, 33, 21, random);
}

/// An APP1 segment with an orientation, put behind the start marker.
std::vector<uint8_t> withExif(bool little, uint32_t value, uint16_t type = 3) {
  std::vector<uint8_t> tiff = little ? std::vector<uint8_t>{'I', 'I', 42, 0, 8, 0, 0, 0}
                                     : std::vector<uint8_t>{'M', 'M', 0, 42, 0, 0, 0, 8};
  auto put = [&](uint32_t number, int size) {
    for (int i = 0; i < size; ++i)
      tiff.push_back(uint8_t(number >> 8 * (little ? i : size - 1 - i)));
  };
  put(2, 2);
  put(0x010F, 2), put(3, 2), put(1, 4), put(7, 2), put(0, 2);
  put(0x0112, 2), put(type, 2), put(1, 4);
  if (type == 4 || type == 9)
    put(value, 4);
  else
    put(value, 2), put(0, 2);
  std::vector<uint8_t> segment = {0xFF, 0xE1, 0, uint8_t(tiff.size() + 8), 'E', 'x', 'i',
                                  'f',  0,    0};
  segment.insert(segment.end(), tiff.begin(), tiff.end());
  auto file = small();
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  return file;
}

std::string messageOf(const std::vector<uint8_t> &file, ImageLimits limits = {}) {
  auto info = probeJpeg(file, limits);
  return info ? "" : info.error().message;
}

size_t frameAt(const std::vector<uint8_t> &file) {
  for (size_t i = 0; i + 1 < file.size(); ++i)
    if (file[i] == 0xFF && file[i + 1] == 0xC0)
      return i;
  return 0;
}

TEST(JpegProbe, ReadsSizeAndSampling) {
  struct Case {
    std::array<std::array<int, 2>, 4> factors;
    JpegSampling sampling;
  } cases[] = {
      {{{{1, 1}, {1, 1}, {1, 1}}}, JpegSampling::S444},
      {{{{2, 1}, {1, 1}, {1, 1}}}, JpegSampling::S422},
      {{{{2, 2}, {1, 1}, {1, 1}}}, JpegSampling::S420},
      {{{{1, 2}, {1, 1}, {1, 1}}}, JpegSampling::S440},
      {{{{4, 1}, {1, 1}, {1, 1}}}, JpegSampling::S411},
      {{{{2, 2}, {1, 2}, {1, 2}}}, JpegSampling::Other},
  };
  std::mt19937 random(1);
  for (const Case &test : cases) {
    auto file = randomJpeg({.name = "", .factors = test.factors}, 33, 21, random);
    auto info = probeJpeg(file);
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info->width, 33u);
    EXPECT_EQ(info->height, 21u);
    EXPECT_EQ(info->components, 3);
    EXPECT_EQ(info->sampling, test.sampling);
    EXPECT_EQ(info->orientation, 1);
    EXPECT_FALSE(info->progressive);
    EXPECT_TRUE(hasEndOfImage(file, *info));
  }
}

TEST(JpegProbe, ReadsTheKind) {
  std::mt19937 random(1);
  auto gray = randomJpeg({.name = "", .components = 1, .stored = JCS_GRAYSCALE}, 9, 8, random);
  EXPECT_EQ(probeJpeg(gray)->components, 1);
  EXPECT_EQ(probeJpeg(gray)->sampling, JpegSampling::None);
  auto progressive = randomJpeg({.name = "", .progressive = true}, 9, 8, random);
  EXPECT_TRUE(probeJpeg(progressive)->progressive);
  auto arithmetic = randomJpeg({.name = "", .arithmetic = true}, 9, 8, random);
  EXPECT_TRUE(probeJpeg(arithmetic)->arithmetic);
}

TEST(JpegProbe, ReadsTheOrientationInBothByteOrders) {
  for (bool little : {true, false})
    for (uint16_t value = 1; value <= 8; ++value) {
      auto info = probeJpeg(withExif(little, value));
      ASSERT_TRUE(info.ok());
      EXPECT_EQ(info->orientation, value);
      for (uint16_t type : {4, 8, 9}) // LONG, SSHORT, SLONG
        EXPECT_EQ(probeJpeg(withExif(little, value, type))->orientation, value) << type;
    }
}

TEST(JpegProbe, TakesASenselessOrientationAsNone) {
  EXPECT_EQ(probeJpeg(withExif(true, 0))->orientation, 1);
  EXPECT_EQ(probeJpeg(withExif(true, 9))->orientation, 1);
  EXPECT_EQ(probeJpeg(withExif(true, 6, 2))->orientation, 1) << "wrong type";
  EXPECT_EQ(probeJpeg(withExif(true, 0x10006, 4))->orientation, 1);
  for (uint8_t count : {0, 9}) {
    auto several = withExif(true, 6);
    several[12 + 26] = count;
    EXPECT_EQ(probeJpeg(several)->orientation, 1) << int(count);
  }
  auto file = withExif(true, 6);
  file[12 + 4] = 0xFF; // the directory lies outside the segment
  file[12 + 7] = 0xFF;
  EXPECT_EQ(probeJpeg(file)->orientation, 1);
}

TEST(JpegProbe, SkipsWhatLibjpegSkips) {
  auto file = small();
  file.insert(file.begin() + 2, {0xFF, 0xFF, 0xFF, 0xFE, 0, 3, 'x', 'y', 'z'});
  EXPECT_TRUE(probeJpeg(file).ok()) << messageOf(file);
}

TEST(JpegProbe, SaysWhatIsWrong) {
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(messageOf({}), "not a JPEG file: it is empty");
  EXPECT_EQ(messageOf({0x89, 'P', 'N', 'G', 13, 10, 26, 10}), "not a JPEG file: it is a PNG file");
  EXPECT_EQ(messageOf(Bytes(100, 'x')), "not a JPEG file: its first bytes are no JPEG marker");
  EXPECT_EQ(messageOf({0xFF, 0xD8, 0xFF}),
            "truncated JPEG: it ends after 3 bytes, inside its headers");
  EXPECT_EQ(messageOf({0xFF, 0xD8, 0xFF, 0xD9}), "damaged JPEG: it holds no image");
  auto cut = small();
  cut.resize(100);
  EXPECT_EQ(messageOf(cut), "truncated JPEG: it ends after 100 bytes, inside its headers");
  auto file = small();
  size_t frame = frameAt(file);
  auto with = [&](size_t at, uint8_t value) {
    Bytes changed = file;
    changed[frame + at] = value;
    return messageOf(changed);
  };
  EXPECT_EQ(with(1, 0xC3), "lossless and hierarchical JPEG is not read");
  EXPECT_EQ(with(4, 12), "JPEG with 12 bits per sample is not read");
  EXPECT_EQ(with(9, 2), "JPEG with 2 components is not read");
  EXPECT_EQ(with(11, 0x51), "damaged JPEG: bad sampling factors");
  EXPECT_EQ(with(6, 0), "JPEG without a size in its header (33 x 0) is not read");
  file[frame + 5] = 0xFF;
  file[frame + 6] = 0xFF;
  EXPECT_EQ(messageOf(file), "JPEG of 33 x 65535 pixels, the limit is 65500 per side");
  ImageLimits limits;
  limits.maxPixels = 33 * 21 - 1;
  EXPECT_EQ(messageOf(small(), limits), "JPEG of 33 x 21 pixels, the limit is 692 in all");
}

} // namespace
