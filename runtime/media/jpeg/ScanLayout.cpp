// Only what is certain is read: whatever libjpeg would warn of, correct or take
// in its own way, makes the file libjpeg's.
#include "runtime/media/jpeg/ScanLayout.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

using Bytes = std::span<const uint8_t>;

uint32_t big16(Bytes bytes, size_t at) { return uint32_t(bytes[at] << 8 | bytes[at + 1]); }

/// Calls `use(marker, segment)` with each segment up to the first scan header,
/// whole: marker, length and contents. False where there is anything between
/// segments, or where `use` returns false. The file has passed probeJpeg().
template <class Use> bool forEachSegment(Bytes bytes, Use use) {
  for (size_t at = 2; bytes.size() - at >= 4;) {
    const uint8_t marker = bytes[at + 1];
    const size_t length = 2 + size_t(big16(bytes, at + 2));
    if (bytes[at] != 0xFF || marker < 0xC0 || marker == 0xFF ||
        (marker >= 0xD0 && marker <= 0xD9) || length < 4 || length > bytes.size() - at)
      return false;
    if (!use(marker, bytes.subspan(at, length)))
      return false;
    if (marker == 0xDA)
      return true;
    at += length;
  }
  return false;
}

struct Parser {
  ScanLayout &layout;
  std::array<uint8_t, 4> ids{};
  std::array<bool, 4> hasDc{}, hasAc{};
  EntropyPath path = EntropyPath::OddHeader; // why, where one of these fails

  bool frame(Bytes body);
  bool codes(Bytes body);
  bool restartInterval(Bytes body);
  bool scan(Bytes body);
};

bool Parser::frame(Bytes body) {
  const size_t count = body[5];
  if (layout.componentCount || body.size() != 6 + 3 * count)
    return false;
  layout.componentCount = uint8_t(count);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = body[6 + 3 * i];
    if (std::count(ids.begin(), ids.begin() + long(i), ids[i]))
      return false;
    ScanLayout::Component &component = layout.components[i];
    component.horizontal = body[7 + 3 * i] >> 4;
    component.vertical = body[7 + 3 * i] & 15;
    layout.maxHorizontal = std::max(layout.maxHorizontal, component.horizontal);
    layout.maxVertical = std::max(layout.maxVertical, component.vertical);
  }
  return true;
}

bool Parser::codes(Bytes body) {
  while (!body.empty()) {
    if (body.size() < 17 || (body[0] & ~0x10) > 3)
      return false;
    const bool isDc = body[0] < 0x10;
    const size_t index = body[0] & 3;
    HuffmanCode code;
    size_t symbols = 0;
    for (size_t length = 1; length <= 16; ++length)
      symbols += code.counts[length] = body[length];
    if (symbols > code.symbols.size() || body.size() < 17 + symbols)
      return false;
    std::copy_n(body.begin() + 17, symbols, code.symbols.begin());
    if (!isValid(code, isDc))
      return false;
    (isDc ? hasDc : hasAc)[index] = true;
    (isDc ? layout.dcCodes : layout.acCodes)[index] = code;
    body = body.subspan(17 + symbols);
  }
  return true;
}

bool Parser::restartInterval(Bytes body) {
  if (body.size() != 2)
    return false;
  layout.restartInterval = big16(body, 0);
  return true;
}

bool Parser::scan(Bytes body) {
  const size_t count = layout.componentCount;
  if (count == 0 || body.empty())
    return false;
  if (body[0] != count) {
    path = EntropyPath::SeveralScans;
    return false;
  }
  if (body.size() != 4 + 2 * count || body[1 + 2 * count] != 0 || body[2 + 2 * count] != 63 ||
      body[3 + 2 * count] != 0)
    return false;
  uint32_t blocks = 0;
  for (size_t i = 0; i < count; ++i) {
    ScanLayout::Component &component = layout.components[i];
    component.dcCode = body[2 + 2 * i] >> 4;
    component.acCode = body[2 + 2 * i] & 15;
    if (body[1 + 2 * i] != ids[i] || component.dcCode > 3 || component.acCode > 3 ||
        !hasDc[component.dcCode] || !hasAc[component.acCode])
      return false;
    blocks += layout.interleaved() ? uint32_t(component.horizontal) * component.vertical : 1;
  }
  return blocks <= uint32_t(maxBlocksPerMcu);
}

} // namespace

EntropyPath readScanLayout(Bytes bytes, const JpegInfo &info, ScanLayout &layout) {
  if (info.progressive || info.arithmetic)
    return EntropyPath::OtherCoding;
  layout = {};
  layout.width = info.width;
  layout.height = info.height;
  layout.scanOffset = info.scanOffset;
  Parser parser{layout};
  const bool taken = forEachSegment(bytes, [&](uint8_t marker, Bytes segment) {
    const Bytes body = segment.subspan(4);
    switch (marker) {
    case 0xC0: // baseline
    case 0xC1: // extended sequential
      return parser.frame(body);
    case 0xC4:
      return parser.codes(body);
    case 0xDD:
      return parser.restartInterval(body);
    case 0xDA:
      return parser.scan(body);
    case 0xDB: // quantisation: libjpeg reads it
    case 0xFE: // comment
      return true;
    default:
      return marker >= 0xE0 && marker <= 0xEF;
    }
  });
  return taken ? EntropyPath::Own : parser.path;
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
  // It is not done in images of one or two chroma samples.
  const uint32_t least = std::min(layout.width, 3u * layout.maxHorizontal);
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

void writeHeader(Bytes bytes, const ScanLayout &layout, uint32_t width, uint32_t height,
                 std::vector<uint8_t> &header) {
  header.assign({0xFF, 0xD8});
  forEachSegment(bytes.first(layout.scanOffset), [&](uint8_t marker, Bytes segment) {
    // Of the application segments, JFIF's and Adobe's decide on colours.
    if (marker == 0xFE || (marker > 0xE0 && marker <= 0xEF && marker != 0xEE))
      return true;
    const size_t at = header.size();
    header.insert(header.end(), segment.begin(), segment.end());
    if (marker == 0xC0 || marker == 0xC1) {
      header[at + 5] = uint8_t(height >> 8);
      header[at + 6] = uint8_t(height);
      header[at + 7] = uint8_t(width >> 8);
      header[at + 8] = uint8_t(width);
    }
    return true;
  });
}

} // namespace penstock::runtime
