// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/MediaBytes.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::runtime {

namespace {

/// Bytes read at least where they were not prefetched: demuxers ask for little at a time.
constexpr uint64_t window = uint64_t(1) << 20;

} // namespace

MediaBytes::~MediaBytes() = default;

Error shrunk(uint64_t size) {
  return {Code::Truncated, "the file has become shorter than the " + std::to_string(size) +
                               " bytes that it had when it was opened"};
}

Result<const uint8_t *> MediaBytes::view(uint64_t offset, uint64_t count,
                                         std::vector<uint8_t> &room) {
  room.resize(size_t(count));
  if (Status status = read(offset, room); !status)
    return status.error();
  return room.data();
}

Result<const uint8_t *> MediaSpan::view(uint64_t offset, uint64_t, std::vector<uint8_t> &) {
  return bytes.data() + offset;
}

Status MediaSpan::read(uint64_t offset, std::span<uint8_t> out) {
  if (out.empty()) // an empty file may lie nowhere
    return {};
  std::memcpy(out.data(), bytes.data() + offset, out.size());
  return {};
}

Status MediaFile::readInto(uint64_t offset, uint64_t count, Buffer &out) {
  out.clear();
  if (Status status = file->read(begin + offset, size_t(count), out); !status)
    return status;
  taken += out.size();
  if (out.size() < count)
    return shrunk(length);
  // The index is of what was opened, and so is what has been read before.
  return file->checkUnchanged();
}

Status MediaFile::keep(uint64_t offset, uint64_t count) {
  const auto after =
      std::upper_bound(pieces.begin(), pieces.end(), offset,
                       [](uint64_t wanted, const Piece &piece) { return wanted < piece.offset; });
  Piece &piece = *pieces.emplace(after);
  piece.offset = offset;
  if (Status status = readInto(offset, count, piece.bytes); !status) {
    piece.bytes.clear(); // nothing can be found there
    return status;
  }
  held += piece.bytes.size();
  return {};
}

Status MediaFile::fetch(std::span<const ByteRange> parts, uint64_t jump) {
  for (size_t i = 0; i < parts.size();) {
    const uint64_t offset = parts[i].offset;
    uint64_t end = offset;
    for (; i < parts.size() && parts[i].offset <= end + jump; ++i)
      end = std::max(end, parts[i].offset + parts[i].size);
    if (find(offset, end - offset))
      continue;
    if (Status status = keep(offset, end - offset); !status)
      return status;
  }
  return {};
}

const uint8_t *MediaFile::find(uint64_t offset, uint64_t count) const {
  auto in = [&](const Buffer &bytes, uint64_t at) {
    return offset >= at && offset - at <= bytes.size() && count <= bytes.size() - (offset - at)
               ? bytes.data() + (offset - at)
               : nullptr;
  };
  const auto after =
      std::upper_bound(pieces.begin(), pieces.end(), offset,
                       [](uint64_t wanted, const Piece &piece) { return wanted < piece.offset; });
  // Pieces may overlap where they are not only those that were fetched.
  for (auto piece = after; piece != pieces.begin();) {
    --piece;
    if (const uint8_t *found = in(piece->bytes, piece->offset))
      return found;
    if (keptWindow == 0)
      break;
  }
  return in(ahead, aheadAt);
}

Status MediaFile::read(uint64_t offset, std::span<uint8_t> out) {
  if (out.empty())
    return {};
  const uint8_t *found = find(offset, out.size());
  if (!found) {
    const uint64_t count =
        std::min(std::max<uint64_t>(out.size(), keptWindow ? keptWindow : window), length - offset);
    Status status = keptWindow ? keep(offset, count) : readInto(offset, count, ahead);
    aheadAt = offset;
    if (!status) {
      ahead.clear();
      return status;
    }
    found = find(offset, out.size());
  }
  std::memcpy(out.data(), found, out.size());
  return {};
}

Result<const uint8_t *> MediaFile::view(uint64_t offset, uint64_t count,
                                        std::vector<uint8_t> &room) {
  if (const uint8_t *found = find(offset, count))
    return found;
  return MediaBytes::view(offset, count, room);
}

} // namespace penstock::runtime
