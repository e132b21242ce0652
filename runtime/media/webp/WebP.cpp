// SPDX-License-Identifier: Apache-2.0
//
// Cropped by libwebp, pixels next to the crop's edges differ from those of a full
// decode: its upsampler takes the edge for the image's. So two more pixels are
// decoded on each side and left out, from even coordinates, where chroma begins.
#include "runtime/media/webp/WebP.h"

#include "runtime/core/Memory.h"
#include "runtime/media/Exif.h"
#include "runtime/media/ImageHeader.h"
#include "runtime/media/Pixels.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <webp/decode.h>
#include <webp/demux.h>

namespace penstock::runtime {

namespace {

using Demuxer = std::unique_ptr<WebPDemuxer, void (*)(WebPDemuxer *)>;

Error damaged(const char *what) { return {Code::Corrupt, std::string("damaged WebP: ") + what}; }

Error truncated(std::span<const uint8_t> bytes) {
  return {Code::Truncated,
          "truncated WebP: it ends after " + std::to_string(bytes.size()) + " bytes"};
}

/// What `work` gives; no memory instead of damage where it has ended meanwhile: libwebp says so in
/// some places, and in others takes what it lacks then for damage. Its malloc() sets errno, under
/// `ulimit -v` also where it gives memory.
template <typename Work> auto withMemory(Work work) -> decltype(work()) {
  errno = 0;
  auto result = work();
  if (!result && errno == ENOMEM)
    return noMemory("to decode a WebP");
  return result;
}

/// The parts of a file that is whole.
Result<Demuxer> open(std::span<const uint8_t> bytes) {
  const WebPData data{bytes.data(), bytes.size()};
  WebPDemuxState state = WEBP_DEMUX_PARSING_HEADER;
  Demuxer parts(WebPDemuxPartial(&data, &state), &WebPDemuxDelete);
  if (state == WEBP_DEMUX_PARSE_ERROR)
    return damaged("its chunks do not fit together");
  if (!parts || state != WEBP_DEMUX_DONE)
    return truncated(bytes);
  return parts;
}

Result<uint8_t> orientationIn(std::span<const uint8_t> bytes) {
  const WebPData data{bytes.data(), bytes.size()};
  WebPDemuxState state;
  const Demuxer parts(WebPDemuxPartial(&data, &state), &WebPDemuxDelete);
  if (!parts && errno == ENOMEM)
    return noMemory("to decode a WebP");
  WebPChunkIterator exif{};
  uint8_t orientation = 1;
  if (parts && WebPDemuxGetChunk(parts.get(), "EXIF", 1, &exif))
    orientation = exifOrientation({exif.chunk.bytes, exif.chunk.size});
  WebPDemuxReleaseChunkIterator(&exif);
  return orientation;
}

struct Box {
  uint32_t top, left, bottom, right;
};

/// The part of `region` that a frame covers, in the frame's coordinates.
Box within(const Region &region, const WebPIterator &frame) {
  auto clip = [](uint32_t at, int offset, int size) {
    return uint32_t(std::clamp<int64_t>(int64_t(at) - offset, 0, size));
  };
  return {clip(region.top, frame.y_offset, frame.height),
          clip(region.left, frame.x_offset, frame.width),
          clip(region.top + region.height, frame.y_offset, frame.height),
          clip(region.left + region.width, frame.x_offset, frame.width)};
}

/// Decodes `wanted` and what its edges need into `work`, which gets the pixels
/// of `decoded`.
Status decodeBox(const WebPIterator &frame, const Box &wanted, const ImageLimits &limits,
                 Buffer &work, Box &decoded) {
  WebPDecoderConfig config;
  if (!WebPInitDecoderConfig(&config))
    return Error{Code::Unsupported, "libwebp has another version than it was built with"};
  const uint32_t height = uint32_t(frame.height), width = uint32_t(frame.width);
  auto before = [](uint32_t at) { return at < 2 ? 0 : (at - 2) & ~1u; };
  decoded = {before(wanted.top), before(wanted.left), std::min(wanted.bottom + 2, height),
             std::min(wanted.right + 2, width)};
  const uint32_t rows = decoded.bottom - decoded.top, columns = decoded.right - decoded.left;
  const uint64_t bytes = uint64_t(rows) * columns * 3;
  // libwebp's own memory: lossless images are kept whole as ARGB, and alpha as
  // a plane; the rest are a few rows.
  const uint64_t need = bytes + uint64_t(width) * height * 5;
  if (need > limits.maxWorkBytes)
    return Error{Code::Limit, "decoding a WebP needs " + std::to_string(need) +
                                  " bytes, the limit is " + std::to_string(limits.maxWorkBytes)};
  if (!work.resize(bytes))
    return noMemory("to decode a WebP");
  config.options.use_cropping = 1;
  config.options.crop_top = int(decoded.top);
  config.options.crop_left = int(decoded.left);
  config.options.crop_height = int(rows);
  config.options.crop_width = int(columns);
  config.output.colorspace = MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {work.data(), int(columns * 3), size_t(bytes)};
  const VP8StatusCode code = WebPDecode(frame.fragment.bytes, frame.fragment.size, &config);
  WebPFreeDecBuffer(&config.output);
  if (code == VP8_STATUS_OK)
    return {};
  if (code == VP8_STATUS_NOT_ENOUGH_DATA || code == VP8_STATUS_SUSPENDED)
    return Error{Code::Truncated, "truncated WebP: its image data end early"};
  if (code == VP8_STATUS_OUT_OF_MEMORY)
    return noMemory("to decode a WebP");
  return damaged("its image data cannot be decoded");
}

void clear(const Target &target) {
  for (uint32_t y = 0; y < target.region.height; ++y)
    std::fill_n(target.out + y * target.rowStride,
                size_t(target.region.width) * channelsOf(target.format), uint8_t(0));
}

Status decodeFrame(const WebPIterator &frame, const Target &target, const ImageLimits &limits,
                   Buffer &work) {
  const Region &region = target.region;
  const Box wanted = within(region, frame);
  const uint32_t rows = wanted.bottom - wanted.top, columns = wanted.right - wanted.left;
  if (rows != region.height || columns != region.width)
    clear(target);
  if (rows == 0 || columns == 0)
    return {};
  Box decoded{};
  if (Status status = decodeBox(frame, wanted, limits, work, decoded); !status)
    return status;
  const uint32_t top = wanted.top + uint32_t(frame.y_offset) - region.top;
  const uint32_t left = wanted.left + uint32_t(frame.x_offset) - region.left;
  const size_t pitch = size_t(decoded.right - decoded.left) * 3;
  for (uint32_t y = 0; y < rows; ++y) {
    const uint8_t *row = work.data() + (wanted.top - decoded.top + y) * pitch;
    writeRow(wanted.left - decoded.left, columns, target.format,
             target.out + (top + y) * target.rowStride + size_t(left) * channelsOf(target.format),
             [row](size_t x) { return Rgb{row[3 * x], row[3 * x + 1], row[3 * x + 2]}; });
  }
  return {};
}

Result<WebPInfo> probe(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  WebPBitstreamFeatures found;
  const VP8StatusCode code = WebPGetFeatures(bytes.data(), bytes.size(), &found);
  if (code == VP8_STATUS_NOT_ENOUGH_DATA)
    return truncated(bytes);
  if (code != VP8_STATUS_OK)
    return damaged("its header cannot be read");
  WebPInfo info{uint32_t(found.width), uint32_t(found.height), 1};
  if (Status status = checkImageSize("WebP", info.width, info.height, limits); !status)
    return status.error();
  auto orientation = orientationIn(bytes);
  if (!orientation)
    return orientation.error();
  info.orientation = *orientation;
  return info;
}

Status decode(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
              Buffer &work, DecodeStats &stats) {
  auto parts = open(bytes);
  if (!parts)
    return parts.error();
  WebPIterator frame{};
  if (!WebPDemuxGetFrame(parts->get(), 1, &frame))
    return damaged("it holds no image");
  stats.rowsDecoded += target.region.top + target.region.height;
  Status status = decodeFrame(frame, target, limits, work);
  WebPDemuxReleaseIterator(&frame);
  return status;
}

} // namespace

Result<WebPInfo> probeWebP(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  return withMemory([&] { return probe(bytes, limits); });
}

Status decodeWebP(std::span<const uint8_t> bytes, const Target &target, const ImageLimits &limits,
                  Buffer &work, DecodeStats &stats) {
  return withMemory([&] { return decode(bytes, target, limits, work, stats); });
}

Status checkWebP(std::span<const uint8_t> bytes) {
  return withMemory([&] {
    auto parts = open(bytes);
    return parts ? Status() : Status(parts.error());
  });
}

} // namespace penstock::runtime
