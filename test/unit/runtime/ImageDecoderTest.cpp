// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/ImageDecoder.h"
#include "runtime/media/ImageHeader.h"

#include <gtest/gtest.h>
#include <webp/encode.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <random>
#include <string>
#include <vector>

using namespace penstock::runtime;

namespace {

using Bytes = std::vector<uint8_t>;

constexpr uint32_t height = 23, width = 17;

Bytes randomBytes(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (uint8_t &byte : bytes)
    byte = uint8_t(random());
  return bytes;
}

void append(Bytes &bytes, std::string_view text) {
  std::copy(text.begin(), text.end(),
            std::back_inserter(bytes)); // g++ 12 sees an overflow in insert()
}

void appendNumber(Bytes &bytes, uint32_t value, int size, bool little) {
  for (int i = 0; i < size; ++i)
    bytes.push_back(uint8_t(value >> 8 * (little ? i : size - 1 - i)));
}

void appendChunk(Bytes &file, const char *type, const Bytes &body) {
  appendNumber(file, uint32_t(body.size()), 4, false);
  const size_t begin = file.size();
  append(file, type);
  file.insert(file.end(), body.begin(), body.end());
  appendNumber(file, uint32_t(crc32(0, &file[begin], uInt(file.size() - begin))), 4, false);
}

/// RGB, unfiltered; `interlaced` lies about the rows, which then are too few.
Bytes pngFile(uint32_t rows = height, uint32_t columns = width, bool interlaced = false) {
  Bytes file, header, raw;
  append(file, "\x89PNG\r\n\x1a\n");
  appendNumber(header, columns, 4, false);
  appendNumber(header, rows, 4, false);
  for (int value : {8, 2, 0, 0, int(interlaced)})
    header.push_back(uint8_t(value));
  appendChunk(file, "IHDR", header);
  const Bytes pixels = randomBytes(height * width * 3, 1);
  for (uint32_t y = 0; y < height; ++y) {
    raw.push_back(0);
    raw.insert(raw.end(), &pixels[y * width * 3], &pixels[y * width * 3] + width * 3);
  }
  uLongf size = compressBound(raw.size());
  Bytes packed(size);
  EXPECT_EQ(compress(packed.data(), &size, raw.data(), raw.size()), Z_OK);
  packed.resize(size);
  appendChunk(file, "IDAT", packed);
  appendChunk(file, "IEND", {});
  return file;
}

Bytes webpFile(bool lossless) {
  const Bytes pixels = randomBytes(height * width * 3, 2);
  uint8_t *out = nullptr;
  const size_t size = lossless
                          ? WebPEncodeLosslessRGB(pixels.data(), width, height, width * 3, &out)
                          : WebPEncodeRGB(pixels.data(), width, height, width * 3, 60, &out);
  Bytes file(out, out + size);
  WebPFree(out);
  return file;
}

Bytes bmpFile() {
  Bytes file;
  append(file, "BM");
  const uint32_t stride = (width * 24 + 31) / 32 * 4;
  for (uint32_t value : {54 + stride * height, 0u, 54u, 40u, width, height})
    appendNumber(file, value, 4, true);
  appendNumber(file, 1, 2, true);
  appendNumber(file, 24, 2, true);
  file.resize(54);
  const Bytes pixels = randomBytes(stride * height, 3);
  file.insert(file.end(), pixels.begin(), pixels.end());
  return file;
}

Bytes pnmFile() {
  Bytes file;
  append(file, "P6 17 23 255\n");
  const Bytes pixels = randomBytes(height * width * 3, 4);
  file.insert(file.end(), pixels.begin(), pixels.end());
  return file;
}

struct Example {
  ImageFormat format;
  Bytes bytes;
};

std::vector<Example> examples() {
  return {{ImageFormat::Png, pngFile()},
          {ImageFormat::WebP, webpFile(false)},
          {ImageFormat::WebP, webpFile(true)},
          {ImageFormat::Bmp, bmpFile()},
          {ImageFormat::Pnm, pnmFile()}};
}

/// A region, in room that ends with it; empty with `message` set on failure.
Bytes decode(ImageDecoder &decoder, const Bytes &file, PixelFormat format, const Region &region,
             std::string *message = nullptr, DecodeStats *cost = nullptr) {
  const size_t row = size_t(region.width) * channelsOf(format);
  Bytes pixels(row * region.height);
  DecodeStats stats;
  Status status = decoder.decodeRegion(file, format, region, pixels.data(), row, stats);
  if (cost)
    *cost = stats;
  if (status)
    return pixels;
  if (message)
    *message = status.error().message;
  return {};
}

TEST(ImageDecoder, RegionsAreBoxesOfTheWholeImage) {
  ImageDecoder decoder;
  std::mt19937 random(5);
  for (const Example &example : examples()) {
    auto info = probeImage(example.bytes);
    ASSERT_TRUE(info.ok()) << info.error().message;
    EXPECT_EQ(info->format, example.format);
    ASSERT_EQ(info->height, height);
    ASSERT_EQ(info->width, width);
    for (PixelFormat format : {PixelFormat::Rgb, PixelFormat::Gray}) {
      const size_t channels = channelsOf(format);
      const Bytes whole = decode(decoder, example.bytes, format, {0, 0, height, width});
      ASSERT_FALSE(whole.empty());
      for (int i = 0; i < 40; ++i) {
        Region region{uint32_t(random() % height), uint32_t(random() % width), 0, 0};
        region.height = 1 + uint32_t(random() % (height - region.top));
        region.width = 1 + uint32_t(random() % (width - region.left));
        const Bytes part = decode(decoder, example.bytes, format, region);
        ASSERT_FALSE(part.empty());
        for (uint32_t y = 0; y < region.height; ++y)
          ASSERT_TRUE(std::equal(&part[y * region.width * channels],
                                 &part[y * region.width * channels] + region.width * channels,
                                 &whole[((region.top + y) * width + region.left) * channels]))
              << "format " << int(example.format) << ", row " << y;
      }
    }
  }
}

TEST(ImageDecoder, PixelsAreThoseThatWereStored) {
  ImageDecoder decoder;
  const Region all{0, 0, height, width};
  EXPECT_EQ(decode(decoder, pngFile(), PixelFormat::Rgb, all), randomBytes(height * width * 3, 1));
  EXPECT_EQ(decode(decoder, webpFile(true), PixelFormat::Rgb, all),
            randomBytes(height * width * 3, 2));
  EXPECT_EQ(decode(decoder, pnmFile(), PixelFormat::Rgb, all), randomBytes(height * width * 3, 4));
}

TEST(ImageDecoder, PngStopsBehindTheLastRowThatIsNeeded) {
  ImageDecoder decoder;
  DecodeStats cost;
  decode(decoder, pngFile(), PixelFormat::Rgb, {3, 2, 4, 5}, nullptr, &cost);
  EXPECT_EQ(cost.rowsDecoded, 7u);
  EXPECT_EQ(cost.images, 1u);
  Bytes open = pngFile(); // without its end chunk it is believed only as a whole
  open.resize(open.size() - 12);
  decode(decoder, open, PixelFormat::Rgb, {3, 2, 4, 5}, nullptr, &cost);
  EXPECT_EQ(cost.rowsDecoded, height);
}

TEST(ImageDecoder, RegionsOutsideAreRefused) {
  ImageDecoder decoder;
  for (const Example &example : examples())
    for (Region region : {Region{0, 0, 0, 1}, Region{0, 0, height + 1, 1}, Region{height, 0, 1, 1},
                          Region{0, width - 1, 1, 2}, Region{0, UINT32_MAX, 1, 1}}) {
      std::string message;
      decode(decoder, example.bytes, PixelFormat::Gray, region, &message);
      EXPECT_EQ(message, "the region lies outside of the image");
    }
}

TEST(ImageDecoder, MemoryIsLimitedBeforeItIsTaken) {
  ImageLimits limits;
  limits.maxWorkBytes = 1000;
  ImageDecoder decoder(limits);
  std::string message;
  decode(decoder, pngFile(height, width, true), PixelFormat::Rgb, {0, 0, 1, 1}, &message);
  EXPECT_EQ(message, "decoding an interlaced PNG needs 1173 bytes, the limit is 1000");
  decode(decoder, webpFile(true), PixelFormat::Rgb, {0, 0, 1, 1}, &message);
  EXPECT_EQ(message, "decoding a WebP needs 1982 bytes, the limit is 1000");
  limits.maxPixels = height * width - 1;
  for (const Example &example : examples()) {
    auto info = probeImage(example.bytes, limits);
    ASSERT_FALSE(info.ok());
    EXPECT_EQ(info.error().code, Code::Limit);
  }
}

/// Buffers end where their contents do, so that a sanitizer sees every byte too far.
TEST(ImageDecoder, DamagedFilesNeverLeaveTheirBytes) {
  ImageDecoder decoder;
  std::mt19937 random(6);
  int refused = 0;
  for (const Example &example : examples())
    for (int i = 0; i < 2000; ++i) {
      Bytes file = example.bytes;
      if (i % 3 == 0)
        file.resize(random() % file.size());
      for (int k = int(random() % 4); k > 0 && !file.empty(); --k)
        file[random() % (i % 2 ? file.size() : std::min<size_t>(file.size(), 64))] =
            uint8_t(random());
      file.shrink_to_fit();
      auto info = probeImage(file);
      DecodeStats stats;
      if (!info || info->height > 200 || info->width > 200) {
        ++refused;
        continue;
      }
      const Region region{info->height / 3, info->width / 3, info->height - info->height / 3,
                          info->width - info->width / 3};
      std::string message;
      if (decode(decoder, file, PixelFormat::Rgb, region, &message).empty()) {
        EXPECT_FALSE(message.empty());
        ++refused;
      }
      // The result for the file as a whole does not depend on the region.
      if (!decoder.checkEnd(file, stats))
        EXPECT_FALSE(message.empty());
    }
  EXPECT_GT(refused, 3000);
}

} // namespace
