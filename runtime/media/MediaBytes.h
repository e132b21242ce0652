// SPDX-License-Identifier: Apache-2.0
//
// The bytes of media that are read in parts.
#pragma once

#include "runtime/core/FileSystem.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace penstock::runtime {

/// A run of bytes of a file.
struct ByteRange {
  uint64_t offset = 0, size = 0;
};

/// Returns the error of a file that has ended before `size`.
Error shrunk(uint64_t size);

/// A file, or bytes in place of one. One thread at a time.
class MediaBytes {
public:
  virtual ~MediaBytes();
  virtual uint64_t size() const = 0;
  /// Fills `out` from `offset` on; the caller has looked at size(). May block.
  virtual Status read(uint64_t offset, std::span<uint8_t> out) = 0;
  /// Returns the bytes where they lie, or in `room`, until the next call.
  virtual Result<const uint8_t *> view(uint64_t offset, uint64_t count, std::vector<uint8_t> &room);
};

/// Bytes in memory, which must outlive it.
class MediaSpan final : public MediaBytes {
public:
  explicit MediaSpan(std::span<const uint8_t> bytes) : bytes(bytes) {}
  uint64_t size() const override { return bytes.size(); }
  Status read(uint64_t offset, std::span<uint8_t> out) override;
  Result<const uint8_t *> view(uint64_t offset, uint64_t count, std::vector<uint8_t> &) override;

private:
  std::span<const uint8_t> bytes;
};

/// A file or a part of one, such as a member of a tar file. Holds what it was told
/// to fetch, and reads anything else when it is asked for. A file that is changed
/// after it was opened gives errors, never some bytes of before and some of after.
class MediaFile final : public MediaBytes {
public:
  /// \param keptWindow  bytes that were not fetched are read in pieces of this size, all of which
  ///                    are kept; 0: in larger ones, for demuxers, of which the last is
  MediaFile(std::shared_ptr<OpenFile> file, uint64_t offset, uint64_t size, uint64_t keptWindow = 0)
      : file(std::move(file)), begin(offset), length(size), keptWindow(keptWindow) {}
  uint64_t size() const override { return length; }
  Status read(uint64_t offset, std::span<uint8_t> out) override;
  Result<const uint8_t *> view(uint64_t offset, uint64_t count,
                               std::vector<uint8_t> &room) override;

  /// Reads parts, which ascend, and keeps them; not those that it has. Gaps between them up to
  /// `jump` are read as well: those that cost less than one more read. Blocks.
  Status fetch(std::span<const ByteRange> parts, uint64_t jump);
  Status fetch(std::span<const ByteRange> parts) { return fetch(parts, file->readCost()); }
  uint64_t bytesHeld() const { return held + file->bytesHeld(); }
  uint64_t bytesRead() const { return taken; }

private:
  struct Piece {
    uint64_t offset;
    Buffer bytes;
  };
  Status readInto(uint64_t offset, uint64_t count, Buffer &out);
  Status keep(uint64_t offset, uint64_t count);
  /// Returns these bytes among the pieces that were read; null if they are not.
  const uint8_t *find(uint64_t offset, uint64_t count) const;

  std::shared_ptr<OpenFile> file;
  uint64_t begin, length, keptWindow;
  std::vector<Piece> pieces; // ascend
  Buffer ahead;              // the last one that was not among them
  uint64_t aheadAt = 0;
  uint64_t held = 0, taken = 0;
};

} // namespace penstock::runtime
