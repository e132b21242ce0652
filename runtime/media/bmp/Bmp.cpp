#include "runtime/media/bmp/Bmp.h"

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
  constexpr const char *names[] = {"", "run lengths", "run lengths", "", "JPEG data", "PNG data"};
  return compression < 6 ? names[compression] : "an unknown compression";
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

} // namespace

Result<BmpInfo> probeBmp(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  if (bytes.size() < fileHeader + 12)
    return truncated(bytes, fileHeader + 12);
  const uint32_t header = little(bytes, fileHeader, 4);
  if (header != 12 && header != 40 && header != 64 && header != 108 && header != 124)
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
  if (compression != 0 && compression != 3)
    return Error{Code::Unsupported,
                 std::string("BMP with ") + nameOfCompression(compression) + " is not read"};
  const bool indexed = info.bits == 1 || info.bits == 4 || info.bits == 8;
  if (!indexed && info.bits != 16 && info.bits != 24 && info.bits != 32)
    return Error{Code::Unsupported,
                 "BMP with " + std::to_string(info.bits) + " bits per pixel is not read"};
  if (Status status = checkImageSize("BMP", info.width, info.height, limits); !status)
    return status.error();

  info.pixels = little(bytes, 10, 4);
  if (indexed) {
    if (compression)
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
  info.stride = (uint64_t(info.width) * info.bits + 31) / 32 * 4;
  // The last row needs no padding.
  const uint64_t end = info.pixels + uint64_t(info.stride) * (info.height - 1) +
                       (uint64_t(info.width) * info.bits + 7) / 8;
  if (bytes.size() < end)
    return truncated(bytes, end);
  return info;
}

Status decodeBmp(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                 DecodeStats &stats) {
  auto info = probeBmp(bytes, limits);
  if (!info)
    return info.error();
  const Palette palette = info->bits <= 8 ? readPalette(bytes, *info) : Palette();
  const Region &region = target.region;
  stats.rowsDecoded += region.height;
  for (uint32_t y = 0; y < region.height; ++y) {
    const uint32_t seen = region.top + y;
    const uint32_t stored = info->topDown ? seen : info->height - 1 - seen;
    const uint8_t *row = &bytes[info->pixels + info->stride * stored];
    uint8_t *out = target.out + y * target.rowStride;
    auto write = [&](const auto &load) {
      writeRow(region.left, region.width, target.format, out, load);
    };
    if (info->bits <= 8) {
      write([&](size_t x) { return palette.colours[packedAt(row, x, info->bits)]; });
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

} // namespace penstock::runtime
