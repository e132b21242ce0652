// SPDX-License-Identifier: Apache-2.0
//
// Decoding of image files. The first bytes choose format and region, the rest is
// the file: where the whole picture decodes, so does every region, with the same
// pixels.
#include "runtime/media/ImageDecoder.h"
#include "runtime/media/ImageHeader.h"
#include "test/fuzz/Fuzz.h"

#include <zlib.h>

using penstock::fuzz::Choices;
using penstock::fuzz::require;
using namespace penstock::runtime;

/// Small, so that an input takes milliseconds.
static ImageLimits smallLimits() {
  ImageLimits limits;
  limits.maxPixels = 1 << 16;
  limits.maxWorkBytes = 32 << 20;
  limits.maxScans = 20;
  return limits;
}

/// Makes the checksums of a PNG file's chunks right: the target is what lies
/// behind them.
static void mendChecksums(std::vector<uint8_t> &file) {
  constexpr size_t signature = 8, around = 12; // length and name before, checksum behind
  auto number = [&](size_t at) {
    return uint64_t(file[at]) << 24 | uint64_t(file[at + 1]) << 16 | file[at + 2] << 8 |
           file[at + 3];
  };
  for (size_t at = signature; file.size() >= around && at <= file.size() - around;) {
    const uint64_t length = number(at);
    if (length > file.size() - around - at)
      return;
    const uLong sum = crc32(0, file.data() + at + 4, uInt(length + 4));
    for (size_t i = 0; i < 4; ++i)
      file[at + 8 + length + i] = uint8_t(sum >> (24 - 8 * i));
    at += around + length;
  }
}

static Region anyRegion(Choices &choices, const ImageInfo &info) {
  Region region;
  region.top = choices.below(info.height);
  region.left = choices.below(info.width);
  region.height = 1 + choices.below(info.height - region.top);
  region.width = 1 + choices.below(info.width - region.left);
  return region;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t chosen = 17;
  if (size < chosen)
    return 0;
  Choices choices(data, chosen);
  // Exactly as long as the file, so that the sanitizer sees every byte too far.
  std::vector<uint8_t> file(data + chosen, data + size);
  if (!file.empty() && file[0] == 0x89)
    mendChecksums(file);
  const ImageLimits limits = smallLimits();
  const Result<ImageInfo> info = probeImage(file, limits);
  if (!info)
    return 0;
  constexpr PixelFormat formats[] = {PixelFormat::Rgb,      PixelFormat::Gray,
                                     PixelFormat::Rgb16,    PixelFormat::Gray16,
                                     PixelFormat::RgbFloat, PixelFormat::GrayFloat};
  const int choice = choices.take<uint8_t>();
  const PixelFormat format = formats[info->depth == 32   ? 4 + choice % 2
                                     : info->depth == 16 ? choice % 4
                                                         : choice % 2];
  const Region region = anyRegion(choices, *info);
  const size_t channels = pixelBytes(format), row = info->width * channels;

  ImageDecoder decoder(limits);
  DecodeStats stats;
  std::vector<uint8_t> part(region.height * region.width * channels);
  const Status partly =
      decoder.decodeRegion(file, format, region, part.data(), region.width * channels, stats);
  require(partly.ok() || !partly.error().message.empty(), "a refusal has a reason");

  std::vector<uint8_t> whole(row * info->height);
  const Status wholly = decoder.decodeRegion(file, format, {0, 0, info->height, info->width},
                                             whole.data(), row, stats);
  if (!wholly.ok())
    return 0;
  require(partly.ok(), "a region of a sound picture decodes");
  for (uint32_t y = 0; y < region.height; ++y)
    require(std::memcmp(part.data() + y * region.width * channels,
                        whole.data() + (region.top + y) * row + region.left * channels,
                        region.width * channels) == 0,
            "a region has the pixels of the whole");
  return 0;
}
