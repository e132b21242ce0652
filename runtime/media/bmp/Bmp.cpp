// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/bmp/Bmp.h"

#include "runtime/core/Memory.h"
#include "runtime/media/ImageHeader.h"

#include <algorithm>
#include <string>

namespace penstock::runtime {

namespace {

uint32_t little(std::span<const uint8_t> bytes, size_t at, int size) {
  uint32_t value = 0;
  for (int i = 0; i < size; ++i)
    value |= uint32_t(bytes[at + size_t(i)]) << 8 * i;
  return value;
}

constexpr size_t fileHeader = 14;

struct Masks {
  unsigned bits;
  uint32_t red, green, blue;
  BmpInfo::Channel channels[3];
};

// Pillow's list; of 32 bits, the first and the last byte may be alpha.
constexpr Masks knownMasks[] = {
    {32, 0xFF0000, 0xFF00, 0xFF, {{16, 8}, {8, 8}, {0, 8}}},
    {32, 0xFF000000, 0xFF0000, 0xFF00, {{24, 8}, {16, 8}, {8, 8}}},
    {32, 0xFF, 0xFF00, 0xFF0000, {{0, 8}, {8, 8}, {16, 8}}},
    {32, 0, 0, 0, {{16, 8}, {8, 8}, {0, 8}}},
    {24, 0xFF0000, 0xFF00, 0xFF, {{16, 8}, {8, 8}, {0, 8}}},
    {16, 0xF800, 0x7E0, 0x1F, {{11, 5}, {5, 6}, {0, 5}}},
    {16, 0x7C00, 0x3E0, 0x1F, {{10, 5}, {5, 5}, {0, 5}}},
};

Error truncated(std::span<const uint8_t> bytes, uint64_t need) {
  return {Code::Truncated, "truncated BMP: it has " + std::to_string(bytes.size()) + " bytes of " +
                               std::to_string(need)};
}

Status setChannels(BmpInfo &info, uint32_t red, uint32_t green, uint32_t blue) {
  for (const Masks &masks : knownMasks)
    if (masks.bits == info.bits && masks.red == red && masks.green == green && masks.blue == blue) {
      info.red = masks.channels[0];
      info.green = masks.channels[1];
      info.blue = masks.channels[2];
      return {};
    }
  return Error{Code::Unsupported, "BMP with unusual bit fields is not read"};
}

/// Channels of pixels that are colours; `header` is the size of the header.
Status readChannels(std::span<const uint8_t> bytes, size_t header, uint32_t compression,
                    BmpInfo &info) {
  if (compression == 0)
    return info.bits == 16 ? setChannels(info, 0x7C00, 0x3E0, 0x1F)
                           : setChannels(info, 0xFF0000, 0xFF00, 0xFF);
  // The masks follow a header of 40 bytes, and are part of longer ones.
  constexpr size_t at = fileHeader + 40;
  if (bytes.size() < at + 12)
    return truncated(bytes, at + 12);
  if (header == 40)
    info.palette += 12;
  return setChannels(info, little(bytes, at, 4), little(bytes, at + 4, 4),
                     little(bytes, at + 8, 4));
}

const char *nameOfCompression(uint32_t compression) {
  return compression == 4 ? "JPEG data" : compression == 5 ? "PNG data" : "an unknown compression";
}

uint8_t widen(uint32_t pixel, BmpInfo::Channel channel) {
  const uint32_t most = (1u << channel.bits) - 1;
  return uint8_t((pixel >> channel.shift & most) * 255 / most);
}

Palette readPalette(std::span<const uint8_t> bytes, const BmpInfo &info) {
  Palette palette;
  for (unsigned i = 0; i < std::min(info.colours, 256u); ++i) {
    const uint8_t *colour = &bytes[info.palette + size_t(i) * info.colourBytes];
    palette.colours[i] = {colour[2], colour[1], colour[0]};
  }
  return palette;
}

/// Indices of all pixels, as Pillow finds them: literal pixels go on from row to row but for ends
/// of lines, a run ends with its row.
class RunReader {
public:
  RunReader(std::span<const uint8_t> bytes, const BmpInfo &info, std::span<uint8_t> out)
      : bytes(bytes), info(info), out(out.data()), count(out.size()), at(info.pixels) {}

