// SPDX-License-Identifier: Apache-2.0
//
// Features of a machine's lanes.
#pragma once

#include <cstdint>

namespace penstock::lane {

/// Features of a machine that code may use. No feature includes another: whoever emits
/// asks for what it uses, and for nothing else.
struct Features {
  int64_t registerBytes = 16; ///< of the widest register
  int64_t registers = 16;     ///< how many of them

  bool fusedMultiplyAdd = false; ///< x * y + z, rounded once
  bool convertsHalves = false;   ///< between f32 and f16
  bool storesHalves = false;     ///< the conversion to f16 stores what it gives
  bool signMask = false;         ///< `sign_mask`; conditions are lanes of ones and zeros
  bool numbers = false;   ///< `min_number`, `max_number`, `replace_nan`, of whole registers of f32
  bool convertUp = false; ///< `convert_up`, likewise
  bool permuteInts = false;  ///< `permute_two` of i32, likewise
  bool permuteBytes = false; ///< `permute` and `permute_two` of bytes, likewise
  bool dotQuads = false;     ///< `dot_quads`, likewise; loads of some bytes of a register
  /// Bytes of the smallest elements that are taken one by one out of two registers; 0: none.
  int64_t leastSelected = 0;

  /// Elements of so many bytes in a register.
  int64_t lanesOf(int64_t bytes) const { return registerBytes / bytes; }
  /// Rows of a square that is transposed in registers. Smaller elements have a piece of a register:
  /// as many rows as that have elements.
  int64_t rowsOfSquare(int64_t bytes) const { return (bytes < 4 ? 16 : registerBytes) / bytes; }
  /// A table of 256 bytes is two pairs of registers, each of which one permutation takes bytes of.
  bool hasByteTables() const { return permuteBytes && registerBytes == 64; }
  bool selects(int64_t bytes) const {
    return leastSelected && bytes >= leastSelected && bytes <= 4;
  }
};

/// Those of a level, by its number (runtime/abi/level.h).
Features featuresOf(int64_t level);

} // namespace penstock::lane
