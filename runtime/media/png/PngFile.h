// SPDX-License-Identifier: Apache-2.0
//
// The structure of a PNG file: its headers and chunks, without decoding pixels.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/Pixels.h"

#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

namespace penstock::runtime {

struct PngInfo {
  uint32_t width = 0;
  uint32_t height = 0;
  uint8_t depth = 8;  ///< bits per channel: 1, 2, 4, 8 or 16
  uint8_t colour = 0; ///< PNG's colour type: 0, 2, 3, 4 or 6
  bool interlaced = false;
  uint8_t orientation = 1; ///< of a chunk eXIf, else of XMP in a text
};

/// Reads the header, and looks for the orientation in the chunks that are whole. Never
/// reads outside `bytes`.
Result<PngInfo> probePng(std::span<const uint8_t> bytes, const ImageLimits &limits = {});

/// The chunks that pixels depend on.
struct PngParts {
  /// A file of the header and the image data alone, for the decoder. A colour of
  /// it is an index into `palette`, where the header says so.
  std::vector<std::span<const uint8_t>> stream;
  size_t firstData = 0; ///< in `stream`: from here on checksums of chunks are no longer right
  std::deque<std::array<uint8_t, 8>> heads; ///< of chunks in `stream`
  Palette palette;
  bool hasEnd = false; ///< the file goes on up to its IEND chunk
};

/// Walks all chunks up to IEND, or to where the file ends, and compares their
/// checksums. `bytes` must have passed probePng(), and outlive the result.
///
/// Errors: Corrupt for a wrong checksum or order of chunks; Unsupported for
/// critical chunks that are not PNG's own. A file that just ends is no error.
Result<PngParts> readPngParts(std::span<const uint8_t> bytes, const PngInfo &info);

} // namespace penstock::runtime