  /// False where they end early.
  bool read() {
    while (filled < count) {
      if (bytes.size() < 2 || at > bytes.size() - 2)
        return false;
      const unsigned first = bytes[at], second = bytes[at + 1];
      at += 2;
      if (first) {
        repeat(std::min<uint64_t>(first, info.width - std::min<uint64_t>(x, info.width)), second);
      } else if (second == 0) {
        put((info.width - filled % info.width) % info.width, 0);
        x = 0;
      } else if (second == 1) {
        return false;
      } else if (second == 2 ? !jump() : !copy(second)) {
        return false;
      }
    }
    return true;
  }

private:
  void put(uint64_t pixels, uint8_t index) {
    pixels = std::min(pixels, count - filled);
    std::fill_n(out + filled, pixels, index);
    filled += pixels;
  }
  void repeat(uint64_t pixels, unsigned value) {
    if (info.runBits == 8)
      put(pixels, uint8_t(value));
    else
      for (uint64_t i = 0; i < pixels; ++i)
        put(1, uint8_t(i % 2 ? value & 15 : value >> 4));
    x += pixels;
  }
  bool jump() {
    if (at > bytes.size() || bytes.size() - at < 2)
      return false;
    put(bytes[at] + uint64_t(bytes[at + 1]) * info.width, 0);
    x = filled % info.width;
    at += 2;
    return true;
  }
  bool copy(unsigned pixels) {
    const size_t size = (pixels * info.runBits + 7) / 8;
    const size_t here = std::min(size, bytes.size() - std::min(at, bytes.size()));
    const size_t whole = std::min<size_t>(pixels, here * 8 / info.runBits);
    for (size_t i = 0; i < whole; ++i)
      put(1, packedAt(bytes.data() + at, i, info.runBits));
    x += pixels;
    at += here;
    at += at % 2; // of the file
    return here == size;
  }

