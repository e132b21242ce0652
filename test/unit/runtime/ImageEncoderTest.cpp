// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/ImageDecoder.h"
#include "runtime/media/jpeg/JpegEncoder.h"
#include "runtime/media/png/PngEncoder.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

namespace penstock::runtime {

namespace {

using Bytes = std::vector<uint8_t>;

struct Made {
  Picture picture;
  Bytes pixels;
};

/// Rows with `beside` bytes between them; `noise` is 0 or 255 in each byte.
Made make(uint32_t height, uint32_t width, PixelFormat format, size_t beside, bool noise,
          std::mt19937 &random) {
  const size_t channels = channelsOf(format);
  Made made;
  const size_t stride = width * channels + beside;
  made.pixels.resize(stride * height, 0xEE);
  const Bytes smooth = randomPixels(int(width), int(height), int(channels), random);
  for (uint32_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width * channels; ++x)
      made.pixels[y * stride + x] =
          noise ? uint8_t(random() % 2 * 255) : smooth[y * width * channels + x];
  made.picture = {made.pixels.data(), stride, height, width, format};
  return made;
}

Bytes packed(const Made &made) {
  const Picture &p = made.picture;
  Bytes result;
  for (uint32_t y = 0; y < p.height; ++y)
    result.insert(result.end(), p.rows + y * p.rowStride,
                  p.rows + y * p.rowStride + p.width * channelsOf(p.format));
  return result;
}

TEST(JpegEncoder, WritesTheFileOfLibjpegsDefaults) {
  std::mt19937 random(1);
  JpegEncoder encoder;
  for (PixelFormat format : {PixelFormat::Rgb, PixelFormat::Gray})
    for (const auto &[height, width] : {std::pair(1, 1), {7, 33}, {16, 16}, {65, 50}})
      for (int quality : {1, 30, 75, 95, 100}) {
        const Made made = make(uint32_t(height), uint32_t(width), format, 5, false, random);
        Bytes out(JpegEncoder::room(made.picture));
        auto size = encoder.encode(made.picture, quality, out);
        ASSERT_TRUE(size) << size.error().message;
        out.resize(*size);
        JpegRecipe recipe;
        recipe.quality = quality;
        recipe.components = int(channelsOf(format));
        recipe.stored = format == PixelFormat::Rgb ? JCS_YCbCr : JCS_GRAYSCALE;
        if (format == PixelFormat::Rgb)
          recipe.factors[0] = {2, 2};
        EXPECT_EQ(out, encodeJpeg(recipe, width, height, packed(made)))
            << height << " x " << width << ", quality " << quality;
      }
}

TEST(ImageEncoders, TheWorstImagesFitIntoTheirRoom) {
  std::mt19937 random(2);
  JpegEncoder jpeg;
  PngEncoder png;
  for (PixelFormat format : {PixelFormat::Rgb, PixelFormat::Gray})
    for (const auto &[height, width] : {std::pair(8, 8), {9, 17}, {256, 240}, {301, 1}}) {
      const Made made = make(uint32_t(height), uint32_t(width), format, 0, true, random);
      Bytes out(JpegEncoder::room(made.picture));
      EXPECT_TRUE(jpeg.encode(made.picture, 100, out));
      out.assign(PngEncoder::room(made.picture), 0);
      EXPECT_TRUE(png.encode(made.picture, out));
      Made plain = make(uint32_t(height), uint32_t(width), format, 0, false, random);
      for (uint8_t &byte : plain.pixels)
        byte = uint8_t(random());
      plain.picture.rows = plain.pixels.data();
      EXPECT_TRUE(png.encode(plain.picture, out));
    }
}

TEST(PngEncoder, WhatItWritesIsReadBack) {
  std::mt19937 random(3);
  PngEncoder encoder;
  ImageDecoder decoder;
  for (PixelFormat format : {PixelFormat::Rgb, PixelFormat::Gray})
    for (const auto &[height, width] : {std::pair(1, 1), {40, 33}, {3, 500}}) {
      const Made made = make(uint32_t(height), uint32_t(width), format, 3, false, random);
      Bytes out(PngEncoder::room(made.picture));
      auto size = encoder.encode(made.picture, out);
      ASSERT_TRUE(size) << size.error().message;
      out.resize(*size);
      Bytes back(packed(made).size());
      DecodeStats stats;
      const Status status =
          decoder.decodeRegion(out, format, {0, 0, uint32_t(height), uint32_t(width)}, back.data(),
                               size_t(width) * channelsOf(format), stats);
      ASSERT_TRUE(status) << status.error().message;
      EXPECT_EQ(back, packed(made));
    }
}

TEST(ImageEncoders, SayWhatCannotBe) {
  std::mt19937 random(4);
  JpegEncoder jpeg;
  PngEncoder png;
  const Made made = make(20, 20, PixelFormat::Rgb, 0, true, random);
  Bytes out(JpegEncoder::room(made.picture));
  EXPECT_EQ(jpeg.encode(made.picture, 0, out).error().message,
            "a JPEG quality is 1 to 100, and this is 0");
  EXPECT_EQ(jpeg.encode(made.picture, 101, out).error().message,
            "a JPEG quality is 1 to 100, and this is 101");
  Picture none = made.picture;
  none.height = 0;
  EXPECT_EQ(jpeg.encode(none, 50, out).error().message, "an image of 0 rows cannot be encoded");
  Picture wide = made.picture;
  wide.width = 65501;
  EXPECT_EQ(png.encode(wide, out).error().message, "an image of 65501 columns cannot be encoded");
  const auto tight = jpeg.encode(made.picture, 100, std::span(out).first(700));
  ASSERT_FALSE(tight);
  EXPECT_EQ(tight.error().code, Code::Limit);
  EXPECT_TRUE(jpeg.encode(made.picture, 100, out)); // it is as before
  EXPECT_EQ(png.encode(made.picture, std::span(out).first(50)).error().code, Code::Limit);
  EXPECT_EQ(png.encode(made.picture, std::span(out).first(100)).error().code, Code::Limit);
  EXPECT_TRUE(png.encode(made.picture, out));
}

} // namespace

} // namespace penstock::runtime
