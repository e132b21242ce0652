// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/JpegSegments.h"

#include "runtime/media/jpeg/StandardCodes.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

constexpr uint8_t startOfScan = 0xDA, endOfImage = 0xD9;

uint32_t big16(std::span<const uint8_t> bytes, size_t at) {
  return uint32_t(bytes[at] << 8 | bytes[at + 1]);
}

bool hasNoContents(uint8_t marker) { return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7); }

} // namespace

void JpegSegments::begin(Bytes bytes) {
  file = bytes;
  at = 2;
  scanSeen = false;
  theFrame = {};
  for (auto *codes : {&dcCodes, &acCodes})
    for (auto &slot : *codes)
      slot.filled = false;
  for (auto &slot : quantisations)
    slot.filled = false;
  interval = 0;
  colours.clear();
}

const HuffmanCode *JpegSegments::dcCode(size_t number) const {
  return number < 4 && dcCodes[number].filled ? &dcCodes[number].table : nullptr;
}
const HuffmanCode *JpegSegments::acCode(size_t number) const {
  return number < 4 && acCodes[number].filled ? &acCodes[number].table : nullptr;
}
const QuantisationTable *JpegSegments::quantisation(size_t number) const {
  return number < 4 && quantisations[number].filled ? &quantisations[number].table : nullptr;
}

bool JpegSegments::nextMarker(uint8_t &marker) {
  for (;;) {
    while (at < file.size() && file[at] != 0xFF)
      ++at;
    while (at < file.size() && file[at] == 0xFF)
      ++at;
    if (at >= file.size())
      return false;
    marker = file[at++];
    if (marker != 0)
      return true;
  }
}

JpegSegments::Next JpegSegments::next() {
  for (;;) {
    uint8_t marker = 0;
    if (!nextMarker(marker))
      return Next::Odd;
    if (marker == endOfImage)
      return scanSeen ? Next::End : Next::Odd;
    if (hasNoContents(marker))
      continue;
    if (file.size() - at < 2)
      return Next::Odd;
    const size_t length = big16(file, at);
    if (length < 2 || length > file.size() - at)
      return Next::Odd;
    const Bytes segment = file.subspan(at, length);
    at += length;
    if (!take(marker, segment))
      return Next::Odd;
    if (marker == startOfScan)
      return Next::Scan;
  }
}

/// `segment` begins with its length.
bool JpegSegments::take(uint8_t marker, Bytes segment) {
  const Bytes body = segment.subspan(2);
  switch (marker) {
  case 0xC0: // baseline
  case 0xC1: // extended sequential
  case 0xC2: // progressive
    return takeFrame(body, marker == 0xC2);
  case 0xC4:
    return takeCodes(body);
  case 0xDB:
    return takeQuantisation(body);
  case 0xDD:
    if (body.size() != 2)
      return false;
    interval = big16(body, 0);
    return true;
  case startOfScan:
    return takeScan(body);
  case 0xE0:
  case 0xEE:
    if (!scanSeen)
      colours.push_back(file.subspan(at - segment.size() - 1, segment.size() + 1));
    return true;
  default: // comments and applications'
    return marker == 0xFE || (marker >= 0xE0 && marker <= 0xEF);
  }
}

bool JpegSegments::takeFrame(Bytes body, bool progressive) {
  if (theFrame.componentCount || body.size() < 6)
    return false;
  const size_t count = body[5];
  if (count < 1 || count > 4 || body.size() != 6 + 3 * count)
    return false;
  theFrame.progressive = progressive;
  theFrame.height = big16(body, 1);
  theFrame.width = big16(body, 3);
  for (size_t i = 0; i < count; ++i) {
    JpegFrame::Component &component = theFrame.components[i];
    component.id = body[6 + 3 * i];
    for (size_t j = 0; j < i; ++j)
      if (theFrame.components[j].id == component.id)
        return false;
    component.horizontal = body[7 + 3 * i] >> 4;
    component.vertical = body[7 + 3 * i] & 15;
    component.quantisation = body[8 + 3 * i];
    theFrame.maxHorizontal = std::max(theFrame.maxHorizontal, component.horizontal);
    theFrame.maxVertical = std::max(theFrame.maxVertical, component.vertical);
  }
  theFrame.componentCount = uint8_t(count);
  return true;
}

bool JpegSegments::takeCodes(Bytes body) {
  while (!body.empty()) {
    if (body.size() < 17 || (body[0] & ~0x10) > 3)
      return false;
    auto &slot = (body[0] < 0x10 ? dcCodes : acCodes)[body[0] & 3];
    HuffmanCode &code = slot.table;
    code = {};
    size_t symbols = 0;
    for (size_t length = 1; length <= 16; ++length)
      symbols += code.counts[length] = body[length];
    if (symbols > code.symbols.size() || body.size() < 17 + symbols)
      return false;
    std::copy_n(body.begin() + 17, symbols, code.symbols.begin());
    slot.filled = true;
    body = body.subspan(17 + symbols);
  }
  return true;
}

bool JpegSegments::takeQuantisation(Bytes body) {
  while (!body.empty()) {
    const size_t width = body[0] >> 4 ? 2 : 1, size = 1 + width * 64;
    const size_t number = body[0] & 15;
    if (number > 3 || body.size() < size)
      return false;
    for (size_t i = 0; i < 64; ++i)
      quantisations[number].table[i] = uint16_t(width == 2 ? big16(body, 1 + 2 * i) : body[1 + i]);
    quantisations[number].filled = true;
    body = body.subspan(size);
  }
  return true;
}

bool JpegSegments::takeScan(Bytes body) {
  const size_t count = body.empty() ? 0 : body[0];
  if (count < 1 || count > theFrame.componentCount || body.size() != 4 + 2 * count)
    return false;
  if (!scanSeen && !theFrame.progressive)
    fillStandardCodes();
  scanSeen = true;
  theScan.componentCount = uint8_t(count);
  // libjpeg takes some other orders, and misses components in others.
  size_t index = 0;
  for (size_t i = 0; i < count; ++i, ++index) {
    while (index < theFrame.componentCount && theFrame.components[index].id != body[1 + 2 * i])
      ++index;
    if (index == theFrame.componentCount)
      return false;
    const uint8_t codes = body[2 + 2 * i];
    theScan.components[i] = {uint8_t(index), uint8_t(codes >> 4), uint8_t(codes & 15)};
  }
  theScan.first = body[1 + 2 * count];
  theScan.last = body[2 + 2 * count];
  theScan.high = body[3 + 2 * count] >> 4;
  theScan.low = body[3 + 2 * count] & 15;
  theScan.dataOffset = at;
  return true;
}

/// Motion JPEG leaves them out.
void JpegSegments::fillStandardCodes() {
  for (size_t number = 0; number < 2; ++number)
    for (bool isDc : {true, false})
      if (auto &slot = (isDc ? dcCodes : acCodes)[number]; !slot.filled) {
        slot.table = standardCode(isDc, number);
        slot.filled = true;
      }
}

} // namespace penstock::runtime
