// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Tar.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace penstock::runtime {

namespace {

constexpr uint64_t mostExtended = 1 << 20; // of an extended header
/// Files are filled up to a multiple of these.
constexpr uint64_t blocksOfRecord = 20;

std::string_view textUntilZero(std::string_view field) {
  return field.substr(0, std::min(field.find('\0'), field.size()));
}

/// Octal digits between blanks, or GNU's base 256 with the first bit set.
std::optional<uint64_t> numberIn(std::string_view field) {
  uint64_t value = 0;
  if (uint8_t(field[0]) & 0x80) {
    for (size_t i = 0; i < field.size(); ++i) {
      const uint8_t byte = i == 0 ? uint8_t(field[0]) & 0x7F : uint8_t(field[i]);
      if (value >> 55)
        return std::nullopt; // above what any file has, negative ones too
      value = value << 8 | byte;
    }
    return value;
  }
  size_t i = 0;
  while (i < field.size() && field[i] == ' ')
    ++i;
  for (; i < field.size() && field[i] != ' ' && field[i] != '\0'; ++i) {
    if (field[i] < '0' || field[i] > '7')
      return std::nullopt;
    value = value << 3 | uint64_t(field[i] - '0');
  }
  return value;
}

const char *compressionOf(std::string_view begin) {
  if (begin.starts_with("\x1F\x8B"))
    return "gzip";
  if (begin.starts_with("\x28\xB5\x2F\xFD"))
    return "zstd";
  if (begin.starts_with("\xFD"
                        "7zXZ"))
    return "xz";
  if (begin.starts_with("BZh"))
    return "bzip2";
  if (begin.starts_with("\x04\x22\x4D\x18"))
    return "lz4";
  return nullptr;
}

} // namespace

/// A copy of its bytes: what else is read meanwhile takes the place of the read ones.
struct TarReader::Header {
  std::string bytes;

  std::string_view field(size_t at, size_t size) const {
    return std::string_view(bytes).substr(at, size);
  }
  char kind() const { return bytes[156]; }
  bool isUstar() const { return field(257, 8) == std::string_view("ustar\00000", 8); }
  bool isEmpty() const { return bytes.find_first_not_of('\0') == std::string_view::npos; }

  bool isIntact() const {
    uint64_t sum = 0;
    int64_t signedSum = 0; // some old programs add signed bytes
    for (size_t i = 0; i < tarBlock; ++i) {
      const char c = i >= 148 && i < 156 ? ' ' : bytes[i];
      sum += uint8_t(c);
      signedSum += static_cast<signed char>(c);
    }
    const auto wanted = numberIn(field(148, 8));
    return wanted && (*wanted == sum || int64_t(*wanted) == signedSum);
  }

  std::string name() const {
    const std::string last(textUntilZero(field(0, 100)));
    const std::string_view first = isUstar() ? textUntilZero(field(345, 155)) : std::string_view();
    return first.empty() ? last : std::string(first) + "/" + last;
  }
};

bool isHeaderOf(std::span<const uint8_t> block, std::string_view begin, uint64_t size) {
  constexpr uint64_t mostOctal = uint64_t(1) << 33; // larger sizes may stand in an extended header
  if (block.size() < tarBlock)
    return false;
  const TarReader::Header header{std::string(block.begin(), block.begin() + tarBlock)};
  const char kind = header.kind();
  if (!header.isIntact() || (kind != '0' && kind != '\0' && kind != '7') ||
      (size < mostOctal && numberIn(header.field(124, 12)) != size))
    return false;
  const bool isPlain =
      begin.size() < 99 && std::all_of(begin.begin(), begin.end(), [](char c) { return c > 0; });
  return !isPlain || header.name().starts_with(begin);
}

TarReader::TarReader(std::span<const uint8_t> bytes)
    : TarReader(bytes.size(), [bytes](uint64_t at, size_t count) {
        const size_t from = std::min<uint64_t>(at, bytes.size());
        return bytes.subspan(from, std::min(count, bytes.size() - from));
      }) {}

Result<std::string> TarReader::contents(uint64_t offset, uint64_t size) {
  if (size > mostExtended)
    return Error{Code::Limit, "an extended tar header of " + std::to_string(size) + " bytes"};
  auto bytes = read(offset, size);
  if (!bytes)
    return bytes.error();
  if (bytes->size() < size)
    return Error{Code::Truncated, "truncated tar file: it ends inside an extended header"};
  return std::string(reinterpret_cast<const char *>(bytes->data()), size);
}

