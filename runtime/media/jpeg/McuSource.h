// SPDX-License-Identifier: Apache-2.0
//
// The source of the coefficients that libjpeg gets.
#pragma once

#include <cstdint>

namespace penstock::runtime {

/// The MCUs of an image, as if they came from one scan of all components.
class McuSource {
public:
  virtual ~McuSource() = default;

  virtual uint32_t blocksPerMcu() const = 0;
  /// Passes over MCUs until `mcu` is the next one; not backwards.
  virtual bool seek(uint64_t mcu) = 0;
  /// The next MCU, to zeroed blocks of 64 coefficients in natural order.
  virtual bool decodeMcu(int16_t *const *blocks) = 0;
};

} // namespace penstock::runtime
