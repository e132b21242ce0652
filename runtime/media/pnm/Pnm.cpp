// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/pnm/Pnm.h"

#include "runtime/core/Memory.h"
#include "runtime/media/ImageHeader.h"
#include "runtime/media/Pixels.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

namespace penstock::runtime {

namespace {

bool isSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Numbers of a header, with comments from `#` to the end of the line.
class HeaderReader {
public:
  explicit HeaderReader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  /// The scale of float maps, with the one white space behind it.
  Result<double> scale() {
    skipSpace();
    char text[32] = {};
    size_t length = 0;
    for (; at < bytes.size() && !isSpace(bytes[at]) && length + 1 < sizeof text; skipComments())
      text[length++] = char(bytes[at++]);
    if (at == bytes.size())
      return truncated();
    double value = 0;
    const auto [end, problem] = std::from_chars(text + (*text == '+'), text + length, value);
    if (problem != std::errc() || end != text + length || !isSpace(bytes[at]))
      return unreadable();
    ++at;
    return value;
  }

  /// The next number, and the one white space behind it.
  Result<uint32_t> number() {
    skipSpace();
    constexpr size_t mostDigits = 9;
    size_t digits = 0;
    uint32_t value = 0;
    for (; at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9'; skipComments(), ++digits)
      if (const uint32_t digit = bytes[at++] - '0'; digits < mostDigits)
        value = value * 10 + digit;
    if (at == bytes.size())
      return truncated();
    if (digits == 0 || digits > mostDigits || !isSpace(bytes[at]))
      return unreadable();
    ++at;
    return value;
  }

  size_t at = 2; // behind the magic number

private:
  void skipSpace() {
    for (skipComments(); at < bytes.size() && isSpace(bytes[at]); skipComments())
      ++at;
  }
  /// With the ends of their lines: what is around them belongs together, as for Pillow.
  void skipComments() {
    while (at < bytes.size() && bytes[at] == '#') {
      while (at < bytes.size() && bytes[at] != '\n' && bytes[at] != '\r')
        ++at;
      at += at < bytes.size();
    }
  }
  Error truncated() const {
    return {Code::Truncated, "truncated PNM: it ends after " + std::to_string(bytes.size()) +
                                 " bytes, inside its header"};
  }
  static Error unreadable() {
    return {Code::Corrupt, "damaged PNM: a number of its header cannot be read"};
  }

  std::span<const uint8_t> bytes;
};

/// To the largest of `Channel`. Halves to even, as Python's round() does; the default
/// rounding mode.
template <typename Channel> Channel scaled(uint32_t value, const PnmInfo &info) {
  constexpr double most = std::numeric_limits<Channel>::max();
  const double white = info.most > 255 && info.channels == 1 ? 65535 : most;
  const double result = std::nearbyint(double(value) / info.most * white);
  return Channel(std::min(result, most));
}

/// The numbers of a text. Comments go from `#` to the end of the line, anywhere, and what is
/// around them belongs together, as for Pillow.
class TextReader {
public:
  TextReader(std::span<const uint8_t> bytes, const PnmInfo &info)
      : bytes(bytes), info(info), at(info.pixels) {}

