// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/JpegPlanes.h"

#include <algorithm>
#include <cstring>
#include <jerror.h>

namespace penstock::runtime {

namespace {

constexpr uint32_t mostRows = 2 * DCTSIZE; // of a row of MCUs, as planesOf() lets them through

/// The first sample that upsampling reads for pixels begin ..< end, and how many; `extent` of the
/// image in pixels.
void chromaRange(bool isHalved, uint32_t begin, uint32_t size, uint32_t extent, uint32_t &first,
                 uint32_t &count) {
  first = begin, count = size;
  if (!isHalved)
    return;
  // An even pixel reads the sample before its own, an odd one that behind it.
  first = (begin - (begin > 0)) / 2;
  count = std::min((begin + size) / 2 + 1, (extent + 1) / 2) - first;
}

} // namespace

std::optional<Planes> planesOf(const JpegInfo &info, const Region &region) {
  if (!info.isYcc)
    return std::nullopt;
  Planes planes;
  planes.luma = region;
  switch (info.sampling) {
  case JpegSampling::S444:
    break;
  case JpegSampling::S422:
    planes.halvesColumns = true;
    break;
  case JpegSampling::S420:
    planes.halvesRows = planes.halvesColumns = true;
    break;
  case JpegSampling::S440:
    planes.halvesRows = true;
    break;
  default:
    return std::nullopt;
  }
  if (planes.halvesColumns && (info.width + 1) / 2 <= 2) // libjpeg repeats these
    return std::nullopt;
  chromaRange(planes.halvesRows, region.top, region.height, info.height, planes.chroma.top,
              planes.chroma.height);
  chromaRange(planes.halvesColumns, region.left, region.width, info.width, planes.chroma.left,
              planes.chroma.width);
  return planes;
}

size_t planesScratch(uint32_t width) { return (size_t(width) + mostRows) * mostRows * 3; }

uint64_t readPlanes(jpeg_decompress_struct &info, const Planes &planes, uint32_t left, uint32_t top,
                    bool toTheEnd, uint8_t *scratch, uint8_t *out) {
  JSAMPROW rows[3][mostRows];
  JSAMPARRAY parts[3] = {rows[0], rows[1], rows[2]};
  size_t pitch[3];
  for (int c = 0; c < 3; ++c) {
    const jpeg_component_info &component = info.comp_info[c];
    const auto inMcu = JDIMENSION(component.h_samp_factor);
    pitch[c] = size_t((component.width_in_blocks + inMcu - 1) / inMcu * inMcu) * DCTSIZE;
    for (uint32_t y = 0; y < mostRows; ++y, scratch += pitch[c])
      rows[c][y] = scratch;
  }
  const auto height = uint32_t(info.max_v_samp_factor * DCTSIZE);
  // As far as libjpeg reads for the pixels: where it filters rows, it makes two at a time, and
  // reads what the lower one needs.
  uint32_t end = planes.luma.top + planes.luma.height;
  if (planes.halvesRows)
    end = (end - 1) / 2 * 2 + 4;
  end = toTheEnd ? info.output_height : std::min(end - top, uint32_t(info.output_height));
  while (info.output_scanline < end) {
    const uint32_t first = info.output_scanline;
    if (jpeg_read_raw_data(&info, parts, height) == 0)
      ERREXIT(&info, JERR_BAD_STATE);
    for (size_t c = 0; c < 3; ++c) {
      const Region &part = planes.part(c);
      const bool isHalf = c > 0 && planes.halvesRows;
      const uint32_t begin = (top + first) >> isHalf, count = height >> isHalf;
      const uint32_t column = part.left - (left >> (c > 0 && planes.halvesColumns));
      for (uint32_t y = std::max(begin, part.top);
           y < std::min(begin + count, part.top + part.height); ++y)
        std::memcpy(out + planes.offset(c) + (y - part.top) * planes.stride(c),
                    rows[c][y - begin] + column, part.width);
    }
  }
  return info.output_scanline;
}

} // namespace penstock::runtime
