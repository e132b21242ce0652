// SPDX-License-Identifier: Apache-2.0
//
// The file is searched for the headers of frames, which their checksums tell from other bytes.
// False headers that pass by chance are found by the decoder, which compares the frame's own
// checksum.
#include "runtime/media/flac/FlacFile.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace penstock::runtime {

namespace {

/// Bytes searched at a time.
constexpr uint64_t searched = 32 << 10;
constexpr uint64_t longestHeader = 16;

Error truncatedFlac(const std::string &what) {
  return {Code::Truncated, "truncated FLAC: " + what};
}
Error corruptFlac(const std::string &what) { return {Code::Corrupt, "damaged FLAC: " + what}; }

constexpr std::array<uint8_t, 256> headerChecksums = [] {
  std::array<uint8_t, 256> table{};
  for (int i = 0; i < 256; ++i) {
    int value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value << 1 ^ (value & 0x80 ? 0x107 : 0);
    table[size_t(i)] = uint8_t(value);
  }
  return table;
}();

uint32_t bigEndian(const uint8_t *bytes, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i)
    value = value << 8 | bytes[i];
  return value;
}

/// Returns the end of a tag of ID3v2; 0 if there is none.
Result<uint64_t> behindTag(MediaBytes &file) {
  uint8_t head[10] = {};
  if (file.size() < sizeof head)
    return uint64_t(0);
  if (Status status = file.read(0, head); !status)
    return status.error();
  if (std::memcmp(head, "ID3", 3))
    return uint64_t(0);
  uint64_t size = sizeof head;
  for (int i = 0; i < 4; ++i)
    size += uint64_t(head[6 + i] & 127) << (7 * (3 - i));
  return size;
}

} // namespace

Result<bool> FlacFile::is(MediaBytes &file) {
  auto at = behindTag(file);
  if (!at)
    return at.error();
  uint8_t magic[4] = {};
  if (file.size() < *at + sizeof magic)
    return false;
  if (Status status = file.read(*at, magic); !status)
    return status.error();
  return std::memcmp(magic, "fLaC", sizeof magic) == 0;
}

Result<FlacFile> FlacFile::open(MediaBytes &file) {
  FlacFile opened(file);
  if (Status status = opened.readHead(); !status)
    return status.error();
  if (opened.total == 0)
    if (Status status = opened.count(); !status)
      return status.error();
  return opened;
}

Status FlacFile::readHead() {
  auto tag = behindTag(*file);
  if (!tag)
    return tag.error();
  uint64_t at = *tag + 4;
  for (bool isFirst = true, isLast = false; !isLast; isFirst = false) {
    uint8_t head[4];
    if (size() < at + sizeof head)
      return truncatedFlac("it ends after " + std::to_string(size()) +
                           " bytes, before its samples");
    if (Status status = file->read(at, head); !status)
      return status;
    isLast = head[0] & 0x80;
    const uint64_t length = bigEndian(head + 1, 3);
    at += sizeof head;
    if (isFirst && ((head[0] & 0x7F) != 0 || length != info.size()))
      return corruptFlac("it does not begin with what its stream is");
    if (size() - at < length)
      return truncatedFlac("it ends after " + std::to_string(size()) +
                           " bytes, before its samples");
    if (isFirst)
      if (Status status = file->read(at, info); !status)
        return status;
    at += length;
  }
  total = int64_t(uint64_t(info[13] & 15) << 32 | bigEndian(info.data() + 14, 4));
  if (rate() == 0 || bits() < 4 || largestBlock() == 0 || smallestBlock() > largestBlock())
    return corruptFlac(std::to_string(bits()) + " bits at " + std::to_string(rate()) +
                       " Hz in blocks of " + std::to_string(smallestBlock()) + " to " +
                       std::to_string(largestBlock()));
  begin.offset = at;
  if (at == size() && total == 0)
    return {};
  uint8_t header[longestHeader] = {};
  const uint64_t count = std::min<uint64_t>(sizeof header, size() - at);
  if (Status status = file->read(at, {header, size_t(count)}); !status)
    return status;
  const auto frame = frameAt(header, count, at);
  if (!frame || frame->first != 0)
    return count < longestHeader ? truncatedFlac("it ends after " + std::to_string(size()) +
                                                 " bytes, before its samples")
                                 : corruptFlac("no frame stands where its samples begin");
  begin = *frame;
  if (smallestBlock() == largestBlock() &&
      begin.samples > int64_t(largestBlock())) { // the header is wrong
    info[0] = info[2] = uint8_t(begin.samples >> 8);
    info[1] = info[3] = uint8_t(begin.samples);
  }
  return {};
}

