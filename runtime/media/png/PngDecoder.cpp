// SPDX-License-Identifier: Apache-2.0
//
// libspng gets a stream that is made of the header, the image data and an end
// chunk only: palette, transparency, profiles and texts never reach it, and so
// cannot fail, be inflated or be remembered. Checksums of chunks are compared before.
#include "runtime/media/png/PngDecoder.h"

#include "runtime/core/Memory.h"
#include "runtime/media/png/PngFile.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <spng.h>
#include <string>

namespace penstock::runtime {

namespace {

struct Stream {
  const std::vector<std::span<const uint8_t>> &parts;
  size_t firstData;
  size_t part = 0;
  size_t at = 0;
};

// libspng compares zlib's checksum only where it is to compare those of chunks, too, when it has
// read the first of the image data. Then it is told not to: those of the file have been compared.
int readStream(spng_ctx *context, void *user, void *out, size_t length) {
  auto &stream = *static_cast<Stream *>(user);
  if (stream.part > stream.firstData || (stream.part == stream.firstData && stream.at > 0))
    spng_set_crc_action(context, SPNG_CRC_USE, SPNG_CRC_USE);
  auto *to = static_cast<uint8_t *>(out);
  while (length > 0) {
    if (stream.part == stream.parts.size())
      return SPNG_IO_EOF;
    const std::span<const uint8_t> part = stream.parts[stream.part];
    const size_t count = std::min(length, part.size() - stream.at);
    std::memcpy(to, part.data() + stream.at, count);
    to += count;
    length -= count;
    stream.at += count;
    if (stream.at == part.size()) {
      ++stream.part;
      stream.at = 0;
    }
  }
  return 0;
}

/// Set where libspng, or zlib for it, asked for memory that is not there: its codes say that of
/// some of its own requests only. A picture is decoded on one thread.
thread_local bool lacksMemory = false;

void *noted(void *memory) {
  lacksMemory |= memory == nullptr;
  return memory;
}

spng_ctx *newContext() {
  spng_alloc memory{[](size_t size) { return noted(std::malloc(size)); },
                    [](void *old, size_t size) { return noted(std::realloc(old, size)); },
                    [](size_t count, size_t size) { return noted(std::calloc(count, size)); },
                    [](void *old) { std::free(old); }};
  lacksMemory = false;
  return spng_ctx_new2(&memory, 0);
}

Status statusOf(int code, size_t size) {
  if (code == 0 || code == SPNG_EOI)
    return {};
  if (code == SPNG_EMEM || lacksMemory)
    return noMemory("to decode a PNG");
  if (code == SPNG_IO_EOF || code == SPNG_EIDAT_TOO_SHORT)
    return Error{Code::Truncated,
                 "truncated PNG: its image data end early (" + std::to_string(size) + " bytes)"};
  return Error{Code::Corrupt, std::string("damaged PNG: ") + spng_strerror(code)};
}

/// Columns of one row of the file, as its header describes them.
void convertRow(const PngInfo &info, const Palette &palette, const uint8_t *row,
                const Target &target, uint8_t *out) {
  const uint32_t begin = target.region.left, count = target.region.width;
  const unsigned depth = info.depth;
  const bool isIndex = target.format == PixelFormat::Index;
  const size_t wide = depth / 8; // bytes of a channel, where there are whole ones
  auto write = [&](const auto &load) { writeRow(begin, count, target.format, out, load); };
  auto gray = [](uint8_t value) { return Rgb{value, value, value}; };
  switch (info.colour) {
  case 0:
    if (depth == 16) // as Pillow, which clips
      return write([&](size_t x) { return gray(row[2 * x] ? 255 : row[2 * x + 1]); });
    return write([&, step = isIndex ? 1 : 255 / ((1u << depth) - 1)](size_t x) {
      return gray(uint8_t(packedAt(row, x, depth) * step));
    });
  case 3:
    return write([&](size_t x) { return palette.colours[packedAt(row, x, depth)]; });
  case 4:
    return write([&](size_t x) { return gray(row[2 * wide * x]); });
  default: {
    const size_t pixel = (info.colour == 2 ? 3 : 4) * wide;
    return write([&](size_t x) {
      const uint8_t *at = row + pixel * x;
      return Rgb{at[0], at[wide], at[2 * wide]};
    });
  }
  }
}

/// Converts a row of a 16-bit file to 16-bit pixels.
void convertWideRow(const PngInfo &info, const uint8_t *row, const Target &target, uint8_t *out) {
  constexpr size_t channels[] = {1, 0, 3, 1, 2, 0, 4};
  const size_t pixel = 2 * channels[info.colour], step = info.colour == 2 || info.colour == 6;
  writeRow(target.region.left, target.region.width, target.format, out, [&](size_t x) {
    auto channel = [at = row + pixel * x](size_t number) {
      return uint16_t(at[2 * number] << 8 | at[2 * number + 1]);
    };
    return Colour<uint16_t>{channel(0), channel(step), channel(2 * step)};
  });
}

class PngReader {
public:
  PngReader(std::span<const uint8_t> bytes, const PngInfo &info, const PngParts &parts,
            const ImageLimits &limits, Buffer &work)
      : size(bytes.size()), info(info), limits(limits), work(work),
        stream{parts.stream, parts.firstData}, context(newContext(), &spng_ctx_free) {}

