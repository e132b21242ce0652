// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/JpegHeader.h"

#include "runtime/media/Exif.h"
#include "runtime/media/ImageHeader.h"

#include <cstring>
#include <string>
#include <string_view>

namespace penstock::runtime {

namespace {

constexpr uint32_t maxSide = 65500; // libjpeg's JPEG_MAX_DIMENSION

/// Reads numbers and reports when it would leave its bytes.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes(bytes) {}

  bool has(size_t at, size_t count) const {
    return at <= bytes.size() && count <= bytes.size() - at;
  }
  uint32_t big16(size_t at) const { return bytes[at] << 8 | bytes[at + 1]; }
  uint8_t operator[](size_t at) const { return bytes[at]; }
  size_t size() const { return bytes.size(); }

private:
  std::span<const uint8_t> bytes;
};

JpegSampling samplingOf(const JpegInfo &info) {
  if (info.components == 1)
    return JpegSampling::None;
  for (int i = 1; i < info.components; ++i)
    if (info.horizontal[size_t(i)] != 1 || info.vertical[size_t(i)] != 1)
      return JpegSampling::Other;
  if (info.components != 3)
    return JpegSampling::Other;
  switch (info.horizontal[0] * 10 + info.vertical[0]) {
  case 11:
    return JpegSampling::S444;
  case 21:
    return JpegSampling::S422;
  case 22:
    return JpegSampling::S420;
  case 12:
    return JpegSampling::S440;
  case 41:
    return JpegSampling::S411;
  default:
    return JpegSampling::Other;
  }
}

Error notJpeg(std::span<const uint8_t> bytes) {
  if (bytes.empty())
    return {Code::Truncated, "not a JPEG file: it is empty"};
  if (const char *format = nameOfFormat(bytes))
    return {Code::Unsupported, std::string("not a JPEG file: it is ") + format};
  return {Code::Unsupported, "not a JPEG file: its first bytes are no JPEG marker"};
}

std::string sizeText(uint32_t width, uint32_t height) {
  return std::to_string(width) + " x " + std::to_string(height);
}

bool isFrame(uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

/// Colour markers that libjpeg's default_decompress_parms() tells YCbCr from RGB by.
struct Colours {
  bool isJfif = false, isAdobe = false;
  uint8_t transform = 0; // Adobe's
  std::array<uint8_t, 3> ids{};

  /// Takes the contents of a segment before the first scan.
  void look(uint8_t marker, std::span<const uint8_t> body) {
    auto begins = [&](size_t least, std::string_view text) {
      return body.size() >= least && std::memcmp(body.data(), text.data(), text.size()) == 0;
    };
    if (marker == 0xE0 && begins(14, std::string_view("JFIF\0", 5)))
      isJfif = true;
    if (marker == 0xEE && begins(12, "Adobe"))
      isAdobe = true, transform = body[11];
    if (isFrame(marker) && body.size() >= 15)
      ids = {body[6], body[9], body[12]};
  }
  bool areYcc() const {
    if (isJfif)
      return true;
    return isAdobe ? transform != 0 : ids != std::array<uint8_t, 3>{'R', 'G', 'B'};
  }
};

/// The frame header (SOF) whose contents are `in`.
Status readFrame(const Reader &in, uint8_t marker, const ImageLimits &limits, JpegInfo &info) {
  if (marker == 0xC3 || (marker >= 0xC5 && marker <= 0xC7) || marker == 0xCB || marker >= 0xCD)
    return Error{Code::Unsupported, "lossless and hierarchical JPEG is not read"};
  if (!in.has(0, 6))
    return Error{Code::Corrupt, "damaged JPEG: short frame header"};
  if (in[0] != 8)
    return Error{Code::Unsupported,
                 "JPEG with " + std::to_string(in[0]) + " bits per sample is not read"};
  info.progressive = marker == 0xC2 || marker == 0xCA;
  info.arithmetic = marker >= 0xC9;
  info.height = in.big16(1);
  info.width = in.big16(3);
  info.components = in[5];
  if (info.components != 1 && info.components != 3 && info.components != 4)
    return Error{Code::Unsupported,
                 "JPEG with " + std::to_string(info.components) + " components is not read"};
  if (in.size() < 6 + 3 * size_t(info.components))
    return Error{Code::Corrupt, "damaged JPEG: short frame header"};
  for (size_t i = 0; i < info.components; ++i) {
    uint8_t factors = in[6 + 3 * i + 1];
    info.horizontal[i] = factors >> 4;
    info.vertical[i] = factors & 15;
    if (info.horizontal[i] < 1 || info.horizontal[i] > 4 || info.vertical[i] < 1 ||
        info.vertical[i] > 4)
      return Error{Code::Corrupt, "damaged JPEG: bad sampling factors"};
  }
  if (info.width == 0 || info.height == 0)
    return Error{Code::Unsupported, "JPEG without a size in its header (" +
                                        sizeText(info.width, info.height) + ") is not read"};
  if (info.width > maxSide || info.height > maxSide)
    return Error{Code::Limit, "JPEG of " + sizeText(info.width, info.height) +
                                  " pixels, the limit is 65500 per side"};
  if (uint64_t(info.width) * info.height > limits.maxPixels)
    return Error{Code::Limit, "JPEG of " + sizeText(info.width, info.height) +
                                  " pixels, the limit is " + std::to_string(limits.maxPixels) +
                                  " in all"};
  info.sampling = samplingOf(info);
  return {};
}

} // namespace

Result<JpegInfo> probeJpeg(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  Reader in(bytes);
  if (!in.has(0, 3) || in[0] != 0xFF || in[1] != 0xD8 || in[2] != 0xFF)
    return notJpeg(bytes);
  auto truncated = [&]() -> Error {
    return {Code::Truncated, "truncated JPEG: it ends after " + std::to_string(bytes.size()) +
                                 " bytes, inside its headers"};
  };
  JpegInfo info;
  Colours colours;
  bool exifSeen = false;
  size_t at = 2;
  for (;;) {
    // As libjpeg does: bytes between segments are skipped, markers may be
    // preceded by any number of fill bytes.
    while (in.has(at, 1) && in[at] != 0xFF)
      ++at;
    while (in.has(at, 1) && in[at] == 0xFF)
      ++at;
    if (!in.has(at, 1))
      return truncated();
    uint8_t marker = in[at++];
    if (marker == 0 || marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7))
      continue; // stuffed byte, or a marker without contents
    if (marker == 0xD8)
      return Error{Code::Corrupt, "damaged JPEG: two start-of-image markers"};
    if (marker == 0xD9)
      return Error{Code::Corrupt, "damaged JPEG: it holds no image"};
    if (!in.has(at, 2))
      return truncated();
    size_t length = in.big16(at);
    if (length < 2)
      return Error{Code::Corrupt, "damaged JPEG: segment of " + std::to_string(length) + " bytes"};
    if (!in.has(at, length))
      return truncated();
    std::span<const uint8_t> body = bytes.subspan(at + 2, length - 2);
    at += length;
    colours.look(marker, body);
    if (isFrame(marker)) {
      if (info.components)
        return Error{Code::Corrupt, "damaged JPEG: two frame headers"};
      if (Status status = readFrame(Reader(body), marker, limits, info); !status)
        return status.error();
    } else if (marker == 0xE1 && !exifSeen && body.size() >= 6 &&
               std::memcmp(body.data(), "Exif\0\0", 6) == 0) {
      exifSeen = true;
      info.orientation = exifOrientation(body);
    } else if (marker == 0xDA) {
      if (!info.components)
        return Error{Code::Corrupt, "damaged JPEG: scan before frame header"};
      info.scanOffset = at;
      info.isYcc = info.components == 3 && colours.areYcc();
      return info;
    }
  }
}

bool hasEndOfImage(std::span<const uint8_t> bytes, const JpegInfo &info) {
  size_t end = bytes.size();
  while (end > info.scanOffset + 1) {
    const void *found =
        ::memrchr(bytes.data() + info.scanOffset + 1, 0xD9, end - info.scanOffset - 1);
    if (!found)
      return false;
    end = size_t(static_cast<const uint8_t *>(found) - bytes.data());
    if (bytes[end - 1] == 0xFF)
      return true;
  }
  return false;
}

} // namespace penstock::runtime
