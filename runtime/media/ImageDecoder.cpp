// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/ImageDecoder.h"

#include "runtime/media/ImageHeader.h"
#include "runtime/media/bmp/Bmp.h"
#include "runtime/media/png/PngDecoder.h"
#include "runtime/media/pnm/Pnm.h"
#include "runtime/media/webp/WebP.h"

namespace penstock::runtime {

namespace {

bool liesInside(const Region &region, const ImageInfo &info) {
  return region.height > 0 && region.width > 0 && region.top < info.height &&
         region.left < info.width && region.height <= info.height - region.top &&
         region.width <= info.width - region.left;
}

bool isJpeg(std::span<const uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0xFF && bytes[1] == 0xD8;
}

} // namespace

Status ImageDecoder::decodeRegion(std::span<const uint8_t> bytes, PixelFormat format,
                                  const Region &region, uint8_t *out, size_t rowStride,
                                  DecodeStats &stats, Beside beside, EntropyIndexes *indexes) {
  if (isJpeg(bytes) && channelBytes(format) == 1 &&
      format != PixelFormat::Index) // it reads its headers itself, with the same messages
    return jpeg.decodeRegion(bytes, format, region, out, rowStride, stats, beside, indexes);
  auto info = probeImage(bytes, limits);
  if (!info)
    return info.error();
  if (!liesInside(region, *info))
    return Error{Code::InvalidArgument, "the region lies outside of the image"};
  const uint32_t asked = 8 * channelBytes(format);
  if (asked != 8 && info->depth != asked)
    return Error{Code::Unsupported, "the file has " + std::to_string(info->depth) +
                                        " bits a channel, and " + std::to_string(asked) +
                                        " are asked for"};
  if (format == PixelFormat::Index && !info->hasIndices)
    return Error{
        Code::Unsupported,
        info->depth == 16
            ? "the file has 16 bits a channel: `decode(gray, depth = 16)` gives its numbers"
            : std::string(nameOfFormat(bytes)) +
                  " without numbers of a palette, which `decode(index)` gives; "
                  "`decode(gray)` gives grays"};
  const Target target{format, region, out, rowStride};
  ++stats.images;
  switch (info->format) {
  case ImageFormat::Png:
    return decodePng(bytes, target, limits, work, stats);
  case ImageFormat::WebP:
    return decodeWebP(bytes, target, limits, work, stats);
  case ImageFormat::Bmp:
    return decodeBmp(bytes, target, limits, work, stats);
  case ImageFormat::Pnm:
    return decodePnm(bytes, target, limits, work, stats);
  case ImageFormat::Jpeg:
    break;
  }
  return Error{Code::Unsupported, "internal error: an image format without a decoder"};
}

Status ImageDecoder::checkEnd(std::span<const uint8_t> bytes, DecodeStats &stats) {
  if (isJpeg(bytes))
    return jpeg.checkEnd(bytes, stats);
  auto info = probeImage(bytes, limits);
  if (!info)
    return info.error();
  switch (info->format) {
  case ImageFormat::Png:
    return checkPng(bytes, limits, work, stats);
  case ImageFormat::WebP:
    return checkWebP(bytes);
  case ImageFormat::Bmp:
    return checkBmp(bytes, limits, work);
  case ImageFormat::Pnm:
    return checkPnm(bytes, limits, work);
  case ImageFormat::Jpeg:
    break;
  }
  return {};
}

} // namespace penstock::runtime