  /// The value to be stored; -1 at the end, -2 where there is none.
  template <typename Channel> int next() {
    int c = peek();
    for (; c >= 0 && isSpace(uint8_t(c)); c = peek())
      ++at;
    if (c < 0)
      return -1;
    if (info.isBits) {
      ++at;
      return c == '0' ? 255 : c == '1' ? 0 : -2;
    }
    uint32_t value = 0;
    constexpr int mostDigits = 10;
    for (int digits = 0; c >= 0 && !isSpace(uint8_t(c)); ++digits, ++at, c = peek()) {
      if (c < '0' || c > '9' || digits == mostDigits)
        return -2;
      value = std::min(value * 10 + uint32_t(c - '0'), 1u << 20);
    }
    return value > info.most ? -2 : scaled<Channel>(value, info);
  }

private:
  /// The next byte outside of comments, or -1.
  int peek() {
    while (at < bytes.size() && bytes[at] == '#') {
      while (at < bytes.size() && bytes[at] != '\n' && bytes[at] != '\r')
        ++at;
      at += at < bytes.size();
    }
    return at < bytes.size() ? bytes[at] : -1;
  }
  std::span<const uint8_t> bytes;
  const PnmInfo &info;
  size_t at;
};

template <typename Channel>
Status readText(std::span<const uint8_t> bytes, const PnmInfo &info, const ImageLimits &limits,
                Buffer &work) {
  const uint64_t size = uint64_t(info.stride) * info.height, room = size * sizeof(Channel);
  if (room > limits.maxWorkBytes)
    return Error{Code::Limit, "decoding a PNM needs " + std::to_string(room) +
                                  " bytes, the limit is " + std::to_string(limits.maxWorkBytes)};
  if (size > bytes.size()) // a byte for each number at least
    return Error{Code::Truncated, "truncated PNM: it ends after " + std::to_string(bytes.size()) +
                                      " bytes, before its last number"};
  if (!work.resize(room))
    return noMemory("to decode a PNM");
  TextReader reader(bytes, info);
  for (uint64_t i = 0; i < size; ++i) {
    const int value = reader.next<Channel>();
    if (value == -1)
      return Error{Code::Truncated, "truncated PNM: it has " + std::to_string(i) + " numbers of " +
                                        std::to_string(size)};
    if (value < 0)
      return Error{Code::Corrupt, "damaged PNM: number " + std::to_string(i) + " of " +
                                      std::to_string(size) + " cannot be read, or is too large"};
    reinterpret_cast<Channel *>(work.data())[i] = Channel(value);
  }
  return {};
}

/// In 16 bits, of a file that has them.
Status decodeWidePnm(std::span<const uint8_t> bytes, const PnmInfo &info, const Target &target,
                     const ImageLimits &limits, Buffer &work, DecodeStats &stats) {
  if (info.isText)
    if (Status status = readText<uint16_t>(bytes, info, limits, work); !status)
      return status;
  const Region &region = target.region;
  const size_t pitch = size_t(info.width) * info.channels * 2, pixel = 2 * info.channels;
  const size_t green = info.channels == 3;
  const uint8_t *pixels = info.isText ? work.data() : bytes.data() + info.pixels;
  stats.rowsDecoded += region.height;
  for (uint32_t y = 0; y < region.height; ++y) {
    const uint8_t *row = pixels + pitch * (region.top + y);
    writeRow(region.left, region.width, target.format, target.out + y * target.rowStride,
             [&](size_t x) {
               auto channel = [&, at = row + pixel * x](size_t number) {
                 uint16_t value;
                 std::memcpy(&value, at + 2 * number, sizeof value);
                 return info.isText ? value : scaled<uint16_t>(__builtin_bswap16(value), info);
               };
               return Colour<uint16_t>{channel(0), channel(green), channel(2 * green)};
             });
  }
  return {};
}

/// Floats, of a file that has them.
Status decodeFloats(std::span<const uint8_t> bytes, const PnmInfo &info, const Target &target,
                    DecodeStats &stats) {
  const size_t channels = channelsOf(target.format);
  if (channels < info.channels)
    return Error{Code::Unsupported,
                 "a PFM of colours gives no gray; `decode(rgb, depth = 32)` gives its colours"};
  const Region &region = target.region;
  stats.rowsDecoded += region.height;
  for (uint32_t y = 0; y < region.height; ++y) {
    const uint8_t *row =
        bytes.data() + info.pixels + info.stride * (info.height - 1 - region.top - y);
    auto *out = reinterpret_cast<float *>(target.out + y * target.rowStride);
    for (size_t i = 0; i < region.width * channels; ++i) {
      const size_t pixel = region.left + i / channels;
      const size_t channel = info.channels == 1 ? 0 : i % channels;
      uint32_t value;
      std::memcpy(&value, row + 4 * (pixel * info.channels + channel), sizeof value);
      if (info.isBigEndian)
        value = __builtin_bswap32(value);
      const float number = std::bit_cast<float>(value);
      out[i] = number == number ? number : std::numeric_limits<float>::quiet_NaN();
    }
  }
  return {};
}

} // namespace

Result<PnmInfo> probePnm(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  if (bytes.size() < 3)
    return Error{Code::Truncated, "truncated PNM: it ends inside its header"};
  const char kind = char(bytes[1]);
  if (!isSpace(bytes[2]))
    return Error{Code::Corrupt, "damaged PNM: no white space behind its first two bytes"};
  PnmInfo info;
  info.channels = kind == '3' || kind == '6' || kind == 'F' ? 3 : 1;
  info.isFloat = kind == 'F' || kind == 'f';
  info.isBits = kind == '1' || kind == '4';
  info.isText = kind < '4';
  HeaderReader header(bytes);
  for (uint32_t *value : {&info.width, &info.height, &info.most}) {
    if ((info.isBits || info.isFloat) && value == &info.most)
      break;
    auto number = header.number();
    if (!number)
      return number.error();
    *value = *number;
  }
  if (info.isFloat) {
    auto scale = header.scale();
    if (!scale)
      return scale.error();
    if (!std::isfinite(*scale) || *scale == 0)
      return Error{Code::Corrupt, "damaged PNM: a scale that is no number, or 0"};
    info.isBigEndian = *scale > 0;
  }
  if (info.most < 1 || info.most > 65535)
    return Error{Code::Corrupt, "damaged PNM: a largest value of " + std::to_string(info.most) +
                                    "; it lies in 1 to 65535"};
  if (Status status = checkImageSize("PNM", info.width, info.height, limits); !status)
    return status.error();
  info.pixels = header.at;
  if (info.isText) {
    info.stride = size_t(info.width) * info.channels; // when it is read
    return info;
  }
  info.stride = (size_t(info.width) * info.channels * info.depth() + 7) / 8;
  const uint64_t end = info.pixels + uint64_t(info.stride) * info.height;
  if (bytes.size() < end)
    return Error{Code::Truncated, "truncated PNM: it has " + std::to_string(bytes.size()) +
                                      " bytes of " + std::to_string(end)};
  return info;
}

Status decodePnm(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                 Buffer &work, DecodeStats &stats) {
  auto info = probePnm(bytes, limits);
  if (!info)
    return info.error();
  if (info->isFloat && channelBytes(target.format) != 4)
    return Error{Code::Unsupported,
                 "the file has floats: `depth = 32` gives them, in place of 8 or 16 bits"};
  if (info->isFloat)
    return decodeFloats(bytes, *info, target, stats);
  if (channelBytes(target.format) == 2)
    return decodeWidePnm(bytes, *info, target, limits, work, stats);
  if (info->isText)
    if (Status status = readText<uint8_t>(bytes, *info, limits, work); !status)
      return status;
  const bool wide = info->most > 255 && !info->isText, bits = info->isBits && !info->isText;
  uint8_t narrow[256];
  for (uint32_t value = 0; value < 256; ++value)
    narrow[value] = info->isText ? uint8_t(value) : scaled<uint8_t>(value, *info);
  const Region &region = target.region;
  const size_t pixel = info->channels * (wide ? 2 : 1), green = info->channels == 3;
  const uint8_t *pixels = info->isText ? work.data() : bytes.data() + info->pixels;
  stats.rowsDecoded += region.height;
  for (uint32_t y = 0; y < region.height; ++y) {
    const uint8_t *row = pixels + info->stride * (region.top + y);
    auto load = [&](size_t x) {
      if (bits) {
        const uint8_t value = packedAt(row, x, 1) ? 0 : 255;
        return Rgb{value, value, value};
      }
      auto channel = [&, at = row + pixel * x](size_t number) {
        return wide ? scaled<uint8_t>(uint32_t(at[2 * number]) << 8 | at[2 * number + 1], *info)
                    : narrow[at[number]];
      };
      return Rgb{channel(0), channel(green), channel(2 * green)};
    };
    writeRow(region.left, region.width, target.format, target.out + y * target.rowStride, load);
  }
  return {};
}

Status checkPnm(std::span<const uint8_t> bytes, const ImageLimits &limits, Buffer &work) {
  auto info = probePnm(bytes, limits);
  if (!info)
    return info.error();
  return info->isText ? readText<uint8_t>(bytes, *info, limits, work) : Status();
}

} // namespace penstock::runtime
