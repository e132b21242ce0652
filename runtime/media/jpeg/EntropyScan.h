// SPDX-License-Identifier: Apache-2.0
//
// The entropy-coded data of one scan, MCU by MCU.
#pragma once

#include "runtime/media/jpeg/EntropyKernels.h"
#include "runtime/media/jpeg/McuSource.h"
#include "runtime/media/jpeg/ScanLayout.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::runtime {

struct EntropyIndex;

/// Decodes some MCUs and passes over the others. Whenever something returns
/// false, the data are not what libjpeg takes without a word: decode the file
/// with libjpeg, from its start.
///
/// Never reads outside the file. One object serves one thread and keeps its
/// memory.
class EntropyScan final : public McuSource {
public:
  struct Options {
    /// Components whose coefficients are wanted.
    std::array<bool, 4> components{true, true, true, true};
    /// Pass over MCUs by their restart markers, without decoding them.
    bool skipSegments = false;
    /// Checkpoints of this very file, to pass over MCUs with; or null. Hostile
    /// ones give wrong coefficients, and nothing worse.
    const EntropyIndex *index = nullptr;
  };

  /// Begins a scan, before its first MCU. All arguments must outlive the decoding.
  void begin(std::span<const uint8_t> file, const ScanLayout &layout, HuffmanCache &tables,
             const EntropyKernels &kernels, Options options);

  /// Passes over MCUs until `mcu` is the next one; not backwards.
  bool seek(uint64_t mcu) override;
  bool decodeMcu(int16_t *const *blocks) override;
  /// Returns whether all that was decoded or passed over was there.
  bool complete() const;

  /// The next MCU of a progressive scan of DC coefficients; only these are touched.
  bool decodeDcMcu(int16_t *const *blocks);
  /// The next `count` blocks of a progressive scan of AC coefficients.
  bool decodeBand(BandBlocks blocks, uint32_t count);
  /// After the last MCU: where in the file a marker follows, or the end.
  size_t endOfData() const;

  /// Returns the position of the next MCU's data: a bit of the file, and the predictions there.
  bool position(uint64_t &bit, std::array<int16_t, 4> &predictions);

  bool indexed() const { return options.index != nullptr; }
  uint64_t nextMcu() const { return at; }
  uint32_t blocksPerMcu() const override { return state.blockCount; }
  size_t heldBytes() const { return window.capacity(); }

private:
  bool ready();
  bool refillWindow();
  void fill(uint8_t *from, size_t most);
  bool atSegmentEnd() const;
  bool passRestartMarker();
  bool skipSegmentsTo(uint64_t mcu);
  void beginSegment();
  void skipToPoint(uint64_t mcu);

  std::span<const uint8_t> file;
  const ScanLayout *layout = nullptr;
  const EntropyKernels *kernels = nullptr;
  Options options;

  McuState state;
  uint64_t at = 0;          // the next MCU
  uint64_t nextRestart = 0; // the MCU before which a restart marker stands
  uint32_t markers = 0;     // restart markers passed

  // Unstuffed data of the present segment, from somewhere before state.in on.
  std::vector<uint8_t> window;
  const uint8_t *source = nullptr; // in the file: the first byte after the window
  const uint8_t *dataEnd = nullptr;
  const uint8_t *limit = nullptr; // up to here an MCU may begin without a check
  bool ended = false;             // the window reaches to the segment's end
};

} // namespace penstock::runtime
