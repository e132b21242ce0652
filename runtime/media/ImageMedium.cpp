// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/ImageMedium.h"

#include "runtime/media/ImageHeader.h"

namespace penstock::runtime {

Region pictureRegion(const MediumRequest &request, size_t rows) {
  const AxisRange &h = request.box[rows], &w = request.box[rows + 1];
  return {uint32_t(h.low), uint32_t(w.low), uint32_t(h.high - h.low), uint32_t(w.high - w.low)};
}

// Room for the whole picture, of which only the region and a few columns more are
// written (and only their pages are touched): a kernel that stores an intermediate
// result as a whole reads pixels that no output needs, and may find anything there.
// So a picture of which nothing is needed has room too.
std::optional<MediumLayout> pictureLayout(const MediumRequest &request, size_t rows) {
  constexpr int64_t line = 64;
  const int64_t pixel = pixelBytes(pixelFormat(request));
  const int64_t stride = (request.extents[rows + 1] * pixel + line - 1) / line * line;
  MediumLayout layout;
  layout.bytes = stride * request.extents[rows];
  if (rows == 1) {
    layout.strides[0] = layout.bytes;
    if (__builtin_mul_overflow(layout.bytes, request.extents[0], &layout.bytes))
      return std::nullopt;
  }
  if (__builtin_add_overflow(layout.bytes, line, &layout.bytes))
    return std::nullopt;
  // No row that libjpeg writes begins at a multiple of 16 bytes: to such rows it
  // writes past the cache, and the kernel would read them from memory.
  layout.offset = 4;
  layout.strides[rows] = stride;
  layout.strides[rows + 1] = pixel;
  layout.strides[rows + 2] = channelBytes(pixelFormat(request));
  return layout;
}

Status ImageMedium::probe(const MediumInput &input, const ImageLimits &limits,
                          media::Record &numbers) {
  auto info = probeImage(input.bytes, limits);
  if (!info)
    return info.error();
  numbers[media::pictureHeight] = info->height;
  numbers[media::pictureWidth] = info->width;
  numbers[media::pictureOrientation] = info->orientation;
  numbers[media::imageDepth] = info->depth;
  numbers[media::imageIndexed] = info->hasIndices;
  return {};
}

/// Gives planes of upright images alone; others cross as pixels, as turning planes would exchange
/// the axes along which chroma is halved, and the odd row or column there.
std::optional<Planes> ImageMedium::planesFor(const MediumInput &input,
                                             const MediumRequest &request) const {
  const Orientation orientation(request.orient ? int(input.numbers[media::pictureOrientation]) : 1);
  if (pixelFormat(request) != PixelFormat::Rgb || !orientation.isUpright())
    return std::nullopt;
  return decoder.planesFor(input.bytes, pictureRegion(request, 0));
}

Status ImageMedium::decode(const MediumInput &input, const MediumRequest &request,
                           const MediumLayout &layout, uint8_t *out) {
  if (request.planes)
    return decoder.decodePlanes(input.bytes, *request.planes, out, host.stats, input.checkpoints);
  const PixelFormat format = pixelFormat(request);
  const Region region = pictureRegion(request, 0);
  out += region.top * layout.strides[0] + region.left * layout.strides[1];
  const Orientation orientation(request.orient ? int(input.numbers[media::pictureOrientation]) : 1);
  if (orientation.isUpright())
    return decoder.decodeRegion(input.bytes, format, region, out, size_t(layout.strides[0]),
                                host.stats, ImageDecoder::Beside::Free, input.checkpoints);
  const Region stored = orientation.stored(region, uint32_t(input.numbers[media::pictureHeight]),
                                           uint32_t(input.numbers[media::pictureWidth]));
  const size_t pitch = size_t(stored.width) * pixelBytes(format);
  const auto bytes = int64_t(pitch * stored.height);
  uint8_t *pixels = host.take(bytes);
  if (!pixels)
    return host.refusal("turning the image", bytes);
  Status status = decoder.decodeRegion(input.bytes, format, stored, pixels, pitch, host.stats,
                                       ImageDecoder::Beside::Kept, input.checkpoints);
  if (status)
    orientation.copy(pixels, region, pixelBytes(format), out, size_t(layout.strides[0]));
  return status;
}

Status ImageMedium::checkEnd(const MediumInput &input) {
  return decoder.checkEnd(input.bytes, host.stats);
}

} // namespace penstock::runtime