std::array<uint8_t, FlacFile::headSize> FlacFile::head() const {
  std::array<uint8_t, headSize> bytes = {'f', 'L', 'a', 'C', 0x80, 0, 0, 34};
  std::copy(info.begin(), info.end(), bytes.begin() + 8);
  return bytes;
}

std::optional<FlacFrame> FlacFile::frameAt(const uint8_t *bytes, uint64_t count,
                                           uint64_t offset) const {
  if (count < 6 || bytes[0] != 0xFF || (bytes[1] & 0xFE) != 0xF8)
    return std::nullopt;
  const uint32_t block = bytes[2] >> 4, frequency = bytes[2] & 15, layout = bytes[3] >> 4;
  const uint32_t depth = bytes[3] >> 1 & 7;
  constexpr uint32_t depths[] = {0, 8, 12, 0, 16, 20, 24, 32};
  if (block == 0 || frequency == 15 || layout > 10 || depth == 3 || (bytes[3] & 1) ||
      (layout < 8 ? layout + 1 : 2) != channels() || (depths[depth] && depths[depth] != bits()))
    return std::nullopt;
  // The number, as UTF-8 has characters, in up to seven bytes.
  uint64_t at = 4, number = bytes[at++], more = 0;
  if (number >= 0x80) {
    if (number < 0xC0 || number == 0xFF)
      return std::nullopt;
    for (uint64_t bit = 0x40; number & bit; bit >>= 1)
      ++more;
    number &= (uint64_t(0x40) >> more) - 1;
    for (uint64_t i = 0; i < more; ++i, ++at) {
      if (at >= count || (bytes[at] & 0xC0) != 0x80)
        return std::nullopt;
      number = number << 6 | (bytes[at] & 0x3F);
    }
  }
  const uint64_t sizes = block == 6 ? 1 : block == 7 ? 2 : 0;
  const uint64_t rates = frequency == 12 ? 1 : frequency == 13 || frequency == 14 ? 2 : 0;
  if (at + sizes + rates >= count)
    return std::nullopt;
  FlacFrame frame{offset, 0, 0};
  frame.samples = block == 1   ? 192
                  : block <= 5 ? int64_t(576) << (block - 2)
                  : sizes      ? int64_t(bigEndian(bytes + at, int(sizes))) + 1
                               : int64_t(256) << (block - 8);
  at += sizes + rates;
  uint8_t checksum = 0;
  for (uint64_t i = 0; i < at; ++i)
    checksum = headerChecksums[checksum ^ bytes[i]];
  if (checksum != bytes[at])
    return std::nullopt;
  // Old encoders mark blocks of several sizes by their limits alone.
  const bool isNumbered = !(bytes[1] & 1) && smallestBlock() == largestBlock();
  const int64_t step = largestBlock();
  if (isNumbered && number >= uint64_t(1) << 31)
    return std::nullopt;
  frame.first = isNumbered ? int64_t(number) * step : int64_t(number);
  return frame;
}

Result<std::optional<FlacFrame>> FlacFile::next(uint64_t from, uint64_t to, int64_t low,
                                                int64_t high) {
  while (from < to) {
    const uint64_t block = from / searched * searched; // so that the same bytes are asked for again
    const uint64_t count = std::min(searched + longestHeader, size() - block);
    auto bytes = file->view(block, count, room);
    if (!bytes)
      return bytes.error();
    const uint8_t *const end = *bytes + (std::min(block + searched, to) - block);
    for (const uint8_t *at = *bytes + (from - block); at < end; ++at) {
      at = static_cast<const uint8_t *>(std::memchr(at, 0xFF, size_t(end - at)));
      if (!at)
        break;
      const auto place = uint64_t(at - *bytes);
      const auto frame = frameAt(at, count - place, block + place);
      if (frame && frame->first >= low && frame->first < high)
        return frame;
    }
    from = block + searched;
  }
  return std::optional<FlacFrame>();
}

Result<std::optional<FlacFrame>> FlacFile::last(uint64_t from, uint64_t to, int64_t low,
                                                int64_t high) {
  std::optional<FlacFrame> last;
  for (;;) {
    auto frame = next(from, to, low, high);
    if (!frame)
      return frame.error();
    if (!*frame)
      return last;
    last = *frame;
    from = last->offset + 1;
    low = last->first + 1;
  }
}

