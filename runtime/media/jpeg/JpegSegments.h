// SPDX-License-Identifier: Apache-2.0
//
// The segments of a JPEG file, read as libjpeg reads them.
#pragma once

#include "runtime/media/jpeg/HuffmanTables.h"
#include "runtime/media/jpeg/JpegHeader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

struct JpegFrame {
  struct Component {
    uint8_t id = 0;
    uint8_t horizontal = 1, vertical = 1; // sampling factors
    uint8_t quantisation = 0;             // number of its table
  };
  bool progressive = false;
  uint32_t width = 0, height = 0;
  uint8_t componentCount = 0;
  std::array<Component, 4> components;
  uint8_t maxHorizontal = 1, maxVertical = 1;
};

/// The header of a scan, as it stands in the file.
struct JpegScanHeader {
  struct Component {
    uint8_t index = 0;              ///< in the frame
    uint8_t dcCode = 0, acCode = 0; ///< numbers of tables, which may be none
  };
  uint8_t componentCount = 0;
  std::array<Component, 4> components; ///< in the frame's order
  uint8_t first = 0, last = 63;        ///< of the coefficients
  uint8_t high = 0, low = 0;           ///< successive approximation
  size_t dataOffset = 0;               ///< of the entropy-coded data in the file
};

using QuantisationTable = std::array<uint16_t, 64>; ///< in zigzag order

/// Reads scan header by scan header, and knows the tables that hold there. As in
/// libjpeg, bytes between segments, fill bytes and markers without contents are
/// passed over, and tables may be written anew at any time. Whatever libjpeg
/// refuses or takes in its own way (DNL, DAC, a second frame) is odd.
class JpegSegments {
public:
  enum class Next { Scan, End, Odd };

  /// Begins a file that probeJpeg() took. Keeps its memory from file to file.
  void begin(std::span<const uint8_t> file);
  /// Reads on to the next scan header, or the end of the image.
  Next next();
  /// Sets the offset at which next() goes on: behind the data of a scan.
  void goOnAt(size_t offset) { at = offset; }

  const JpegFrame &frame() const { return theFrame; }
  const JpegScanHeader &scan() const { return theScan; }
  /// Returns a Huffman code; null if the file has none.
  const HuffmanCode *dcCode(size_t number) const;
  const HuffmanCode *acCode(size_t number) const;
  const QuantisationTable *quantisation(size_t number) const;
  uint32_t restartInterval() const { return interval; } ///< in MCUs; 0: none

  /// Returns the segments before the first scan that decide on colours (JFIF's and Adobe's), whole.
  std::span<const std::span<const uint8_t>> colourSegments() const { return colours; }

private:
  using Bytes = std::span<const uint8_t>;
  template <class Table> struct Slot {
    Table table;
    bool filled = false;
  };

  bool nextMarker(uint8_t &marker);
  bool take(uint8_t marker, Bytes segment);
  bool takeFrame(Bytes body, bool progressive);
  bool takeCodes(Bytes body);
  bool takeQuantisation(Bytes body);
  bool takeScan(Bytes body);
  void fillStandardCodes();

  Bytes file;
  size_t at = 0;
  bool scanSeen = false;
  JpegFrame theFrame;
  JpegScanHeader theScan;
  std::array<Slot<HuffmanCode>, 4> dcCodes, acCodes;
  std::array<Slot<QuantisationTable>, 4> quantisations;
  uint32_t interval = 0;
  std::vector<Bytes> colours;
};

} // namespace penstock::runtime
