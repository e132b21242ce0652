// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/ScanLayout.h"

#include <algorithm>

namespace penstock::runtime {

using Bytes = std::span<const uint8_t>;

ScanLayout layoutOf(const JpegFrame &frame) {
  ScanLayout layout;
  layout.width = frame.width;
  layout.height = frame.height;
  layout.componentCount = frame.componentCount;
  layout.maxHorizontal = frame.maxHorizontal;
  layout.maxVertical = frame.maxVertical;
  layout.progressive = frame.progressive;
  for (uint8_t i = 0; i < frame.componentCount; ++i)
    layout.components[i] = {i, frame.components[i].horizontal, frame.components[i].vertical};
  return layout;
}

namespace {

/// Copies a code, if it is there and good.
bool takeCode(const HuffmanCode *code, bool isDc, HuffmanCode &into) {
  if (!code || !isValid(*code, isDc))
    return false;
  into = *code;
  return true;
}

} // namespace

bool readScan(const JpegSegments &segments, ScanLayout &layout) {
  const JpegScanHeader &scan = segments.scan();
  layout = layoutOf(segments.frame());
  layout.componentCount = scan.componentCount;
  layout.restartInterval = segments.restartInterval();
  layout.scanOffset = scan.dataOffset;
  if (layout.progressive) {
    layout.first = scan.first, layout.last = scan.last;
    layout.high = scan.high, layout.low = scan.low;
  }
  const bool codesDc = layout.first == 0 && layout.high == 0;
  const bool codesAc = layout.last > 0;
  uint32_t blocks = 0;
  for (size_t i = 0; i < scan.componentCount; ++i) {
    const JpegScanHeader::Component &from = scan.components[i];
    const JpegFrame::Component &component = segments.frame().components[from.index];
    layout.components[i] = {from.index, component.horizontal, component.vertical, from.dcCode,
                            from.acCode};
    if (codesDc && !takeCode(segments.dcCode(from.dcCode), true, layout.dcCodes[from.dcCode & 3]))
      return false;
    if (codesAc && !takeCode(segments.acCode(from.acCode), false, layout.acCodes[from.acCode & 3]))
      return false;
    blocks += layout.interleaved() ? uint32_t(component.horizontal) * component.vertical : 1;
  }
  if (!layout.interleaved()) {
    const auto share = [](uint32_t size, uint32_t part, uint32_t whole) {
      return (size * part + whole - 1) / whole;
    };
    const ScanLayout::Component &only = layout.components[0];
    layout.width = share(layout.width, only.horizontal, layout.maxHorizontal);
    layout.height = share(layout.height, only.vertical, layout.maxVertical);
  }
  return blocks <= uint32_t(maxBlocksPerMcu);
}

EntropyPath readScanLayout(Bytes bytes, const JpegInfo &info, JpegSegments &segments,
                           ScanLayout &layout) {
  if (info.progressive || info.arithmetic)
    return EntropyPath::OtherCoding;
  segments.begin(bytes);
  if (segments.next() != JpegSegments::Next::Scan)
    return EntropyPath::OddHeader;
  if (segments.scan().componentCount != segments.frame().componentCount)
    return EntropyPath::SeveralScans;
  return readScan(segments, layout) ? EntropyPath::Own : EntropyPath::OddHeader;
}

bool keepQuantisation(const JpegSegments &segments, size_t component, QuantisationTables &tables) {
  const QuantisationTable *found =
      segments.quantisation(segments.frame().components[component].quantisation);
  if (found)
    tables[component] = *found;
  return found;
}

uint32_t leastWidth(uint32_t width, uint32_t maxHorizontal) {
  return std::min(width, 3 * maxHorizontal);
}

McuCrop cropFor(const ScanLayout &layout, const Region &region) {
  bool narrow = false, low = false; // some component has fewer samples
  for (size_t i = 0; i < layout.componentCount; ++i) {
    narrow |= layout.components[i].horizontal != layout.maxHorizontal;
    low |= layout.components[i].vertical != layout.maxVertical;
  }
  McuCrop crop;
  // Fancy upsampling mixes in the neighbouring chroma sample, and at the edge of
  // an image it mixes otherwise. One pixel more reaches that sample.
  const uint32_t begin = region.left - (narrow && region.left > 0);
  uint32_t end = std::min(layout.width, region.left + region.width + narrow);
  crop.firstColumn = begin / layout.mcuWidth();
  const uint32_t least = leastWidth(layout.width, layout.maxHorizontal);
  if (narrow && layout.width - crop.firstColumn * layout.mcuWidth() < least)
    --crop.firstColumn;
  const uint32_t origin = crop.firstColumn * layout.mcuWidth();
  crop.width = std::max(end, std::min(origin + least, layout.width)) - origin;
  crop.left = region.left - origin;

  // Rows likewise. libjpeg works in groups of rows, and reads the row of MCUs
  // that holds the group below the last one needed.
  const uint32_t bandHeight = 8u * layout.maxVertical;
  const uint32_t top = (region.top - (low && region.top > 0)) / bandHeight * bandHeight;
  uint32_t bottom = region.top + region.height;
  if (low)
    bottom = ((bottom - 1) / layout.maxVertical + 2) * layout.maxVertical;
  crop.firstRow = top / layout.mcuHeight();
  crop.height = std::min(bottom, layout.height) - top;
  crop.top = region.top - top;
  return crop;
}

void writeHeader(const JpegSegments &segments, const QuantisationTables &tables, uint32_t width,
                 uint32_t height, std::vector<uint8_t> &header) {
  const JpegFrame &frame = segments.frame();
  const uint8_t count = frame.componentCount;
  header.assign({0xFF, 0xD8});
  const auto put = [&](std::initializer_list<uint32_t> bytes) {
    for (const uint32_t byte : bytes)
      header.push_back(uint8_t(byte));
  };
  for (const Bytes segment : segments.colourSegments()) {
    header.push_back(0xFF);
    header.insert(header.end(), segment.begin(), segment.end());
  }
  for (uint32_t i = 0; i < count; ++i) {
    put({0xFF, 0xDB, 0, 3 + 2 * 64, 0x10 | i});
    for (const uint32_t value : tables[i])
      put({value >> 8, value});
  }
  put({0xFF, 0xC1, 0, 8 + 3u * count, 8, height >> 8, height, width >> 8, width, count});
  for (uint32_t i = 0; i < count; ++i)
    put({frame.components[i].id,
         uint32_t(frame.components[i].horizontal << 4 | frame.components[i].vertical), i});
  for (const uint32_t kind : {0x00, 0x10}) { // one code of one bit
    put({0xFF, 0xC4, 0, 20, kind, 1});
    header.resize(header.size() + 16);
  }
  put({0xFF, 0xDA, 0, 6 + 2u * count, count});
  for (uint32_t i = 0; i < count; ++i)
    put({frame.components[i].id, 0});
  put({0, 63, 0});
}

} // namespace penstock::runtime
