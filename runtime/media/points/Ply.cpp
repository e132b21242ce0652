// SPDX-License-Identifier: Apache-2.0
//
// https://paulbourke.net/dataformats/ply: what stands in a header.
#include "runtime/media/points/Ply.h"

#include "runtime/media/points/HeaderText.h"

#include <algorithm>
#include <charconv>
#include <optional>

namespace penstock::runtime {

namespace {

constexpr const char *plyName = "PLY";

struct Property {
  Stored type;
  std::optional<Stored> count; ///< of a list's length
};

/// An element in front of the points.
struct Before {
  int64_t count;
  std::vector<Property> properties;
};

std::optional<Stored> plyType(std::string_view word) {
  struct Known {
    std::string_view name, other;
    Stored type;
  };
  constexpr Known known[] = {{"char", "int8", Stored::i8},      {"uchar", "uint8", Stored::u8},
                             {"short", "int16", Stored::i16},   {"ushort", "uint16", Stored::u16},
                             {"int", "int32", Stored::i32},     {"uint", "uint32", Stored::u32},
                             {"float", "float32", Stored::f32}, {"double", "float64", Stored::f64}};
  for (const Known &one : known)
    if (word == one.name || word == one.other)
      return one.type;
  return std::nullopt;
}

/// What the lines between `format` and `end_header` say.
class PlyLines {
public:
  explicit PlyLines(PointHeader &header) : header(header) {}

  Status read(HeaderText &text) {
    for (;;) {
      auto line = text.line();
      if (!line)
        return line.error();
      const std::vector<std::string_view> words = wordsOf(*line);
      if (words.empty() || words[0] == "comment" || words[0] == "obj_info")
        continue;
      if (words[0] == "end_header")
        break;
      const bool isElement = words[0] == "element" && words.size() == 3;
      const bool isProperty = words[0] == "property" && words.size() >= 3;
      if (!isElement && !isProperty)
        return damagedPoints(plyName, *line, "is no line of a header");
      if (Status status = isElement ? element(words) : property(words); !status)
        return status;
    }
    return has == 0 ? damagedPoints(plyName, "it has no element `vertex`") : Status();
  }

  std::vector<Before> before; ///< in the order of the file

private:
  enum class In { nothing, before, vertex, behind };

  Status element(const std::vector<std::string_view> &words) {
    int64_t count = 0;
    const std::string_view written = words[2];
    const auto [end, error] =
        std::from_chars(written.data(), written.data() + written.size(), count);
    if (error != std::errc() || end != written.data() + written.size() || count < 0)
      return damagedPoints(plyName, written, "is no number of elements");
    if (words[1] == "vertex") {
      if (++has > 1)
        return damagedPoints(plyName, "it has two elements `vertex`");
      header.points = header.width = count;
      in = In::vertex;
    } else if (has > 0) {
      in = In::behind;
    } else {
      before.push_back({count, {}});
      in = In::before;
    }
    return {};
  }

  Status property(const std::vector<std::string_view> &words) {
    const bool isList = words[1] == "list";
    const size_t type = isList ? 3 : 1;
    if (words.size() != type + 2)
      return damagedPoints(plyName, words.back(), "ends no line of a property");
    if (in == In::nothing)
      return damagedPoints(plyName, words.back(), "is a property of nothing");
    auto stored = plyType(words[type]), count = isList ? plyType(words[2]) : std::nullopt;
    if (!stored)
      return damagedPoints(plyName, words[type], "is no type");
    if (isList && (!count || *count == Stored::f32 || *count == Stored::f64))
      return damagedPoints(plyName, words[2], "is no type of a list's length");
    if (in == In::before)
      before.back().properties.push_back({*stored, count});
    if (in != In::vertex)
      return {};
    if (isList)
      return Error{Code::Unsupported, "PLY file whose points have a list, `" +
                                          std::string(words.back()) + "`, is not read"};
    return header.add(std::string(words.back()), *stored, 1);
  }

  PointHeader &header;
  In in = In::nothing;
  int has = 0; ///< elements `vertex`
};

/// Passes over what stands in front of binary points.
class PlyWalk {
public:
  PlyWalk(MediaBytes &file, uint64_t at, bool isBig) : file(file), at(at), isBig(isBig) {}

