#include "runtime/media/pnm/Pnm.h"

#include "runtime/media/ImageHeader.h"
#include "runtime/media/Pixels.h"

#include <algorithm>
#include <cmath>
#include <string>

namespace penstock::runtime {

namespace {

bool isSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/// Numbers of a header, with comments from `#` to the end of the line.
class HeaderReader {
public:
  explicit HeaderReader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  /// The next number, and the one white space behind it.
  Result<uint32_t> number() {
    while (at < bytes.size() && (isSpace(bytes[at]) || bytes[at] == '#')) {
      if (bytes[at] == '#')
        while (at < bytes.size() && bytes[at] != '\n' && bytes[at] != '\r')
          ++at;
      else
        ++at;
    }
    constexpr size_t mostDigits = 9;
    const size_t begin = at;
    uint32_t value = 0;
    for (; at < bytes.size() && bytes[at] >= '0' && bytes[at] <= '9'; ++at)
      if (at - begin < mostDigits)
        value = value * 10 + (bytes[at] - '0');
    if (at == bytes.size())
      return Error{Code::Truncated, "truncated PNM: it ends after " + std::to_string(bytes.size()) +
                                        " bytes, inside its header"};
    if (at == begin || at - begin > mostDigits || !isSpace(bytes[at]))
      return Error{Code::Corrupt, "damaged PNM: a number of its header cannot be read"};
    ++at;
    return value;
  }

  size_t at = 2; // behind the magic number

private:
  std::span<const uint8_t> bytes;
};

} // namespace

Result<PnmInfo> probePnm(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  if (bytes.size() < 3)
    return Error{Code::Truncated, "truncated PNM: it ends inside its header"};
  const char kind = char(bytes[1]);
  if (kind < '4')
    return Error{Code::Unsupported,
                 std::string("plain PNM (P") + kind + ", numbers as text) is not read"};
  if (!isSpace(bytes[2]))
    return Error{Code::Corrupt, "damaged PNM: no white space behind its first two bytes"};
  PnmInfo info;
  info.channels = kind == '6' ? 3 : 1;
  info.isBits = kind == '4';
  HeaderReader header(bytes);
  for (uint32_t *value : {&info.width, &info.height, &info.most}) {
    if (info.isBits && value == &info.most)
      break;
    auto number = header.number();
    if (!number)
      return number.error();
    *value = *number;
  }
  if (info.most < 1 || info.most > 65535)
    return Error{Code::Corrupt, "damaged PNM: a largest value of " + std::to_string(info.most) +
                                    "; it lies in 1 to 65535"};
  if (Status status = checkImageSize("PNM", info.width, info.height, limits); !status)
    return status.error();
  info.pixels = header.at;
  info.stride = info.isBits ? (size_t(info.width) + 7) / 8
                            : size_t(info.width) * info.channels * (info.most > 255 ? 2 : 1);
  const uint64_t end = info.pixels + uint64_t(info.stride) * info.height;
  if (bytes.size() < end)
    return Error{Code::Truncated, "truncated PNM: it has " + std::to_string(bytes.size()) +
                                      " bytes of " + std::to_string(end)};
  return info;
}

Status decodePnm(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                 DecodeStats &stats) {
  auto info = probePnm(bytes, limits);
  if (!info)
    return info.error();
  const bool wide = info->most > 255;
  const double white = wide && info->channels == 1 ? 65535 : 255;
  // Halves to even, as Python's round() does; the default rounding mode.
  auto scaled = [&](uint32_t value) {
    const double result = std::nearbyint(double(value) / info->most * white);
    return uint8_t(std::min(result, 255.0));
  };
  uint8_t narrow[256];
  for (uint32_t value = 0; value < 256; ++value)
    narrow[value] = scaled(value);
  const Region &region = target.region;
  const size_t pixel = info->channels * (wide ? 2 : 1), green = info->channels == 3;
  stats.rowsDecoded += region.height;
  for (uint32_t y = 0; y < region.height; ++y) {
    const uint8_t *row = &bytes[info->pixels + info->stride * (region.top + y)];
    auto load = [&](size_t x) {
      if (info->isBits) {
        const uint8_t value = packedAt(row, x, 1) ? 0 : 255;
        return Rgb{value, value, value};
      }
      auto channel = [&, at = row + pixel * x](size_t number) {
        return wide ? scaled(uint32_t(at[2 * number]) << 8 | at[2 * number + 1])
                    : narrow[at[number]];
      };
      return Rgb{channel(0), channel(green), channel(2 * green)};
    };
    writeRow(region.left, region.width, target.format, target.out + y * target.rowStride, load);
  }
  return {};
}

} // namespace penstock::runtime
