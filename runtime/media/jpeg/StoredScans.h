// SPDX-License-Identifier: Apache-2.0
//
// Files of several scans: progressive ones, and those with components in scans of
// their own.
#pragma once

#include "runtime/media/jpeg/CoefficientStore.h"
#include "runtime/media/jpeg/EntropyScan.h"
#include "runtime/media/jpeg/JpegSegments.h"

#include <array>
#include <cstdint>
#include <span>

namespace penstock::runtime {

/// Reads all scans of a file to their ends, whatever is wanted: damage in any of
/// them is seen. One object serves one thread and keeps its memory.
class StoredScans {
public:
  /// Reads the coefficients that `region` needs of a file that probeJpeg() took and that has an
  /// end-of-image marker. If the result is not Own, the file is libjpeg's. All arguments must
  /// outlive the use of source().
  EntropyPath read(std::span<const uint8_t> file, const Region &region, const ImageLimits &limits,
                   JpegSegments &segments, HuffmanCache &tables, const EntropyKernels &kernels,
                   EntropyScan &scan);

  const ScanLayout &frame() const { return theFrame; }
  const McuCrop &crop() const { return theCrop; }
  const QuantisationTables &quantisation() const { return quantisations; }
  McuSource &source() { return store; }

  uint64_t heldBytes() const { return store.heldBytes(); }
  void trim() { store.trim(); }

private:
  bool startScan(const JpegSegments &segments);
  bool takeProgression();
  bool readScan(EntropyScan &scan);
  bool readMcus(EntropyScan &scan);
  bool readMcuRow(EntropyScan &scan, uint32_t row);
  bool readBand(EntropyScan &scan);
  bool isComplete() const;

  ScanLayout theFrame, layout; // the frame, and the present scan
  McuCrop theCrop;
  QuantisationTables quantisations;
  /// libjpeg's coef_bits: the lowest bit known of each coefficient; -1: none is.
  std::array<std::array<int8_t, 64>, 4> known;
  CoefficientStore store;
};

} // namespace penstock::runtime
