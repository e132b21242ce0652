// SPDX-License-Identifier: Apache-2.0
//
// All that reaches inside libjpeg-turbo; everything else uses its public API.
#pragma once

#include "runtime/media/jpeg/JpegMemory.h"
#include "runtime/media/jpeg/McuSource.h"
#include "runtime/media/jpeg/ScanLayout.h"

namespace penstock::runtime {

/// To be installed (see JpegMemory) in the decompressor that it works on.
class TurboSeam : public JpegMemory {
public:
  /// After jpeg_read_header().
  static bool hasSeveralScans(const jpeg_decompress_struct &info);

  /// After jpeg_start_decompress(): adds to `blocks` the blocks that go through the
  /// inverse DCT.
  void countBlocks(jpeg_decompress_struct &info, uint64_t &blocks);
  /// After jpeg_crop_scanline(), for countBlocks(): the columns that it gave.
  void cropTo(JDIMENSION begin, JDIMENSION end) { cropBegin = begin, cropEnd = end; }

  /// After jpeg_start_decompress() with a header of the size of `crop`: all
  /// coefficients come from `source`. When that fails, the decompressor's error_exit
  /// is called. False, and nothing is changed, where libjpeg divides the image in
  /// another way.
  bool feed(jpeg_decompress_struct &info, McuSource &source, const ScanLayout &layout,
            const McuCrop &crop);

  /// Reads on to `row`, without converting colours; `ignored` has room for a
  /// row. The number of rows read.
  static uint64_t discardTo(jpeg_decompress_struct &info, uint32_t row, uint8_t *ignored);

private:
  static TurboSeam &of(j_decompress_ptr info);
  bool nextMcu(JBLOCKROW *blocks);
  void addBlocks(const jpeg_decompress_struct &info);

  int (*decompressData)(j_decompress_ptr, JSAMPIMAGE) = nullptr;
  uint64_t *blockCount = nullptr;
  JDIMENSION cropBegin = 0, cropEnd = 0;

  McuSource *mcus = nullptr;
  uint64_t rowStart = 0; // MCU in the file that begins the next row of the crop
  uint32_t rowPitch = 0; // MCUs from row to row
  JDIMENSION column = 0, columns = 0;
};

} // namespace penstock::runtime
