// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/EntropyIndex.h"

#include <string>
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h> // twice as fast where there is AVX2
#else
#include <xxhash.h>
#endif

namespace penstock::runtime {

EntropyIndexes::~EntropyIndexes() = default;

uint64_t entropyIndexChecksum(std::span<const uint8_t> file) {
  return XXH3_64bits(file.data(), file.size());
}

bool EntropyIndex::fits(std::span<const uint8_t> file) const {
  return step > 0 && fileSize == file.size() &&
         points.size() == uint64_t(pointsPerRow()) * mcuRows &&
         checksum == entropyIndexChecksum(file);
}

Result<EntropyIndex> EntropyIndexer::build(std::span<const uint8_t> file,
                                           const ImageLimits &limits) {
  const Result<JpegInfo> info = probeJpeg(file, limits);
  if (!info)
    return info.error();
  EntropyIndex index;
  if (const EntropyPath path = build(file, *info, index); path != EntropyPath::Own)
    return Error{Code::Unsupported, std::string("no checkpoints for this JPEG: ") + nameOf(path)};
  return index;
}

EntropyPath EntropyIndexer::build(std::span<const uint8_t> file, const JpegInfo &info,
                                  EntropyIndex &index) {
  if (!hasEndOfImage(file, info))
    return EntropyPath::NoEnd;
  if (const EntropyPath path = readScanLayout(file, info, segments, layout);
      path != EntropyPath::Own)
    return path;
  index.fileSize = file.size();
  index.checksum = entropyIndexChecksum(file);
  index.mcusPerRow = layout.mcusPerRow();
  index.mcuRows = layout.mcuRows();
  index.step = index.mcusPerRow > longRow ? pointStep : index.mcusPerRow;
  index.points.clear();
  index.points.reserve(size_t(index.pointsPerRow()) * index.mcuRows);
  scan.begin(file, layout, tables, *entropyKernels().front(), {});
  for (uint32_t row = 0; row < index.mcuRows; ++row)
    for (uint32_t column = 0; column < index.mcusPerRow; column += index.step) {
      index.points.emplace_back();
      EntropyIndex::Point &point = index.points.back();
      if (!scan.seek(uint64_t(row) * index.mcusPerRow + column) ||
          !scan.position(point.bit, point.predictions))
        return EntropyPath::OddData;
    }
  if (!scan.seek(layout.mcuCount()) || !scan.complete())
    return EntropyPath::OddData;
  return EntropyPath::Own;
}

} // namespace penstock::runtime
