// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/CoefficientStore.h"

#include "runtime/media/jpeg/JpegMemory.h"

#include <cstring>

namespace penstock::runtime {

namespace {

constexpr size_t blockBytes = 64 * sizeof(int16_t);

} // namespace

void CoefficientStore::layOut(const ScanLayout &frame, const McuCrop &crop) {
  planeCount = frame.componentCount;
  mcusPerRow = frame.mcusPerRow();
  blockCount = 0;
  blocks = masks = 0;
  const uint32_t columns = (crop.width + frame.mcuWidth() - 1) / frame.mcuWidth();
  const uint32_t rows = (crop.height + frame.mcuHeight() - 1) / frame.mcuHeight();
  for (size_t c = 0; c < planeCount; ++c) {
    Plane &plane = planes[c];
    plane.horizontal = frame.interleaved() ? frame.components[c].horizontal : 1;
    plane.vertical = frame.interleaved() ? frame.components[c].vertical : 1;
    plane.columns = mcusPerRow * plane.horizontal;
    plane.left = crop.firstColumn * plane.horizontal;
    plane.top = crop.firstRow * plane.vertical;
    plane.width = columns * plane.horizontal;
    plane.height = rows * plane.vertical;
    plane.first = blocks;
    plane.firstMask = masks;
    blocks += size_t(plane.width) * plane.height;
    masks += size_t(plane.columns) * frame.mcuRows() * plane.vertical;
    blockCount += plane.horizontal * plane.vertical;
  }
}

bool CoefficientStore::begin(const ScanLayout &frame, const McuCrop &crop,
                             const EntropyKernels &chosen) {
  kernels = &chosen;
  zigzag = frame.progressive;
  layOut(frame, crop);
  if (!zigzag)
    masks = 0; // nothing is refined
  if (!coefficients.resize(blocks * blockBytes) || !nonzero.resize(masks * sizeof(uint64_t)))
    return false;
  std::memset(coefficients.data(), 0, coefficients.size());
  if (masks)
    std::memset(nonzero.data(), 0, nonzero.size());
  return true;
}

uint64_t CoefficientStore::bytesOf(const ScanLayout &frame) {
  uint64_t inMcu = 0;
  for (size_t c = 0; c < frame.componentCount; ++c)
    inMcu += frame.interleaved()
                 ? uint64_t(frame.components[c].horizontal) * frame.components[c].vertical
                 : 1;
  return frame.mcuCount() * inMcu * (blockBytes + sizeof(uint64_t));
}

void CoefficientStore::trim() {
  if (heldBytes() <= JpegMemory::keepAtMost)
    return;
  coefficients.release();
  nonzero.release();
}

int16_t *CoefficientStore::block(const Plane &plane, uint32_t column, uint32_t row) {
  const size_t number = plane.first + size_t(row) * plane.width + column;
  return reinterpret_cast<int16_t *>(coefficients.data() + number * blockBytes);
}

CoefficientStore::Row CoefficientStore::row(size_t component, uint32_t number) {
  const Plane &plane = planes[component];
  Row row;
  if (masks)
    row.nonzero = reinterpret_cast<uint64_t *>(nonzero.data()) + plane.firstMask +
                  size_t(number) * plane.columns;
  if (number < plane.top || number >= plane.top + plane.height)
    return row;
  row.begin = plane.left;
  row.end = plane.left + plane.width;
  row.coefficients = block(plane, 0, number - plane.top);
  return row;
}

bool CoefficientStore::seek(uint64_t mcu) {
  mcuRow = uint32_t(mcu / mcusPerRow);
  mcuColumn = uint32_t(mcu % mcusPerRow);
  return true;
}

bool CoefficientStore::decodeMcu(int16_t *const *out) {
  for (size_t c = 0; c < planeCount; ++c) {
    const Plane &plane = planes[c];
    const uint32_t column = mcuColumn * plane.horizontal - plane.left;
    const uint32_t row = mcuRow * plane.vertical - plane.top;
    for (uint32_t y = 0; y < plane.vertical; ++y)
      for (uint32_t x = 0; x < plane.horizontal; ++x, ++out) {
        const int16_t *from = block(plane, column + x, row + y);
        if (zigzag)
          kernels->unzigzag(from, *out);
        else
          std::memcpy(*out, from, blockBytes);
      }
  }
  ++mcuColumn;
  return true;
}

} // namespace penstock::runtime