Result<std::optional<FlacFrame>> FlacFile::nextSure(uint64_t from, uint64_t to, int64_t low,
                                                    int64_t high) {
  for (;;) {
    auto frame = next(from, to, low, high);
    if (!frame || !*frame)
      return frame;
    from = (*frame)->offset + 1;
    const int64_t end = (*frame)->first + (*frame)->samples;
    auto behind = next(from, std::min(size(), from + longestFrame()), end, end + 1);
    if (!behind || *behind)
      return behind ? frame : behind;
  }
}

Result<FlacFrame> FlacFile::find(int64_t sample) {
  FlacFrame low = begin;
  uint64_t end = size(); // no frame from here on holds it
  int64_t behind = std::max(total, sample + 1);
  for (bool halves = false; end - low.offset > searched; halves = !halves) {
    // Where it would lie in data that are alike everywhere, and a little before; each second
    // time in the middle, as no data can make that many steps.
    const double share = halves ? 0.5 : double(sample - low.first) / double(behind - low.first);
    const uint64_t guess = low.offset + uint64_t(share * double(end - low.offset));
    const uint64_t middle =
        std::clamp(guess, low.offset + searched / 2, end - searched / 4) - searched / 4;
    auto found = next(middle, std::min(end, middle + 2 * longestFrame()), low.first + 1, behind);
    if (!found)
      return found.error();
    if (*found && (*found)->first <= sample) {
      low = **found;
      if (sample - low.first < low.samples)
        return low;
      continue;
    }
    end = middle;
    if (*found)
      behind = (*found)->first;
  }
  auto found = last(low.offset + 1, end, low.first + 1, sample + 1);
  if (!found)
    return found.error();
  return *found ? **found : low;
}

Result<uint64_t> FlacFile::endOf(int64_t sample) {
  if (sample >= total)
    return size();
  auto frame = find(sample);
  if (!frame)
    return frame.error();
  if (frame->first >= sample)
    return frame->offset;
  auto behind = next(frame->offset + 1, std::min(size(), frame->offset + 2 * longestFrame()),
                     frame->first + 1, INT64_MAX);
  if (!behind)
    return behind.error();
  return *behind ? (*behind)->offset : size();
}

Status FlacFile::checkAlone() {
  if (total == 0)
    return {};
  const Error more = corruptFlac("more frames follow than those of the " + std::to_string(total) +
                                 " samples that it says it has");
  auto end = find(total - 1);
  if (!end)
    return end.error();
  const uint64_t behind = std::min(size(), end->offset + 2 * longestFrame() + searched);
  // The first of a second stream, or the next of one that goes on in blocks of its own.
  for (auto [low, high] : {std::pair(int64_t(0), int64_t(1)), {total, total + (1 << 16)}}) {
    auto frame = nextSure(end->offset + 1, behind, low, high);
    if (!frame || *frame)
      return frame ? more : frame.error();
  }
  // A second stream that ends with the same number goes back on the way. Looking for it costs
  // reads: only where there are more bytes than the frames can have.
  const uint64_t largest = bigEndian(info.data() + 7, 3); // 0: not said
  const uint64_t frames = uint64_t(total) / std::max(smallestBlock(), 1u) + 1;
  if (largest && size() - begin.offset <= frames * largest)
    return {};
  int64_t low = 0;
  for (uint64_t third : {1, 2}) {
    const uint64_t at = begin.offset + (size() - begin.offset) / 3 * third;
    auto frame = nextSure(at, std::min(size(), at + 2 * longestFrame()), 0, INT64_MAX);
    if (!frame)
      return frame.error();
    if (!*frame)
      continue;
    if ((*frame)->first < low)
      return more;
    low = (*frame)->first;
  }
  return {};
}

Status FlacFile::parts(int64_t low, int64_t high, std::vector<ByteRange> &parts) {
  for (auto [first, end] : {std::pair(low, high), {total - 1, total}}) {
    auto frame = find(first);
    if (!frame)
      return frame.error();
    auto behind = endOf(end);
    if (!behind)
      return behind.error();
    if (*behind > frame->offset)
      parts.push_back({frame->offset, *behind - frame->offset});
  }
  return checkAlone();
}

uint64_t FlacFile::longestFrame() const {
  return uint64_t(largestBlock()) * channels() * (bits() + 7) / 8 + 1024;
}

Status FlacFile::count() {
  if (begin.offset == size())
    return {};
  const uint64_t from =
      size() - begin.offset > longestFrame() ? size() - longestFrame() : begin.offset;
  auto found = last(from, size(), 0, INT64_MAX);
  if (!found)
    return found.error();
  if (!*found)
    return truncatedFlac(
        "it does not say how many samples it has, and does not end in a frame like its first one");
  total = (*found)->first + (*found)->samples;
  return {};
}

} // namespace penstock::runtime
