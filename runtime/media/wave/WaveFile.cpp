// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/wave/WaveFile.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::runtime {

namespace {

/// Short runs of bytes; once one cannot be read, all are zeros.
class Reader {
public:
  explicit Reader(MediaBytes &file) : file(file) {}

  /// Numbers have their high bytes first.
  bool isBigEndian = false;

  /// A number, which lies in the file.
  uint64_t number(uint64_t at, int size) {
    uint8_t bytes[8] = {};
    read(at, {bytes, size_t(size)});
    uint64_t value = 0;
    for (int i = 0; i < size; ++i)
      value = value << 8 | bytes[isBigEndian ? i : size - 1 - i];
    return value;
  }
  bool has(uint64_t at, std::string_view name) {
    uint8_t bytes[16] = {};
    if (at + name.size() > size())
      return false;
    read(at, {bytes, name.size()});
    return std::memcmp(bytes, name.data(), name.size()) == 0;
  }
  uint64_t size() const { return file.size(); }
  const Status &status() const { return problem; }

private:
  void read(uint64_t at, std::span<uint8_t> out) {
    if (problem)
      problem = file.read(at, out);
    if (!problem)
      std::fill(out.begin(), out.end(), uint8_t(0));
  }

  MediaBytes &file;
  Status problem;
};

Error truncated(uint64_t size, const char *where) {
  return {Code::Truncated,
          "truncated WAV: it ends after " + std::to_string(size) + " bytes, " + where};
}

Error corrupt(std::string what) { return {Code::Corrupt, "damaged WAV: " + std::move(what)}; }

/// Reads the chunk `fmt `, whose contents begin at `at`.
Result<WaveInfo> readFormat(Reader &file, uint64_t at, uint64_t size) {
  constexpr uint32_t extensible = 0xFFFE;
  constexpr std::string_view guid("\x00\x00\x00\x00\x10\x00\x80\x00\x00\xAA\x00\x38\x9B\x71", 14);
  if (size < 16)
    return corrupt("a format of " + std::to_string(size) + " bytes");
  uint32_t tag = uint32_t(file.number(at, 2));
  WaveInfo info;
  info.channels = uint32_t(file.number(at + 2, 2));
  info.rate = uint32_t(file.number(at + 4, 4));
  const uint64_t frame = file.number(at + 12, 2);
  info.bits = uint32_t(file.number(at + 14, 2));
  info.isBigEndian = file.isBigEndian;
  if (tag == extensible && !file.isBigEndian) {
    if (size < 40)
      return corrupt("a format of " + std::to_string(size) + " bytes");
    tag = uint32_t(file.number(at + 24, 2));
    if (!file.has(at + 26, guid))
      return Error{Code::Unsupported, "WAV of an unknown format is not read"};
  }
  if (tag == 1) // of 12 and 20 bits, those stand at the top of whole bytes
    info.bits = (info.bits + 7) / 8 * 8;
  const uint32_t bits = info.bits;
  const bool isPcm = tag == 1 && (bits == 8 || bits == 16 || bits == 24 || bits == 32);
  const bool isFloat = tag == 3 && (bits == 32 || bits == 64),
             isLaw = (tag == 6 || tag == 7) && bits == 8;
  if (!isPcm && !isFloat && !isLaw)
    return Error{Code::Unsupported,
                 "WAV of format " + std::to_string(tag) + " with " + std::to_string(bits) +
                     " bits is not read (PCM up to 32 bits, floats, A-law and mu-law are)"};
  info.coding = isPcm      ? WaveCoding::Pcm
                : isFloat  ? WaveCoding::Float
                : tag == 6 ? WaveCoding::ALaw
                           : WaveCoding::MuLaw;
  if (info.channels == 0 || info.rate == 0 || frame != uint64_t(info.channels) * bits / 8)
    return corrupt(std::to_string(info.channels) + " channels at " + std::to_string(info.rate) +
                   " Hz in frames of " + std::to_string(frame) + " bytes");
  return info;
}

/// Returns whether chunks follow from `at` up to the end, as behind samples. Names of chunks are
/// printable, as silence is not.
bool areChunks(Reader &file, uint64_t at) {
  while (file.status() && at + 8 <= file.size()) {
    const uint64_t name = file.number(at, 4), size = file.number(at + 4, 4);
    for (int shift = 0; shift < 32; shift += 8)
      if (const uint64_t letter = name >> shift & 255; letter < 0x20 || letter > 0x7E)
        return false;
    at += 8 + size + size % 2;
  }
  return at == file.size();
}

/// Returns whether a size of samples is what programs leave there that cannot go back to the
/// header: all bits, or that less a header; SoX: 0x7FFFF000 in whole frames; 0 where samples
/// follow.
bool isNoSize(Reader &file, uint64_t size, uint64_t contents, const std::optional<WaveInfo> &info) {
  const uint64_t rest = file.size() - contents;
  if (size == 0)
    return rest != 0 && !areChunks(file, contents);
  const uint64_t frame = info ? info->channels * (info->bits / 8) : 1;
  return size > rest && (size >= 0xFFFFFF00 || (size > 0x7FFFF000 - frame && size <= 0x7FFFFFFF));
}

Result<WaveInfo> readChunks(Reader &file) {
  const bool isWide = file.has(0, "RF64") || file.has(0, "BW64");
  file.isBigEndian = file.has(0, "RIFX");
  if (file.has(0, "NIST_1A"))
    return Error{Code::Unsupported,
                 "a SPHERE file is not decoded (WAV and FLAC are; `sph2pipe` and "
                 "`sox` make WAV of it)"};
  if ((!isWide && !file.isBigEndian && !file.has(0, "RIFF")) || !file.has(8, "WAVE"))
    return Error{Code::Unsupported,
                 "not a sound file: its first bytes are neither WAV's nor FLAC's"};
  std::optional<WaveInfo> info;
  std::optional<uint64_t> wideData;
  for (uint64_t at = 12; file.status();) {
    if (at + 8 > file.size())
      return truncated(file.size(), "before its samples");
    uint64_t size = file.number(at + 4, 4);
    const uint64_t contents = at + 8, rest = file.size() - contents;
    const bool isData = file.has(at, "data");
    if (isData && isWide && wideData && size == 0xFFFFFFFF)
      size = *wideData;
    if (isData && isNoSize(file, size, contents, info))
      size = rest;
    if (size > rest)
      return isData
                 ? Error{Code::Truncated, "truncated WAV: it has " + std::to_string(rest) +
                                              " bytes of samples, and says " + std::to_string(size)}
                 : truncated(file.size(), "before its samples");
    if (isData) {
      if (!info)
        return corrupt("samples stand before their format");
      info->data = contents;
      info->samples = int64_t(size / (info->channels * (info->bits / 8)));
      return *info;
    }
    if (file.has(at, "ds64")) {
      if (size < 24)
        return corrupt("sizes of " + std::to_string(size) + " bytes");
      wideData = file.number(contents + 8, 8);
    } else if (file.has(at, "fmt ") && !info) {
      auto found = readFormat(file, contents, size);
      if (!found)
        return found.error();
      info = *found;
    }
    at = contents + size + size % 2;
  }
  return file.status().error();
}

} // namespace

Result<WaveInfo> probeWave(MediaBytes &bytes) {
  Reader file(bytes);
  auto info = readChunks(file);
  if (!file.status())
    return file.status().error();
  return info;
}

} // namespace penstock::runtime
