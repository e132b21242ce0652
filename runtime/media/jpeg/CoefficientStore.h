// SPDX-License-Identifier: Apache-2.0
//
// Coefficients of an image that comes in several scans.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/media/jpeg/McuSource.h"
#include "runtime/media/jpeg/ScanLayout.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::runtime {

/// Holds the coefficients of a crop, and of the whole image which ones are not
/// zero: without that, refinements cannot be passed over either. Begins as zeros.
class CoefficientStore final : public McuSource {
public:
  /// Takes memory for a frame with at most `maxBlocksPerMcu` blocks per MCU. False if there is
  /// none.
  bool begin(const ScanLayout &frame, const McuCrop &crop, const EntropyKernels &kernels);
  /// Returns the bytes that begin() takes if the crop is the whole image.
  static uint64_t bytesOf(const ScanLayout &frame);

  /// Blocks of a component in a row of the image's blocks.
  struct Row {
    uint32_t begin = 0, end = 0;     ///< columns of those that are held
    int16_t *coefficients = nullptr; ///< of the first one held
    uint64_t *nonzero = nullptr;     ///< of the row's first block
  };
  Row row(size_t component, uint32_t number);
  /// For coefficients that nobody wants.
  int16_t *ignored() { return spare.data(); }

  uint32_t blocksPerMcu() const override { return blockCount; }
  bool seek(uint64_t mcu) override;
  bool decodeMcu(int16_t *const *blocks) override;

  uint64_t heldBytes() const { return coefficients.capacity() + nonzero.capacity(); }
  /// Frees memory beyond the need of most images.
  void trim();

private:
  struct Plane {
    uint32_t horizontal = 1, vertical = 1;             // blocks in an MCU
    uint32_t columns = 0;                              // of the image, in whole MCUs
    uint32_t left = 0, top = 0, width = 0, height = 0; // of the crop
    size_t first = 0, firstMask = 0;                   // in the buffers
  };
  void layOut(const ScanLayout &frame, const McuCrop &crop);
  int16_t *block(const Plane &plane, uint32_t column, uint32_t row);

  const EntropyKernels *kernels = nullptr;
  bool zigzag = false;
  std::array<Plane, 4> planes;
  uint8_t planeCount = 0;
  uint32_t blockCount = 0, mcusPerRow = 0;
  uint32_t mcuColumn = 0, mcuRow = 0; // the next one
  size_t blocks = 0, masks = 0;
  Buffer coefficients, nonzero;
  alignas(64) std::array<int16_t, 64> spare{};
};

} // namespace penstock::runtime
