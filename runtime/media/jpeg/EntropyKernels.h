// SPDX-License-Identifier: Apache-2.0
//
// The inner loops of entropy decoding, one set for each level of instructions.
#pragma once

#include "runtime/media/jpeg/HuffmanTables.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::runtime {

constexpr int maxBlocksPerMcu = 10;
/// No MCU is longer: 31 bits for each of 64 coefficients.
constexpr size_t maxMcuBytes = maxBlocksPerMcu * 64 * 31 / 8;
/// Room that must be readable behind the data of a reader, and writable behind
/// the output of unstuffing.
constexpr size_t readerSlack = 64;

/// Bits of unstuffed data: the topmost `count` of `bits` (and perhaps some more)
/// come before what lies at `next`.
struct BitReader {
  const uint8_t *next = nullptr;
  uint64_t bits = 0;
  uint64_t count = 0;
};

/// The coding of an MCU's blocks, and the position of its decoder.
struct McuState {
  struct Block {
    const DcTable *dc;
    const AcTable *ac;
    uint8_t component;
    bool wanted; // else its coefficients are counted only
  };
  std::array<Block, maxBlocksPerMcu> blocks{};
  uint32_t blockCount = 0;
  std::array<int32_t, 4> predictions{};
  BitReader in;

  // State of a progressive scan.
  const BandTable *band = nullptr;
  uint8_t first = 0, last = 0, low = 0; // coefficients, and the bit that is read
  uint32_t endRun = 0;                  // blocks whose band has nothing new
};

/// Blocks side by side, of which a progressive scan reads a band. Coefficients
/// are in zigzag order.
struct BandBlocks {
  int16_t *coefficients;
  size_t pitch;      ///< from block to block; 0 where they are not wanted
  uint64_t *nonzero; ///< coefficients of each block, by bit
};

struct EntropyKernels {
  const char *name;

  struct Unstuffed {
    const uint8_t *in; ///< the next byte: the end, or the first one of a marker
    uint8_t *out;      ///< behind the bytes written
    bool ended;        ///< at a marker, or at the end of the data
  };
  /// Copies [in, end) to [out, outEnd), without the zeros that follow 0xFF,
  /// until a marker or until one of them is at its end. May write
  /// `readerSlack` bytes behind what it reports.
  Unstuffed (*unstuff)(const uint8_t *in, const uint8_t *end, uint8_t *out, uint8_t *outEnd);

  /// The first marker (0xFF and anything but 0) in [in, end), or `end`.
  const uint8_t *(*findMarker)(const uint8_t *in, const uint8_t *end);

  /// Decodes an MCU to zeroed blocks of 64. False where libjpeg's result is not
  /// a matter of course; the state is of no use then. Reads at most
  /// `maxMcuBytes + readerSlack` from `in.next` on.
  bool (*decodeMcu)(McuState &state, int16_t *const *blocks);

  /// Passes over up to `count` MCUs, while `in.next` is not beyond `limit` at
  /// their beginning, and adds their DC differences. The number passed, or -1
  /// where decodeMcu() would return false.
  int64_t (*countMcus)(McuState &state, uint32_t count, const uint8_t *limit);

  /// An MCU of the first scan of DC coefficients, and of one that refines them.
  bool (*decodeDc)(McuState &state, int16_t *const *blocks);
  bool (*refineDc)(McuState &state, int16_t *const *blocks);
  /// Up to `count` blocks of the first scan of a band of AC coefficients, and of one
  /// that refines them; else as countMcus().
  int64_t (*decodeBand)(McuState &state, BandBlocks blocks, uint32_t count, const uint8_t *limit);
  int64_t (*refineBand)(McuState &state, BandBlocks blocks, uint32_t count, const uint8_t *limit);

  /// A block in zigzag order, to one in natural order.
  void (*unzigzag)(const int16_t *in, int16_t *out);
};

/// Lists the kernels that this CPU runs, the best first; the last one is plain C++.
std::span<const EntropyKernels *const> entropyKernels();

} // namespace penstock::runtime
