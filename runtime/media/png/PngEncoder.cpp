// SPDX-License-Identifier: Apache-2.0
//
// The container by hand (W3C PNG, second edition, sections 5 and 11): four
// chunks are less than any library's options.
#include "runtime/media/png/PngEncoder.h"

#include "runtime/abi/encoded.h"
#include "runtime/core/Memory.h"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <zlib.h>

namespace penstock::runtime {

namespace {

constexpr int level = 6;
constexpr size_t frameBytes = 12; // of a chunk: length, type, checksum

void putWord(uint8_t *at, uint32_t word) {
  for (int i = 0; i < 4; ++i)
    at[i] = uint8_t(word >> (24 - 8 * i));
}

/// Puts length, type and checksum around `size` bytes at `at + 8`; returns what
/// follows.
uint8_t *frame(uint8_t *at, std::string_view type, size_t size) {
  putWord(at, uint32_t(size));
  std::memcpy(at + 4, type.data(), 4);
  putWord(at + 8 + size, uint32_t(crc32_z(0, at + 4, size + 4)));
  return at + frameBytes + size;
}

} // namespace

struct PngEncoder::Stream {
  z_stream state{};
  bool open = false;

  ~Stream() {
    if (open)
      deflateEnd(&state);
  }
  bool begin() {
    if (open)
      return deflateReset(&state) == Z_OK;
    open = deflateInit(&state, level) == Z_OK;
    return open;
  }
  bool put(const uint8_t *bytes, size_t size) {
    state.next_in = const_cast<uint8_t *>(bytes);
    state.avail_in = uInt(size);
    return deflate(&state, Z_NO_FLUSH) == Z_OK && state.avail_in == 0;
  }
};

PngEncoder::PngEncoder() : stream(std::make_unique<Stream>()) {}
PngEncoder::PngEncoder(PngEncoder &&) noexcept = default;
PngEncoder &PngEncoder::operator=(PngEncoder &&) noexcept = default;
PngEncoder::~PngEncoder() = default;

uint64_t PngEncoder::room(const Picture &picture) {
  const uint64_t rows = picture.height * (uint64_t(picture.width) * channelsOf(picture.format) + 1);
  return rows + (rows >> PST_PNG_SLACK_SHIFT) + PST_PNG_HEADER_ROOM;
}

Result<size_t> PngEncoder::encode(const Picture &picture, std::span<uint8_t> out) {
  static constexpr uint8_t signature[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
  constexpr size_t headerBytes = 13;
  constexpr size_t before = sizeof signature + frameBytes + headerBytes + 8;
  constexpr size_t after = 4 + frameBytes; // IDAT's checksum, IEND
  if (Status fits = checkSides(picture); !fits)
    return fits.error();
  if (room(picture) > INT32_MAX || out.size() < before + after)
    return Error{Code::Limit, "the image does not fit into a PNG file of 2 GiB, or its room"};

  std::memcpy(out.data(), signature, sizeof signature);
  uint8_t *header = out.data() + sizeof signature;
  putWord(header + 8, picture.width);
  putWord(header + 12, picture.height);
  const uint8_t colour = picture.format == PixelFormat::Rgb ? 2 : 0;
  const uint8_t rest[] = {8, colour, 0, 0, 0}; // depth, colour, deflate, filters, no interlacing
  std::memcpy(header + 16, rest, sizeof rest);
  uint8_t *data = frame(header, "IHDR", headerBytes);

  const uint8_t noFilter = 0;
  const size_t rowBytes = size_t(picture.width) * channelsOf(picture.format);
  z_stream &state = stream->state;
  bool good = stream->begin();
  if (!good)
    return noMemory("to compress an image");
  state.next_out = data + 8;
  state.avail_out = uInt(std::min<size_t>(out.size() - before - after, INT32_MAX));
  for (uint32_t y = 0; good && y < picture.height; ++y)
    good = stream->put(&noFilter, 1) && stream->put(picture.rows + y * picture.rowStride, rowBytes);
  if (!good || deflate(&state, Z_FINISH) != Z_STREAM_END)
    return Error{Code::Limit, "there is no room to compress the image"};
  uint8_t *end = frame(data, "IDAT", size_t(state.next_out - (data + 8)));
  return size_t(frame(end, "IEND", 0) - out.data());
}

} // namespace penstock::runtime
