// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/png/PngFile.h"

#include "runtime/media/Exif.h"
#include "runtime/media/ImageHeader.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <zlib.h>

namespace penstock::runtime {

namespace {

constexpr uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
constexpr size_t chunkFrame = 12; // length, type and checksum of a chunk
constexpr size_t firstChunk = sizeof signature;

uint32_t big32(const uint8_t *at) {
  return uint32_t(at[0]) << 24 | uint32_t(at[1]) << 16 | uint32_t(at[2]) << 8 | at[3];
}

struct Chunk {
  std::string_view type;
  std::span<const uint8_t> body;
  std::span<const uint8_t> whole;
  size_t at; ///< in the file
};

/// The chunk at `at`, or none where the file ends inside of it.
bool chunkAt(std::span<const uint8_t> bytes, size_t at, Chunk &chunk) {
  if (at > bytes.size() || bytes.size() - at < chunkFrame)
    return false;
  const size_t length = big32(&bytes[at]);
  if (length > bytes.size() - at - chunkFrame)
    return false;
  chunk.type = {reinterpret_cast<const char *>(&bytes[at + 4]), 4};
  chunk.body = bytes.subspan(at + 8, length);
  chunk.whole = bytes.subspan(at, length + chunkFrame);
  chunk.at = at;
  return true;
}

bool isIntact(const Chunk &chunk) {
  const uint8_t *covered = chunk.whole.data() + 4;
  return crc32(0, covered, uInt(chunk.body.size() + 4)) == big32(covered + 4 + chunk.body.size());
}

std::string quoted(const Chunk &chunk) {
  std::string name;
  for (char c : chunk.type)
    name += (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ? c : '?';
  return "`" + name + "` at byte " + std::to_string(chunk.at);
}

Error damaged(std::string what) { return {Code::Corrupt, "damaged PNG: " + std::move(what)}; }

bool isAllowed(uint8_t colour, uint8_t depth) {
  switch (colour) {
  case 0:
    return depth == 1 || depth == 2 || depth == 4 || depth == 8 || depth == 16;
  case 3:
    return depth == 1 || depth == 2 || depth == 4 || depth == 8;
  case 2:
  case 4:
  case 6:
    return depth == 8 || depth == 16;
  default:
    return false;
  }
}

// Chunks that the decoder requires but does not use.
constexpr uint8_t anyPalette[15] = {0, 0, 0, 3,    'P',  'L',  'T', 'E', // black
                                    0, 0, 0, 0xA7, 0x7A, 0x3D, 0xDA};
constexpr uint8_t endChunk[12] = {0, 0, 0, 0, 'I', 'E', 'N', 'D', 0xAE, 0x42, 0x60, 0x82};
/// Behind image data, whose checksums it does not compare.
constexpr uint8_t noChecksum[4] = {};

/// Adds the image data as chunks of their own, of which the last has what the decoder reads at
/// once. It reads no more than the last row needs; so zlib's checksum, the last four bytes, comes
/// with it, and zlib, which goes on as long as there is nothing to write, compares it.
void addData(const std::vector<std::span<const uint8_t>> &bodies, PngParts &parts) {
  constexpr size_t readAtOnce = 8192, most = size_t(1) << 30;
  size_t left = 0, at = 0;
  for (const auto &body : bodies)
    left += body.size();
  parts.firstData = parts.stream.size() + 1;
  for (auto body = bodies.begin(); body != bodies.end();) {
    const size_t size = left > readAtOnce ? std::min(left - readAtOnce, most) : left;
    const uint8_t length[4] = {uint8_t(size >> 24), uint8_t(size >> 16), uint8_t(size >> 8),
                               uint8_t(size)};
    auto &head = parts.heads.emplace_back();
    std::memcpy(head.data(), length, 4);
    std::memcpy(head.data() + 4, "IDAT", 4);
    parts.stream.push_back(head);
    left -= size;
    for (size_t wanted = size; body != bodies.end();) {
      const auto piece = body->subspan(at, std::min(wanted, body->size() - at));
      if (!piece.empty())
        parts.stream.push_back(piece);
      wanted -= piece.size();
      at += piece.size();
      if (at < body->size())
        break;
      ++body;
      at = 0;
    }
    parts.stream.push_back(noChecksum);
  }
}

Status readPalette(const Chunk &chunk, Palette &palette) {
  const size_t size = chunk.body.size();
  if (size == 0 || size % 3 || size > 768)
    return damaged("a palette of " + std::to_string(size) + " bytes");
  for (size_t i = 0; i < size / 3; ++i)
    palette.colours[i] = {chunk.body[3 * i], chunk.body[3 * i + 1], chunk.body[3 * i + 2]};
  return {};
}

/// Inflates a text, as far as it goes; none where it is damaged or longer than Pillow takes.
std::optional<std::string> inflated(std::string_view data) {
  std::string out(1 << 20, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(data.data())); // is not written
  stream.avail_in = uInt(data.size());
  stream.next_out = reinterpret_cast<Bytef *>(out.data());
  stream.avail_out = uInt(out.size());
  if (inflateInit(&stream) != Z_OK) // of this version of zlib, only for want of memory
    throw std::bad_alloc();
  const int code = inflate(&stream, Z_SYNC_FLUSH);
  out.resize(out.size() - stream.avail_out);
  const bool isShort = stream.avail_in == 0;
  inflateEnd(&stream);
  if (code != Z_STREAM_END && !((code == Z_OK || code == Z_BUF_ERROR) && isShort))
    return std::nullopt;
  return out;
}

/// XMP, in any of the chunks for texts.
std::optional<std::string> xmpIn(const Chunk &chunk) {
  constexpr std::string_view keyword("XML:com.adobe.xmp\0", 18);
  std::string_view text(reinterpret_cast<const char *>(chunk.body.data()), chunk.body.size());
  const bool isLong = chunk.type == "iTXt", isPacked = chunk.type == "zTXt";
  if ((!isLong && !isPacked && chunk.type != "tEXt") || !text.starts_with(keyword))
    return std::nullopt;
  text.remove_prefix(keyword.size());
  if (chunk.type == "tEXt")
    return std::string(text);
  bool isInflated = isPacked;
  const size_t flags = isLong ? 2 : 1; // whether it is compressed, and how
  if (text.size() < flags || text[flags - 1] != 0)
    return std::nullopt;
  if (isLong)
    isInflated = text[0] != 0;
  text.remove_prefix(flags);
  for (int skipped = 0; isLong && skipped < 2; ++skipped) { // language, translated keyword
    const size_t end = text.find('\0');
    if (end == text.npos)
      return std::nullopt;
    text.remove_prefix(end + 1);
  }
  return isInflated ? inflated(text) : std::optional(std::string(text));
}

} // namespace

Result<PngInfo> probePng(std::span<const uint8_t> bytes, const ImageLimits &limits) {
  if (bytes.size() < sizeof signature || std::memcmp(bytes.data(), signature, sizeof signature))
    return damaged("its signature is changed");
  Chunk header;
  if (!chunkAt(bytes, firstChunk, header))
    return Error{Code::Truncated, "truncated PNG: it ends after " + std::to_string(bytes.size()) +
                                      " bytes, inside its header"};
  if (header.type != "IHDR" || header.body.size() != 13)
    return damaged("it does not begin with its header");
  if (!isIntact(header))
    return damaged("the checksum of chunk " + quoted(header) + " is wrong");
  PngInfo info;
  info.width = big32(&header.body[0]);
  info.height = big32(&header.body[4]);
  info.depth = header.body[8];
  info.colour = header.body[9];
  info.interlaced = header.body[12] == 1;
  if (!isAllowed(info.colour, info.depth))
    return damaged("colour type " + std::to_string(info.colour) + " with " +
                   std::to_string(info.depth) + " bits");
  if (header.body[10] || header.body[11] || header.body[12] > 1)
    return damaged("unknown compression, filter or interlace method");
  if (Status status = checkImageSize("PNG", info.width, info.height, limits); !status)
    return status.error();
  std::optional<uint8_t> exif, xmp;
  Chunk chunk;
  for (size_t at = firstChunk; chunkAt(bytes, at, chunk) && chunk.type != "IEND";
       at += chunk.whole.size()) {
    if (chunk.type == "eXIf")
      exif = findExifOrientation(chunk.body);
    else if (const auto packet = xmpIn(chunk))
      xmp = xmpOrientation(*packet);
  }
  info.orientation = exif.value_or(xmp.value_or(1));
  return info;
}

Result<PngParts> readPngParts(std::span<const uint8_t> bytes, const PngInfo &info) {
  PngParts parts;
  parts.stream.push_back(bytes.first(sizeof signature));
  bool hasPalette = false, dataEnded = false;
  std::vector<std::span<const uint8_t>> data;
  Chunk chunk;
  size_t at = firstChunk;
  for (; chunkAt(bytes, at, chunk); at += chunk.whole.size()) {
    if (!isIntact(chunk))
      return damaged("the checksum of chunk " + quoted(chunk) + " is wrong");
    if (chunk.type == "IEND") {
      parts.hasEnd = true;
      break;
    }
    if (chunk.type == "IHDR") {
      if (at != firstChunk)
        return damaged("two headers");
      parts.stream.push_back(chunk.whole);
      if (info.colour == 3)
        parts.stream.push_back(anyPalette);
    } else if (chunk.type == "PLTE") {
      if (hasPalette || !data.empty())
        return damaged("a second palette, or one behind the image data");
      hasPalette = true;
      if (Status status = readPalette(chunk, parts.palette); !status)
        return status.error();
    } else if (chunk.type == "IDAT") {
      // As libpng and Pillow: the first run of such chunks is the image.
      if (!dataEnded)
        data.push_back(chunk.body);
      continue;
    } else if (!(chunk.type[0] & 0x20)) {
      return Error{Code::Unsupported,
                   "PNG with the critical chunk " + quoted(chunk) + " is not read"};
    }
    dataEnded = !data.empty();
  }
  if (info.colour == 3 && !hasPalette && parts.hasEnd)
    return damaged("it has no palette");
  // Passes on what there is of a chunk that is cut off: the decoder tells how far it gets.
  if (!parts.hasEnd && !dataEnded && bytes.size() - at >= 8 &&
      std::memcmp(&bytes[at + 4], "IDAT", 4) == 0)
    data.push_back(
        bytes.subspan(at + 8, std::min<size_t>(big32(&bytes[at]), bytes.size() - at - 8)));
  addData(data, parts);
  parts.stream.push_back(endChunk);
  return parts;
}

} // namespace penstock::runtime
