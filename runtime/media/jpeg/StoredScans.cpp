// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/StoredScans.h"

#include <algorithm>

namespace penstock::runtime {

EntropyPath StoredScans::read(std::span<const uint8_t> file, const Region &region,
                              const ImageLimits &limits, JpegSegments &segments,
                              HuffmanCache &tables, const EntropyKernels &kernels,
                              EntropyScan &scan) {
  using Next = JpegSegments::Next;
  segments.begin(file);
  Next next = segments.next();
  if (next != Next::Scan)
    return EntropyPath::OddHeader;
  theFrame = layoutOf(segments.frame());
  theCrop = cropFor(theFrame, region);
  for (auto &bits : known)
    bits.fill(-1);
  // Whether a file is too large does not depend on the region; libjpeg says so.
  uint32_t blocks = 0;
  for (size_t c = 0; c < theFrame.componentCount; ++c)
    blocks += uint32_t(theFrame.components[c].horizontal) * theFrame.components[c].vertical;
  if ((theFrame.interleaved() && blocks > uint32_t(maxBlocksPerMcu)) ||
      CoefficientStore::bytesOf(theFrame) > limits.maxWorkBytes ||
      !store.begin(theFrame, theCrop, kernels))
    return EntropyPath::SeveralScans;
  for (uint32_t count = 1; next == Next::Scan; ++count) {
    if (count > limits.maxScans || !startScan(segments))
      return EntropyPath::SeveralScans;
    scan.begin(file, layout, tables, kernels, {});
    if (!readScan(scan) || !scan.complete())
      return EntropyPath::OddData;
    segments.goOnAt(scan.endOfData());
    next = segments.next();
  }
  if (next != Next::End)
    return EntropyPath::OddHeader;
  return isComplete() ? EntropyPath::Own : EntropyPath::SeveralScans;
}

/// A component keeps the quantisation table that it begins with.
bool StoredScans::startScan(const JpegSegments &segments) {
  if (!penstock::runtime::readScan(segments, layout))
    return false;
  for (size_t i = 0; i < layout.componentCount; ++i) {
    const uint8_t index = layout.components[i].index;
    if (known[index][0] < 0 && !keepQuantisation(segments, index, quantisations))
      return false;
  }
  return takeProgression();
}

/// Takes what libjpeg takes without a word, but for scans that say what is known already.
bool StoredScans::takeProgression() {
  const bool isDc = layout.first == 0;
  if (layout.progressive &&
      ((isDc ? layout.last != 0 : layout.interleaved() || layout.first > layout.last) ||
       layout.last > 63 || layout.low > 13 || (layout.high != 0 && layout.low != layout.high - 1)))
    return false;
  for (size_t i = 0; i < layout.componentCount; ++i) {
    auto &bits = known[layout.components[i].index];
    if (!isDc && bits[0] < 0)
      return false;
    for (size_t k = layout.first; k <= layout.last; ++k) {
      if (layout.high == 0 ? bits[k] >= 0 : bits[k] != layout.high)
        return false;
      bits[k] = int8_t(layout.low);
    }
  }
  return true;
}

/// Returns whether libjpeg has nothing to smooth.
bool StoredScans::isComplete() const {
  constexpr size_t looked = 10; // libjpeg's SAVED_COEFS
  for (size_t c = 0; c < theFrame.componentCount; ++c)
    if (std::any_of(known[c].begin(), known[c].begin() + looked,
                    [](int8_t bit) { return bit != 0; }))
      return false;
  return true;
}

bool StoredScans::readScan(EntropyScan &scan) {
  return layout.progressive && layout.first > 0 ? readBand(scan) : readMcus(scan);
}

bool StoredScans::readBand(EntropyScan &scan) {
  const uint32_t width = layout.mcusPerRow();
  for (uint32_t y = 0; y < layout.mcuRows(); ++y) {
    const CoefficientStore::Row row = store.row(layout.components[0].index, y);
    const uint32_t begin = std::min(row.begin, width), end = std::min(row.end, width);
    if (!scan.decodeBand({store.ignored(), 0, row.nonzero}, begin) ||
        !scan.decodeBand({row.coefficients, 64, row.nonzero + begin}, end - begin) ||
        !scan.decodeBand({store.ignored(), 0, row.nonzero + end}, width - end))
      return false;
  }
  return true;
}

bool StoredScans::readMcus(EntropyScan &scan) {
  for (uint32_t row = 0; row < layout.mcuRows(); ++row)
    if (!readMcuRow(scan, row))
      return false;
  return scan.seek(layout.mcuCount());
}

/// MCUs that are not wanted are passed over, where that needs no blocks.
bool StoredScans::readMcuRow(EntropyScan &scan, uint32_t row) {
  const uint32_t width = layout.mcusPerRow();
  std::array<int16_t *, maxBlocksPerMcu> blocks{}, none{};
  std::array<size_t, maxBlocksPerMcu> pitch{};
  uint32_t begin = width, end = width;
  size_t count = 0;
  for (size_t i = 0; i < layout.componentCount; ++i) {
    const ScanLayout::Component &component = layout.components[i];
    const uint32_t across = layout.interleaved() ? component.horizontal : 1;
    const uint32_t down = layout.interleaved() ? component.vertical : 1;
    for (uint32_t y = 0; y < down; ++y) {
      const CoefficientStore::Row held = store.row(component.index, row * down + y);
      const bool isHeld = held.begin < held.end;
      if (isHeld) {
        begin = std::min(held.begin / across, width);
        end = std::min(held.end / across, width);
      }
      for (uint32_t x = 0; x < across; ++x, ++count) {
        none[count] = store.ignored();
        blocks[count] = isHeld ? held.coefficients + size_t(x) * 64 : none[count];
        pitch[count] = size_t(across) * 64;
      }
    }
  }
  const uint64_t first = uint64_t(row) * width;
  const auto passTo = [&](uint32_t column) {
    if (!layout.progressive)
      return scan.seek(first + column);
    while (scan.nextMcu() < first + column)
      if (!scan.decodeDcMcu(none.data()))
        return false;
    return true;
  };
  if (!passTo(begin))
    return false;
  for (uint32_t column = begin; column < end; ++column) {
    if (!(layout.progressive ? scan.decodeDcMcu(blocks.data()) : scan.decodeMcu(blocks.data())))
      return false;
    for (size_t i = 0; i < count; ++i)
      blocks[i] += pitch[i];
  }
  return passTo(width);
}

} // namespace penstock::runtime