  /// Calls `take(y, row)` for rows 0 ... count - 1; of an interlaced file, all
  /// are decoded before.
  template <typename Take> Status rows(uint32_t count, const Take &take) {
    if (Status status = start(); !status)
      return status;
    if (info.interlaced) {
      // Pixels of less than a byte are put in by or.
      std::memset(work.data(), 0, work.size());
      if (int code = spng_decode_image(context.get(), work.data(), work.size(), SPNG_FMT_RAW, 0))
        return statusOf(code, size);
      for (uint32_t y = 0; y < count; ++y)
        take(y, work.data() + y * rowBytes);
      return {};
    }
    if (int code =
            spng_decode_image(context.get(), nullptr, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE))
      return statusOf(code, size);
    for (uint32_t y = 0; y < count; ++y) {
      if (Status status = statusOf(spng_decode_row(context.get(), work.data(), rowBytes), size);
          !status)
        return status;
      take(y, work.data());
    }
    return {};
  }

private:
  Status start() {
    if (!context)
      return statusOf(SPNG_EMEM, size);
    spng_set_image_limits(context.get(), info.width, info.height);
    spng_set_crc_action(context.get(), SPNG_CRC_ERROR, SPNG_CRC_USE); // until readStream()
    constexpr size_t channels[] = {1, 0, 3, 1, 2, 0, 4};
    rowBytes = (uint64_t(info.width) * channels[info.colour] * info.depth + 7) / 8;
    const uint64_t bytes = rowBytes * (info.interlaced ? info.height : 1);
    if (bytes > limits.maxWorkBytes)
      return Error{Code::Limit, "decoding an interlaced PNG needs " + std::to_string(bytes) +
                                    " bytes, the limit is " + std::to_string(limits.maxWorkBytes)};
    if (!work.resize(bytes))
      return statusOf(SPNG_EMEM, size);
    return statusOf(spng_set_png_stream(context.get(), readStream, &stream), size);
  }

  size_t size;
  const PngInfo &info;
  const ImageLimits &limits;
  Buffer &work;
  Stream stream;
  std::unique_ptr<spng_ctx, void (*)(spng_ctx *)> context;
  size_t rowBytes = 0;
};

} // namespace

Status decodePng(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                 Buffer &work, DecodeStats &stats) {
  auto info = probePng(bytes, limits);
  if (!info)
    return info.error();
  auto parts = readPngParts(bytes, *info);
  if (!parts)
    return parts.error();
  if (target.format == PixelFormat::Index)
    parts->palette = Palette::ofNumbers();
  const uint32_t top = target.region.top, bottom = top + target.region.height;
  const uint32_t last = parts->hasEnd ? bottom : info->height;
  stats.rowsDecoded += info->interlaced ? info->height : last;
  return PngReader(bytes, *info, *parts, limits, work)
      .rows(last, [&](uint32_t y, const uint8_t *row) {
        if (y < top || y >= bottom)
          return;
        uint8_t *out = target.out + (y - top) * target.rowStride;
        if (channelBytes(target.format) == 2)
          convertWideRow(*info, row, target, out);
        else
          convertRow(*info, parts->palette, row, target, out);
      });
}

Status checkPng(std::span<const uint8_t> bytes, const ImageLimits &limits, Buffer &work,
                DecodeStats &stats) {
  auto info = probePng(bytes, limits);
  if (!info)
    return info.error();
  auto parts = readPngParts(bytes, *info);
  if (!parts)
    return parts.error();
  if (parts->hasEnd)
    return {};
  stats.rowsDecoded += info->height;
  return PngReader(bytes, *info, *parts, limits, work)
      .rows(info->height, [](uint32_t, const uint8_t *) {});
}

} // namespace penstock::runtime
