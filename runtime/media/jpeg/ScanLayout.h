// SPDX-License-Identifier: Apache-2.0
//
// Layout of a scan, for our entropy decoder, and the crop of the image that libjpeg sees.
#pragma once

#include "runtime/media/Image.h"
#include "runtime/media/jpeg/EntropyKernels.h"
#include "runtime/media/jpeg/JpegHeader.h"
#include "runtime/media/jpeg/JpegSegments.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

/// A scan of a file, or its frame as if it were one scan. Sizes are those of the
/// component where a scan has only one.
struct ScanLayout {
  struct Component {
    uint8_t index = 0;                    // in the frame
    uint8_t horizontal = 1, vertical = 1; // sampling factors
    uint8_t dcCode = 0, acCode = 0;       // 0 ... 3
  };
  uint32_t width = 0, height = 0;
  uint8_t componentCount = 0;
  std::array<Component, 4> components;
  uint8_t maxHorizontal = 1, maxVertical = 1;
  std::array<HuffmanCode, 4> dcCodes, acCodes;
  uint32_t restartInterval = 0; // in MCUs; 0: no restart markers
  size_t scanOffset = 0;        // of the entropy-coded data in the file
  bool progressive = false;
  uint8_t first = 0, last = 63; // coefficients, of a progressive scan
  uint8_t high = 0, low = 0;    // its successive approximation

  /// Returns whether MCUs have blocks of several components; else an MCU is one block, whatever the
  /// component's factors.
  bool interleaved() const { return componentCount > 1; }
  uint32_t mcuWidth() const { return 8u * (interleaved() ? maxHorizontal : 1); }
  uint32_t mcuHeight() const { return 8u * (interleaved() ? maxVertical : 1); }
  uint32_t mcusPerRow() const { return (width + mcuWidth() - 1) / mcuWidth(); }
  uint32_t mcuRows() const { return (height + mcuHeight() - 1) / mcuHeight(); }
  uint64_t mcuCount() const { return uint64_t(mcusPerRow()) * mcuRows(); }
};

/// A part of an image that begins with whole MCUs, and looks like an image of
/// its own to libjpeg.
struct McuCrop {
  uint32_t firstColumn = 0, firstRow = 0; // in MCUs
  uint32_t width = 0, height = 0;         // in pixels
  uint32_t left = 0, top = 0;             // of the region in it, in pixels
};

/// All components of a frame, without codes.
ScanLayout layoutOf(const JpegFrame &frame);
/// The scan that `segments` stands at. False where codes are missing or bad, or
/// its MCUs have too many blocks.
bool readScan(const JpegSegments &segments, ScanLayout &layout);
/// Reads the headers of a file that probeJpeg() took, up to the first scan. Own
/// where this is a sequential one of all components that the own decoder takes,
/// and otherwise why it is not.
EntropyPath readScanLayout(std::span<const uint8_t> bytes, const JpegInfo &info,
                           JpegSegments &segments, ScanLayout &layout);

/// By component.
using QuantisationTables = std::array<QuantisationTable, 4>;
/// Keeps the table that `component` has now. False where there is none.
bool keepQuantisation(const JpegSegments &segments, size_t component, QuantisationTables &tables);

/// Fancy upsampling is not done in images of one or two samples of a component: a part
/// that is at least this wide has more, or all.
uint32_t leastWidth(uint32_t width, uint32_t maxHorizontal);

/// The smallest part whose pixels inside `region` are those of the whole image,
/// and which has all rows of MCUs that libjpeg reads for the region.
McuCrop cropFor(const ScanLayout &layout, const Region &region);

/// The header of a sequential file of one scan that has the frame's components
/// and colours, and another size; ends where the entropy-coded data would begin. Its
/// Huffman codes are senseless.
void writeHeader(const JpegSegments &segments, const QuantisationTables &tables, uint32_t width,
                 uint32_t height, std::vector<uint8_t> &header);

} // namespace penstock::runtime
