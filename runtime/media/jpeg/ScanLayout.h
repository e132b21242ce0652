// The headers of a sequential JPEG file, as the own entropy decoder needs them.
#pragma once

#include "runtime/media/Image.h"
#include "runtime/media/jpeg/EntropyKernels.h"
#include "runtime/media/jpeg/JpegHeader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

struct ScanLayout {
  struct Component {
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

  /// A scan of one component has MCUs of one block, whatever its factors.
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

/// Reads the headers of a file that probeJpeg() took. Returns Own when the own
/// decoder takes the file, and otherwise why it does not.
EntropyPath readScanLayout(std::span<const uint8_t> bytes, const JpegInfo &info,
                           ScanLayout &layout);

/// The smallest part whose pixels inside `region` are those of the whole image,
/// and which has all rows of MCUs that libjpeg reads for the region.
McuCrop cropFor(const ScanLayout &layout, const Region &region);

/// The segments of a file that matter to decoding, with another size written
/// in the frame header; ends where the entropy-coded data begin.
void writeHeader(std::span<const uint8_t> bytes, const ScanLayout &layout, uint32_t width,
                 uint32_t height, std::vector<uint8_t> &header);

} // namespace penstock::runtime
