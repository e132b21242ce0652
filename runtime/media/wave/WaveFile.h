// SPDX-License-Identifier: Apache-2.0
//
// The structure of a WAV file: its header and the place of its samples.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/MediaBytes.h"

#include <cstdint>

namespace penstock::runtime {

enum class WaveCoding : uint8_t { Pcm, Float, ALaw, MuLaw };

struct WaveInfo {
  WaveCoding coding = WaveCoding::Pcm;
  uint32_t bits = 16; ///< of a stored value with its padding: 8, 16, 24, 32 or 64
  uint32_t channels = 1;
  uint32_t rate = 0;
  int64_t samples = 0; ///< of each channel
  uint64_t data = 0;   ///< where the first one lies
  bool isBigEndian = false;
};

/// RIFF, RIFX, RF64 and BW64 files. All samples lie in `file`, of which the header alone is read. A
/// program that writes to a pipe, or that was killed, leaves a size that is none: the samples
/// end with the file then.
///
/// Errors: Unsupported for files that are no WAV, and for codings other than those above, by
/// name; Truncated; Corrupt; those of reading.
Result<WaveInfo> probeWave(MediaBytes &file);

} // namespace penstock::runtime
