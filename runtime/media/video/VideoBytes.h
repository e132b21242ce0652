// Where the bytes of videos come from.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/media/video/VideoModule.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace penstock::runtime {

/// Of a file that has ended before `size`.
Error shrunk(uint64_t size);

/// A file, or what stands for one. One thread at a time.
class VideoBytes {
public:
  virtual ~VideoBytes();
  virtual uint64_t size() const = 0;
  /// Fills `out` from `offset` on; the caller has looked at size(). May block.
  virtual Status read(uint64_t offset, std::span<uint8_t> out) = 0;
};

/// Bytes in memory, which must outlive it.
class VideoSpan final : public VideoBytes {
public:
  explicit VideoSpan(std::span<const uint8_t> bytes) : bytes(bytes) {}
  uint64_t size() const override { return bytes.size(); }
  Status read(uint64_t offset, std::span<uint8_t> out) override;

private:
  std::span<const uint8_t> bytes;
};

/// A file or a part of one, such as a member of a tar file. Holds what it was told
/// to fetch, and reads anything else when it is asked for. A file that is changed
/// after it was opened gives errors, never some bytes of before and some of after.
class VideoFile final : public VideoBytes {
public:
  VideoFile(std::shared_ptr<OpenFile> file, uint64_t offset, uint64_t size)
      : file(std::move(file)), begin(offset), length(size) {}
  uint64_t size() const override { return length; }
  Status read(uint64_t offset, std::span<uint8_t> out) override;

  /// Reads parts, which ascend, and keeps them. Gaps between them up to `jump` are
  /// read as well: one read costs more than they do. Blocks.
  Status fetch(std::span<const pst_video_part> parts, uint64_t jump = 16 << 10);
  uint64_t bytesHeld() const { return held; }
  uint64_t bytesRead() const { return taken; }

private:
  struct Piece {
    uint64_t offset;
    Buffer bytes;
  };
  Status readInto(uint64_t offset, uint64_t count, Buffer &out);

  std::shared_ptr<OpenFile> file;
  uint64_t begin, length;
  std::vector<Piece> pieces; // ascend
  Buffer ahead;              // the last one that was not among them
  uint64_t aheadAt = 0;
  uint64_t held = 0, taken = 0;
};

} // namespace penstock::runtime
