// SPDX-License-Identifier: Apache-2.0
//
// The structure of a FLAC file: its header, and the frames of its samples.
#pragma once

#include "runtime/core/Status.h"
#include "runtime/media/MediaBytes.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::runtime {

/// A frame's header, as far as it says where the frame belongs.
struct FlacFrame {
  uint64_t offset = 0; ///< in the file
  int64_t first = 0;   ///< its first sample
  int64_t samples = 0;
};

/// The structure of a file, which must outlive it. Reads little of it, whatever its length.
class FlacFile {
public:
  static constexpr size_t headSize = 42;

  /// Returns whether it begins as FLAC files do, behind a tag of ID3v2, if there is one.
  static Result<bool> is(MediaBytes &file);
  /// Opens a file. Errors: Unsupported; Truncated; Corrupt; those of reading.
  static Result<FlacFile> open(MediaBytes &file);

  uint32_t channels() const { return uint32_t(info[12] >> 1 & 7) + 1; }
  uint32_t bits() const { return ((info[12] & 1u) << 4 | info[13] >> 4) + 1; }
  uint32_t rate() const {
    return uint32_t(info[10]) << 12 | uint32_t(info[11]) << 4 | info[12] >> 4;
  }
  int64_t samples() const { return total; }
  /// A FLAC file without frames, for a decoder that is then given some of them.
  std::array<uint8_t, headSize> head() const;

  /// Returns the frame in which a sample lies, or the last one before it. Reads parts of the file.
  Result<FlacFrame> find(int64_t sample);
  /// Returns the first frame.
  const FlacFrame &start() const { return begin; }
  /// Returns the end of the frames that hold the samples before `sample`: the end of the file for
  /// all.
  Result<uint64_t> endOf(int64_t sample);
  /// Fails where a second stream follows the first one, or frames that the header does not count:
  /// there samples have several places. Looks at the end, and at two places between where the
  /// file is larger than its frames can be.
  Status checkAlone();
  /// Adds the ranges of the frames that hold these samples, and of the last frame.
  Status parts(int64_t low, int64_t high, std::vector<ByteRange> &parts);
  uint64_t size() const { return file->size(); }

private:
  explicit FlacFile(MediaBytes &file) : file(&file) {}
  Status readHead();
  /// The header at `at` of `bytes`, where one stands there.
  std::optional<FlacFrame> frameAt(const uint8_t *bytes, uint64_t count, uint64_t offset) const;
  /// The first frame from `from` on that lies before `to` and begins with a sample in `low` to
  /// before `high`.
  Result<std::optional<FlacFrame>> next(uint64_t from, uint64_t to, int64_t low, int64_t high);
  /// Returns the last such frame.
  Result<std::optional<FlacFrame>> last(uint64_t from, uint64_t to, int64_t low, int64_t high);
  /// Likewise, one that another follows at once: its header does not stand there by chance.
  Result<std::optional<FlacFrame>> nextSure(uint64_t from, uint64_t to, int64_t low, int64_t high);
  /// Counts the samples of a file whose header does not.
  Status count();
  /// Upper bound of a frame's bytes: more than its samples take without any coding.
  uint64_t longestFrame() const;
  uint32_t smallestBlock() const { return uint32_t(info[0]) << 8 | info[1]; }
  uint32_t largestBlock() const { return uint32_t(info[2]) << 8 | info[3]; }

  MediaBytes *file;
  std::array<uint8_t, 34> info{}; ///< STREAMINFO
  int64_t total = 0;
  FlacFrame begin;
  std::vector<uint8_t> room;
};

} // namespace penstock::runtime
