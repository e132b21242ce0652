// SPDX-License-Identifier: Apache-2.0
//
// Places in a JPEG file where entropy decoding can begin.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/jpeg/EntropyScan.h"
#include "runtime/media/jpeg/JpegHeader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

/// Checkpoints of one file: at the start of every row of MCUs, and where rows
/// are long, inside them. With it, JpegDecoder reads the region's data only. A
/// file that has one is regular to its end. Plain data, to be stored as it is.
struct EntropyIndex {
  struct Point {
    uint64_t bit = 0; ///< of the file, counted from its first byte's topmost bit
    std::array<int16_t, 4> predictions{}; ///< DC, by component
    bool operator==(const Point &) const = default;
  };
  uint64_t fileSize = 0;
  uint64_t checksum = 0;   ///< entropyIndexChecksum() of the whole file
  uint32_t mcusPerRow = 0; ///< MCUs as ScanLayout counts them
  uint32_t mcuRows = 0;
  uint32_t step = 0;         ///< MCUs from point to point in a row
  std::vector<Point> points; ///< row by row

  uint32_t pointsPerRow() const { return step ? (mcusPerRow + step - 1) / step : 0; }
  /// Returns whether it was made of this file, all of which is read.
  bool fits(std::span<const uint8_t> file) const;
  bool operator==(const EntropyIndex &) const = default;
};

/// Returns a checksum, at some 40 GB/s: half a per cent of the time of decoding the file.
uint64_t entropyIndexChecksum(std::span<const uint8_t> file);

/// Indexes of many files, found by the files' bytes.
class EntropyIndexes {
public:
  virtual ~EntropyIndexes();
  /// Stores the index of a file with these very bytes; false where there is
  /// none. Any thread. A wrong one gives wrong pixels, and nothing worse.
  virtual bool find(std::span<const uint8_t> file, EntropyIndex &index) = 0;
};

/// Makes indexes, by passing over all MCUs: a quarter of a full decode's time.
/// One object serves one thread and keeps its memory.
class EntropyIndexer {
public:
  /// Rows of more MCUs than this get a point every `pointStep` MCUs.
  static constexpr uint32_t longRow = 64, pointStep = 16;

  /// Makes the index of a file. Errors: those of probeJpeg(); Unsupported for files that are
  /// libjpeg's (the message names the EntropyPath): they are decoded without an index.
  Result<EntropyIndex> build(std::span<const uint8_t> file, const ImageLimits &limits = {});
  /// As above, for a file that probeJpeg() took, into an index whose memory is used again. Returns
  /// Own, or the reason that the file is libjpeg's; then `index` is undefined.
  EntropyPath build(std::span<const uint8_t> file, const JpegInfo &info, EntropyIndex &index);

private:
  HuffmanCache tables;
  EntropyScan scan;
  JpegSegments segments;
  ScanLayout layout;
};

} // namespace penstock::runtime
