// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/TurboSeam.h"

#include <algorithm>

#define JPEG_INTERNALS
#include <jerror.h>
#include <jpegint.h>

namespace penstock::runtime {

// All fields used here have the same names and offsets in 2.1 and all of 3, so that a
// program made with one may load the other. (jpeg_decomp_master has not: its columns
// are computed here, as jpeg_crop_scanline does.) A decoder also decodes a small
// image before it trusts this (entropyFits).
static_assert(LIBJPEG_TURBO_VERSION_NUMBER >= 2001000 && LIBJPEG_TURBO_VERSION_NUMBER < 4000000,
              "look at this libjpeg-turbo's jpegint.h first");
static_assert(sizeof(JCOEF) == sizeof(int16_t) && DCTSIZE2 == 64 &&
              D_MAX_BLOCKS_IN_MCU == maxBlocksPerMcu);

TurboSeam &TurboSeam::of(j_decompress_ptr info) {
  return *static_cast<TurboSeam *>(static_cast<JpegMemory *>(info->client_data));
}

bool TurboSeam::hasSeveralScans(const jpeg_decompress_struct &info) {
  return info.inputctl->has_multiple_scans;
}

void TurboSeam::countBlocks(jpeg_decompress_struct &info, uint64_t &blocks) {
  blockCount = &blocks;
  cropTo(0, info.output_width);
  decompressData = info.coef->decompress_data;
  info.coef->decompress_data = [](j_decompress_ptr info, JSAMPIMAGE out) {
    TurboSeam &self = of(info);
    self.addBlocks(*info);
    return self.decompressData(info, out);
  };
}

void TurboSeam::addBlocks(const jpeg_decompress_struct &info) {
  const bool lastRow = info.output_iMCU_row + 1 == info.total_iMCU_rows;
  const bool onePass = !info.inputctl->has_multiple_scans;
  for (int c = 0; c < info.num_components; ++c) {
    const jpeg_component_info &component = info.comp_info[c];
    if (!component.component_needed)
      continue;
    // In whole MCUs, or in blocks where all coefficients are there.
    const auto inMcu = JDIMENSION(info.num_components == 1 ? 1 : component.h_samp_factor);
    const auto perRow =
        JDIMENSION(DCTSIZE * (info.num_components == 1 ? 1 : info.max_h_samp_factor));
    const JDIMENSION each = onePass ? 1 : inMcu;
    JDIMENSION begin = cropBegin * each / perRow, end = (cropEnd * each + perRow - 1) / perRow;
    if (onePass) {
      begin *= inMcu;
      end = std::min(end * inMcu, component.width_in_blocks);
    }
    auto rows = JDIMENSION(component.v_samp_factor);
    if (lastRow && component.height_in_blocks % rows)
      rows = component.height_in_blocks % rows;
    *blockCount += uint64_t(end - begin) * rows;
  }
}

bool TurboSeam::feed(jpeg_decompress_struct &info, McuSource &source, const ScanLayout &layout,
                     const McuCrop &crop) {
  columns = (crop.width + layout.mcuWidth() - 1) / layout.mcuWidth();
  const uint32_t rows = (crop.height + layout.mcuHeight() - 1) / layout.mcuHeight();
  if (info.inputctl->has_multiple_scans || info.MCUs_per_row != columns ||
      info.MCU_rows_in_scan != rows || uint32_t(info.blocks_in_MCU) != source.blocksPerMcu())
    return false;
  mcus = &source;
  column = 0;
  rowPitch = layout.mcusPerRow();
  rowStart = uint64_t(crop.firstRow) * rowPitch + crop.firstColumn;
  info.entropy->decode_mcu = [](j_decompress_ptr info, JBLOCKROW *blocks) -> boolean {
    TurboSeam &self = of(info);
    if (!self.nextMcu(blocks))
      ERREXIT(info, JERR_BAD_STATE);
    return TRUE;
  };
  return true;
}

bool TurboSeam::nextMcu(JBLOCKROW *blocks) {
  if (column == 0) {
    if (!mcus->seek(rowStart))
      return false;
    rowStart += rowPitch;
  }
  column = column + 1 == columns ? 0 : column + 1;
  int16_t *coefficients[maxBlocksPerMcu];
  for (uint32_t i = 0; i < mcus->blocksPerMcu(); ++i)
    coefficients[i] = *blocks[i];
  return mcus->decodeMcu(coefficients);
}

uint64_t TurboSeam::discardTo(jpeg_decompress_struct &info, uint32_t row, uint8_t *ignored) {
  const auto convert = info.cconvert->color_convert;
  info.cconvert->color_convert = [](j_decompress_ptr, JSAMPIMAGE, JDIMENSION, JSAMPARRAY, int) {};
  const JDIMENSION before = info.output_scanline;
  JSAMPROW rows[4] = {ignored, ignored, ignored, ignored};
  while (info.output_scanline < row)
    if (jpeg_read_scanlines(&info, rows, std::min<JDIMENSION>(4, row - info.output_scanline)) == 0)
      ERREXIT(&info, JERR_BAD_STATE); // cannot happen; an endless loop must not
  info.cconvert->color_convert = convert;
  return info.output_scanline - before;
}

} // namespace penstock::runtime