  std::span<const uint8_t> bytes;
  const BmpInfo &info;
  uint8_t *out;
  uint64_t count, filled = 0, x = 0;
  size_t at;
};

Status expandRuns(std::span<const uint8_t> bytes, const BmpInfo &info, const ImageLimits &limits,
                  Buffer &work) {
  const uint64_t size = uint64_t(info.width) * info.height;
  if (size > limits.maxWorkBytes)
    return Error{Code::Limit, "decoding a BMP needs " + std::to_string(size) +
                                  " bytes, the limit is " + std::to_string(limits.maxWorkBytes)};
  if (!work.resize(size))
    return noMemory("to decode a BMP");
  if (!RunReader(bytes, info, {work.data(), size_t(size)}).read())
    return Error{Code::Truncated, "truncated BMP: its run lengths end early"};
  return {};
}

} // namespace

Result<BmpInfo> probeBmp(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  if (bytes.size() < fileHeader + 12)
    return truncated(bytes, fileHeader + 12);
  const uint32_t header = little(bytes, fileHeader, 4);
  constexpr uint32_t known[] = {12, 40, 52, 56, 64, 108, 124};
  if (std::find(std::begin(known), std::end(known), header) == std::end(known))
    return Error{Code::Unsupported,
                 "BMP with a header of " + std::to_string(header) + " bytes is not read"};
  if (bytes.size() < fileHeader + header)
    return truncated(bytes, fileHeader + header);

  BmpInfo info;
  const bool old = header == 12;
  uint32_t compression = 0;
  info.palette = fileHeader + header;
  if (old) {
    info.width = little(bytes, 18, 2);
    info.height = little(bytes, 20, 2);
    info.bits = little(bytes, 24, 2);
    info.colourBytes = 3;
  } else {
    info.width = little(bytes, 18, 4);
    info.height = little(bytes, 22, 4);
    info.topDown = bytes[25] == 0xFF;
    if (info.topDown)
      info.height = 0u - info.height;
    info.bits = little(bytes, 28, 2);
    compression = little(bytes, 30, 4);
    info.colours = little(bytes, 46, 4);
  }
  if (compression > 3)
    return Error{Code::Unsupported,
                 std::string("BMP with ") + nameOfCompression(compression) + " is not read"};
  const bool indexed = info.bits == 1 || info.bits == 4 || info.bits == 8;
  if (!indexed && info.bits != 16 && info.bits != 24 && info.bits != 32)
    return Error{Code::Unsupported,
                 "BMP with " + std::to_string(info.bits) + " bits per pixel is not read"};
  if (Status status = checkImageSize("BMP", info.width, info.height, limits); !status)
    return status.error();

  if (compression == 1 || compression == 2) {
    if (!indexed)
      return Error{Code::Unsupported, "BMP with run lengths and " + std::to_string(info.bits) +
                                          " bits per pixel is not read"};
    info.runBits = compression == 1 ? 8 : 4;
  }
  info.pixels = little(bytes, 10, 4);
  if (indexed) {
    if (compression == 3)
      return Error{Code::Unsupported, "BMP with unusual bit fields is not read"};
    if (info.colours == 0)
      info.colours = 1u << info.bits;
    if (info.colours > 65536)
      return Error{Code::Corrupt,
                   "damaged BMP: a palette of " + std::to_string(info.colours) + " colours"};
    const uint64_t end = info.palette + uint64_t(info.colours) * info.colourBytes;
    if (bytes.size() < end)
      return truncated(bytes, end);
    if (info.pixels == info.palette) // written so by some programs: behind the palette
      info.pixels += 4 * size_t(info.colours);
    else if (info.pixels == 0)
      info.pixels = end;
  } else {
    if (Status status = readChannels(bytes, header, compression, info); !status)
      return status.error();
    if (info.pixels == 0)
      info.pixels = info.palette;
  }
  if (info.runBits) {
    info.stride = info.width; // when they are expanded
    return info;
  }
  info.stride = (uint64_t(info.width) * info.bits + 31) / 32 * 4;
  // The last row needs no padding.
  const uint64_t end = info.pixels + uint64_t(info.stride) * (info.height - 1) +
                       (uint64_t(info.width) * info.bits + 7) / 8;
  if (bytes.size() < end)
    return truncated(bytes, end);
  return info;
}

Status decodeBmp(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                 Buffer &work, DecodeStats &stats) {
  auto info = probeBmp(bytes, limits);
  if (!info)
    return info.error();
  if (info->runBits)
    if (Status status = expandRuns(bytes, *info, limits, work); !status)
      return status;
  const uint8_t *pixels = info->runBits ? work.data() : bytes.data() + info->pixels;
  const unsigned indexBits = info->runBits ? 8 : info->bits;
  const bool hasColours = info->bits <= 8 && target.format != PixelFormat::Index;
  const Palette palette = hasColours ? readPalette(bytes, *info) : Palette::ofNumbers();
  const Region &region = target.region;
  stats.rowsDecoded += region.height;
  for (uint32_t y = 0; y < region.height; ++y) {
    const uint32_t seen = region.top + y;
    const uint32_t stored = info->topDown ? seen : info->height - 1 - seen;
    const uint8_t *row = pixels + info->stride * stored;
    uint8_t *out = target.out + y * target.rowStride;
    auto write = [&](const auto &load) {
      writeRow(region.left, region.width, target.format, out, load);
    };
    if (info->bits <= 8) {
      write([&](size_t x) { return palette.colours[packedAt(row, x, indexBits)]; });
      continue;
    }
    const size_t size = info->bits / 8;
    write([&](size_t x) {
      uint32_t pixel = 0;
      for (size_t i = 0; i < size; ++i)
        pixel |= uint32_t(row[size * x + i]) << 8 * i;
      return Rgb{widen(pixel, info->red), widen(pixel, info->green), widen(pixel, info->blue)};
    });
  }
  return {};
}

Status checkBmp(std::span<const uint8_t> bytes, const ImageLimits &limits, Buffer &work) {
  auto info = probeBmp(bytes, limits);
  if (!info)
    return info.error();
  return info->runBits ? expandRuns(bytes, *info, limits, work) : Status();
}

} // namespace penstock::runtime
