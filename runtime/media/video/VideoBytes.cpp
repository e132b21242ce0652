#include "runtime/media/video/VideoBytes.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::runtime {

namespace {

/// What is read at least where it was not fetched: demuxers ask for little at a time.
constexpr uint64_t window = uint64_t(1) << 20;

} // namespace

VideoBytes::~VideoBytes() = default;

Error shrunk(uint64_t size) {
  return {Code::Truncated, "the file has become shorter than the " + std::to_string(size) +
                               " bytes that it had when it was opened"};
}

Status VideoSpan::read(uint64_t offset, std::span<uint8_t> out) {
  std::memcpy(out.data(), bytes.data() + offset, out.size());
  return {};
}

Status VideoFile::readInto(uint64_t offset, uint64_t count, Buffer &out) {
  out.clear();
  if (Status status = file->read(begin + offset, size_t(count), out); !status)
    return status;
  taken += out.size();
  if (out.size() < count)
    return shrunk(length);
  // The index is of what was opened, and so is what has been read before.
  return file->checkUnchanged();
}

Status VideoFile::fetch(std::span<const pst_video_part> parts, uint64_t jump) {
  for (size_t i = 0; i < parts.size();) {
    const uint64_t offset = parts[i].offset;
    uint64_t end = offset;
    for (; i < parts.size() && parts[i].offset <= end + jump; ++i)
      end = std::max(end, parts[i].offset + parts[i].size);
    Piece &piece = pieces.emplace_back();
    piece.offset = offset;
    if (Status status = readInto(offset, end - offset, piece.bytes); !status)
      return status;
    held += piece.bytes.size();
  }
  return {};
}

Status VideoFile::read(uint64_t offset, std::span<uint8_t> out) {
  auto copy = [&](const Buffer &bytes, uint64_t at) {
    if (offset < at || offset - at > bytes.size() || out.size() > bytes.size() - (offset - at))
      return false;
    std::memcpy(out.data(), bytes.data() + (offset - at), out.size());
    return true;
  };
  const auto after =
      std::upper_bound(pieces.begin(), pieces.end(), offset,
                       [](uint64_t wanted, const Piece &piece) { return wanted < piece.offset; });
  if (after != pieces.begin() && copy((after - 1)->bytes, (after - 1)->offset))
    return {};
  if (copy(ahead, aheadAt))
    return {};
  aheadAt = offset;
  const uint64_t count = std::min(std::max<uint64_t>(out.size(), window), length - offset);
  if (Status status = readInto(offset, count, ahead); !status) {
    ahead.clear();
    return status;
  }
  std::memcpy(out.data(), ahead.data(), out.size());
  return {};
}

} // namespace penstock::runtime