/// Records `<length> <key>=<value>\n` of pax.
Status TarReader::extended(const Header &header, uint64_t size) {
  auto text = contents(at + tarBlock, size);
  if (!text)
    return text.error();
  if (header.kind() == 'L') {
    longName = textUntilZero(*text);
    return {};
  }
  const Error damaged{Code::Corrupt,
                      "damaged tar file: the extended header at byte " + std::to_string(at)};
  for (std::string_view rest = *text; !rest.empty() && rest[0] != '\0';) {
    uint64_t length = 0;
    const char *end = rest.data() + rest.size();
    auto [behind, error] = std::from_chars(rest.data(), end, length);
    const size_t digits = size_t(behind - rest.data());
    if (error != std::errc() || length > rest.size() || length < digits + 3 || *behind != ' ' ||
        rest[length - 1] != '\n')
      return damaged;
    const std::string_view record = rest.substr(digits + 1, length - digits - 2);
    rest.remove_prefix(length);
    const size_t equals = record.find('=');
    if (equals == std::string_view::npos)
      return damaged;
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key.starts_with("GNU.sparse"))
      return Error{Code::Unsupported, "a tar file with sparse members is not read"};
    if (header.kind() == 'g')
      continue; // of all members: neither name nor size can be meant
    if (key == "path") {
      longName = value;
    } else if (key == "size") {
      auto number = std::from_chars(value.data(), value.data() + value.size(), longSize);
      if (number.ec != std::errc() || number.ptr != value.data() + value.size())
        return damaged;
      hasLongSize = true;
    }
  }
  return {};
}

/// Behind the first block of zeros, with which a file ends: two of them, or the end of the bytes.
Status TarReader::checkEnd() {
  for (uint64_t more = 1; more < blocksOfRecord; ++more) {
    const uint64_t place = at + more * tarBlock;
    if (place + tarBlock > fileSize)
      return {};
    auto bytes = read(place, tarBlock);
    if (!bytes)
      return bytes.error();
    const Header header{std::string(bytes->begin(), bytes->end())};
    if (header.bytes.size() < tarBlock || header.isEmpty())
      continue;
    if (more == 1)
      return Error{Code::Corrupt, "damaged tar file: a lone block of zeros at byte " +
                                      std::to_string(at) + ", and more behind it"};
    if (header.isIntact())
      return Error{Code::Unsupported, "another tar file begins at byte " + std::to_string(place) +
                                          ", behind the end of the first; list them one by one, or "
                                          "join them with `tar --concatenate`"};
  }
  return {};
}

Result<bool> TarReader::next(TarMember &member) {
  longName.clear();
  hasLongSize = false;
  for (;;) {
    if (at > fileSize)
      return Error{Code::Truncated, "truncated tar file: it ends after " +
                                        std::to_string(fileSize) +
                                        " bytes, inside what fills up the block of a member"};
    if (at == fileSize && at > 0)
      return false;
    auto bytes = read(at, tarBlock);
    if (!bytes)
      return bytes.error();
    const Header header{std::string(bytes->begin(), bytes->end())};
    if (const char *program = at == 0 ? compressionOf(header.bytes) : nullptr)
      return Error{Code::Unsupported, std::string("tar files compressed with ") + program +
                                          " are not read: they have no random access"};
    if (header.bytes.size() < tarBlock)
      return Error{Code::Truncated, "truncated tar file: it ends after " +
                                        std::to_string(fileSize) + " bytes, inside a header"};
    if (header.isEmpty()) {
      if (Status status = checkEnd(); !status)
        return status.error();
      return false;
    }
    const auto written = numberIn(header.field(124, 12));
    if (!header.isIntact() || !written)
      return Error{Code::Corrupt, "damaged tar file: the header at byte " + std::to_string(at) +
                                      " is none, or its checksum is wrong"};
    const char kind = header.kind();
    const bool isExtended = kind == 'x' || kind == 'g' || kind == 'L' || kind == 'K';
    const uint64_t size = hasLongSize && !isExtended ? longSize : *written;
    const uint64_t offset = at + tarBlock;
    const std::string name = longName.empty() ? header.name() : longName;
    const bool isFile = kind == '0' || kind == '\0' || kind == '7';
    // A folder, a device, a pipe, the label of a volume, what a folder held at a full backup.
    const bool isNoFile = std::string_view("3456VD").find(kind) != std::string_view::npos;
    const bool hasContents = isFile || isExtended || kind == 'S' || kind == 'D';
    if (hasContents && (offset > fileSize || size > fileSize - offset))
      return Error{Code::Truncated, "truncated tar file: `" + name + "` has " +
                                        std::to_string(size) + " bytes from byte " +
                                        std::to_string(offset) + " on, and the file ends after " +
                                        std::to_string(fileSize)};
    const uint64_t behind =
        offset + (hasContents ? (size + tarBlock - 1) / tarBlock * tarBlock : 0);
    if (isExtended && kind != 'K') {
      if (Status status = extended(header, size); !status)
        return status.error();
    } else if (isFile) {
      at = behind;
      if (!name.empty() && name.back() == '/') // a folder, in the oldest form
        continue;
      member = {name, offset, size};
      return true;
    } else if (kind == 'S') {
      return Error{Code::Unsupported, "`" + name + "` is sparse, which is not read"};
    } else if (kind == '1' || kind == '2') {
      return Error{Code::Unsupported,
                   "`" + name +
                       "` is a link, which is not read; tar "
                       "--dereference --hard-dereference stores what it leads to"};
    } else if (isNoFile) {
      longName.clear();
      hasLongSize = false;
    } else if (!isExtended) {
      return Error{Code::Unsupported,
                   "`" + name + "` is a member of kind " + std::to_string(uint8_t(kind)) +
                       (kind > ' ' && kind <= '~' ? std::string(" `") + kind + "`" : "") +
                       ", which is not read; a tar file of files alone has none"};
    }
    at = behind;
  }
}

} // namespace penstock::runtime