  Status over(const Before &element) {
    int64_t fixed = 0; // bytes, where there is no list
    for (const Property &property : element.properties)
      fixed += property.count ? 0 : sizeOf(property.type);
    const bool hasLists = std::ranges::any_of(
        element.properties, [](const Property &property) { return property.count.has_value(); });
    if (!hasLists)
      return forward(element.count, fixed);
    for (int64_t i = 0; i < element.count; ++i) // a list takes a byte at least
      for (const Property &property : element.properties) {
        int64_t count = 1;
        if (property.count) {
          auto length = lengthOf(*property.count);
          if (!length)
            return length.error();
          count = *length;
        }
        if (Status status = forward(count, sizeOf(property.type)); !status)
          return status;
      }
    return {};
  }
  uint64_t place() const { return at; }

private:
  Status forward(int64_t count, int64_t each) {
    int64_t bytes = 0;
    if (__builtin_mul_overflow(count, each, &bytes) || uint64_t(bytes) > file.size() - at)
      return Error{Code::Truncated, "truncated PLY file: it ends in front of its points"};
    at += uint64_t(bytes);
    return {};
  }

  Result<int64_t> lengthOf(Stored type) {
    const auto size = uint64_t(sizeOf(type));
    const uint64_t here = at;
    if (Status status = forward(1, int64_t(size)); !status)
      return status.error();
    if (here < from || here + size > from + known) {
      constexpr uint64_t piece = 64 << 10;
      from = here;
      known = std::min(piece, file.size() - here);
      auto bytes = file.view(from, known, room);
      if (!bytes)
        return bytes.error();
      window = *bytes;
    }
    uint64_t length = 0;
    for (uint64_t i = 0; i < size; ++i)
      length |= uint64_t(window[here - from + (isBig ? size - 1 - i : i)]) << 8 * i;
    const bool isSigned = type == Stored::i8 || type == Stored::i16 || type == Stored::i32;
    if (isSigned && length >> (8 * size - 1))
      return damagedPoints(plyName, "a list has fewer than no elements");
    return int64_t(length);
  }

  MediaBytes &file;
  uint64_t at;
  bool isBig;
  std::vector<uint8_t> room;
  const uint8_t *window = nullptr;
  uint64_t from = 0, known = 0; ///< of the window
};

} // namespace

Result<PointHeader> readPlyHeader(MediaBytes &file) {
  uint8_t magic[4] = {};
  if (file.size() >= sizeof magic)
    if (Status status = file.read(0, magic); !status)
      return status.error();
  if (magic[0] != 'p' || magic[1] != 'l' || magic[2] != 'y' ||
      (magic[3] != '\n' && magic[3] != '\r' && magic[3] != ' '))
    return noPointFile(plyName, file.size());
  PointHeader header;
  header.kind = plyName;
  HeaderText text(file, plyName);
  auto line = text.line();
  std::vector<std::string_view> words;
  do { // remarks may stand before the format
    if (line)
      line = text.line();
    if (!line)
      return line.error();
    words = wordsOf(*line);
  } while (!words.empty() && (words[0] == "comment" || words[0] == "obj_info"));
  if (words.size() != 3 || words[0] != "format")
    return damagedPoints(plyName, *line, "is no format");
  if (words[2] != "1.0")
    return Error{Code::Unsupported,
                 "PLY file of version " + std::string(words[2]) + " is not read"};
  const bool isText = words[1] == "ascii";
  header.isBigEndian = words[1] == "binary_big_endian";
  if (!isText && !header.isBigEndian && words[1] != "binary_little_endian")
    return damagedPoints(plyName, words[1], "is no format");
  header.layout = isText ? PointHeader::Layout::text : PointHeader::Layout::rows;

  PlyLines lines(header);
  if (Status status = lines.read(text); !status)
    return status.error();
  PlyWalk walk(file, text.offset(), header.isBigEndian);
  for (const Before &element : lines.before) {
    if (!isText) {
      if (Status status = walk.over(element); !status)
        return status.error();
    } else if (!element.properties.empty() &&
               __builtin_add_overflow(header.skip, element.count, &header.skip)) {
      return damagedPoints(plyName, "no file has so many elements");
    }
  }
  header.data = walk.place();
  if (Status status = header.fit(file.size()); !status)
    return status.error();
  return header;
}

} // namespace penstock::runtime
