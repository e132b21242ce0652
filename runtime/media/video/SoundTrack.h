// SPDX-License-Identifier: Apache-2.0
//
// The sound of files that FFmpeg reads, by an index of their packets.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/Image.h"
#include "runtime/media/MediaBytes.h"
#include "runtime/media/video/VideoModule.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace penstock::runtime {

/// Properties of a sound track, from its index.
struct SoundInfo {
  int64_t samples = 0;
  uint32_t channels = 0, rate = 0;
  uint32_t bits = 0; ///< of a stored sample; 0 where samples are not stored as they are
  uint64_t fileSize = 0;
};

/// An index that was read. Immutable: any thread may use it.
class SoundTrack {
public:
  /// Reads and decodes all of a file.
  ///
  /// Errors: Unsupported where there is no module, or the file is of a kind that it does not read;
  /// Corrupt; Limit; those of reading the file.
  static Result<std::vector<uint8_t>> index(MediaBytes &file, const ImageLimits &limits);
  /// Opens an index. Corrupt if it is damaged, of another FFmpeg, or of another kind of processor.
  static Result<std::shared_ptr<const SoundTrack>> open(std::span<const uint8_t> index);
  ~SoundTrack();
  SoundTrack(const SoundTrack &) = delete;
  SoundTrack &operator=(const SoundTrack &) = delete;

  const SoundInfo &info() const { return known; }
  /// Returns whether packets lie in the file in pieces that can be read alone.
  bool isDirect() const { return direct; }
  /// Returns about the bytes that it takes.
  uint64_t memory() const { return bytes; }
  /// Returns the ranges of the packets that samples low ..< high need, ascending. Only if
  /// isDirect().
  Result<std::vector<ByteRange>> parts(int64_t low, int64_t high) const;

  /// Gets `count` samples from `first` on, those of all channels at one time beside each other.
  using Take = std::function<void(int64_t first, int64_t count, const float *samples)>;
  /// Decodes samples of this very file; adds to `costs`. Errors as index(), and InvalidArgument
  /// for samples that it does not have.
  Status decode(MediaBytes &file, int64_t low, int64_t high, const Take &take,
                pst_video_costs &costs) const;

private:
  explicit SoundTrack(const pst_video_module &module) : module(module) {}

  const pst_video_module &module; // is never closed
  pst_sound *sound = nullptr;
  SoundInfo known;
  bool direct = false;
  uint64_t bytes = 0;
};

} // namespace penstock::runtime
