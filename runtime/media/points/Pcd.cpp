// SPDX-License-Identifier: Apache-2.0
//
// https://pointclouds.org/documentation/tutorials/pcd_file_format.html
#include "runtime/media/points/Pcd.h"

#include "runtime/media/points/HeaderText.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace penstock::runtime {

namespace {

constexpr const char *pcdName = "PCD";

/// The lines of a header that say something, by their first words.
class PcdLines {
public:
  enum Key { version, fields, size, type, count, width, height, viewpoint, points, data, keys };

  /// Reads up to the line `DATA`.
  Status read(HeaderText &text) {
    constexpr std::array<std::string_view, keys> names = {
        "VERSION", "FIELDS", "SIZE",      "TYPE",   "COUNT",
        "WIDTH",   "HEIGHT", "VIEWPOINT", "POINTS", "DATA"};
    while (!said[data]) {
      auto line = text.line();
      if (!line)
        return line.error();
      const std::vector<std::string_view> words = wordsOf(*line);
      if (words.empty() || words[0].starts_with('#'))
        continue;
      const auto known = std::ranges::find(names, words[0]);
      if (known == names.end())
        return damagedPoints(pcdName, *line, "is no line of a header");
      auto &values = said[size_t(known - names.begin())];
      if (values)
        return damagedPoints(pcdName, *known, "stands there twice");
      values.emplace(words.begin() + 1, words.end());
    }
    return {};
  }

  bool has(Key key) const { return said[key].has_value(); }
  /// The words of a line; none where it is not there.
  std::span<const std::string> of(Key key) const {
    return said[key] ? std::span<const std::string>(*said[key]) : std::span<const std::string>();
  }
  /// The number of a line.
  Result<int64_t> number(Key key) const {
    const auto words = of(key);
    return words.size() == 1 ? numberOf(words[0])
                             : damagedPoints(pcdName, "a line of its header has no number");
  }
  static Result<int64_t> numberOf(const std::string &word) {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size() || value < 0)
      return damagedPoints(pcdName, word, "is no number of a header");
    return value;
  }

private:
  std::array<std::optional<std::vector<std::string>>, keys> said;
};

std::optional<Stored> pcdType(std::string_view type, std::string_view size) {
  struct Known {
    std::string_view type, size;
    Stored stored;
  };
  constexpr Known known[] = {{"I", "1", Stored::i8},  {"U", "1", Stored::u8},
                             {"I", "2", Stored::i16}, {"U", "2", Stored::u16},
                             {"I", "4", Stored::i32}, {"U", "4", Stored::u32},
                             {"I", "8", Stored::i64}, {"U", "8", Stored::u64},
                             {"F", "4", Stored::f32}, {"F", "8", Stored::f64}};
  for (const Known &one : known)
    if (one.type == type && one.size == size)
      return one.stored;
  return std::nullopt;
}

Status addFields(const PcdLines &lines, PointHeader &header) {
  const auto names = lines.of(PcdLines::fields), sizes = lines.of(PcdLines::size);
  const auto types = lines.of(PcdLines::type), counts = lines.of(PcdLines::count);
  if (sizes.size() != names.size() || types.size() != names.size() ||
      (lines.has(PcdLines::count) && counts.size() != names.size()))
    return damagedPoints(pcdName, "FIELDS, SIZE, TYPE and COUNT name different numbers of fields");
  for (size_t i = 0; i < names.size(); ++i) {
    const auto stored = pcdType(types[i], sizes[i]);
    if (!stored)
      return Error{Code::Unsupported, "PCD file with numbers of TYPE " + types[i] + " and SIZE " +
                                          sizes[i] + " is not read"};
    int64_t count = 1;
    if (!counts.empty()) {
      auto number = PcdLines::numberOf(counts[i]);
      if (!number)
        return number.error();
      count = *number;
    }
    if (count < 1)
      return damagedPoints(pcdName, names[i], "has no numbers");
    if (Status status = header.add(names[i], *stored, count); !status)
      return status;
    header.fields.back().isFiller = names[i] == "_";
  }
  return {};
}

/// Colours that lie in the four bytes of a field, the lowest of which is blue.
void addColours(PointHeader &header) {
  constexpr const char *names[] = {"blue", "green", "red", "alpha"};
  for (const std::string_view kind : {"rgb", "rgba"}) {
    const auto packed = std::ranges::find_if(header.fields, [&](const PointField &field) {
      return field.name == kind && field.count == 1 && sizeOf(field.type) == 4;
    });
    if (packed == header.fields.end())
      continue;
    const int64_t offset = packed->offset;
    for (int64_t place = 0; place < int64_t(kind.size()); ++place)
      if (std::ranges::none_of(header.fields,
                               [&](const PointField &field) { return field.name == names[place]; }))
        header.fields.push_back(
            {names[place], Stored::u8, 1, offset + place, /*isWhole=*/false, /*isFiller=*/false});
  }
}

Status setPoints(const PcdLines &lines, PointHeader &header) {
  auto numberOf = [&](PcdLines::Key key, int64_t otherwise) {
    return lines.has(key) ? lines.number(key) : Result<int64_t>(otherwise);
  };
  if (!lines.has(PcdLines::width) && !lines.has(PcdLines::points))
    return damagedPoints(pcdName, "its header does not say how many points there are");
  auto points = numberOf(PcdLines::points, -1);
  if (!points)
    return points.error();
  auto width = numberOf(PcdLines::width, *points), height = numberOf(PcdLines::height, 1);
  if (!width || !height)
    return width ? height.error() : width.error();
  header.width = *width;
  header.height = *height;
  if (__builtin_mul_overflow(*width, *height, &header.points))
    return damagedPoints(pcdName, "its width and height are impossible");
  if (*points >= 0 && *points != header.points)
    return damagedPoints(pcdName, "it says " + std::to_string(*points) + " points, and " +
                                      std::to_string(header.points) + " by width and height");
  return {};
}

/// How many bytes are packed, behind the line `DATA`.
Status setPacked(MediaBytes &file, PointHeader &header) {
  std::array<uint8_t, 8> sizes{};
  if (file.size() - header.data < sizes.size())
    return Error{Code::Truncated, "truncated PCD file: it ends in front of its points"};
  if (Status status = file.read(header.data, sizes); !status)
    return status;
  auto numberAt = [&](size_t at) {
    uint64_t number = 0;
    for (size_t i = 0; i < 4; ++i)
      number |= uint64_t(sizes[at + i]) << 8 * i;
    return number;
  };
  header.data += sizes.size();
  header.packed = numberAt(0);
  int64_t whole = 0;
  if (__builtin_mul_overflow(header.points, header.stride, &whole) ||
      uint64_t(whole) != numberAt(4))
    return damagedPoints(pcdName, "what is packed becomes " + std::to_string(numberAt(4)) +
                                      " bytes, and " + std::to_string(header.points) +
                                      " points of " + std::to_string(header.stride) +
                                      " are others");
  return {};
}

} // namespace

Result<PointHeader> readPcdHeader(MediaBytes &file) {
  std::array<char, 8> magic{};
  if (file.size() >= magic.size())
    if (Status status = file.read(0, std::span(reinterpret_cast<uint8_t *>(magic.data()), 8));
        !status)
      return status.error();
  const std::string_view begin(magic.data(), magic.size());
  if (!begin.starts_with('#') && begin != "VERSION ")
    return noPointFile(pcdName, file.size());
  PointHeader header;
  header.kind = pcdName;
  HeaderText text(file, pcdName);
  PcdLines lines;
  if (Status status = lines.read(text); !status)
    return status.error();
  header.data = text.offset();
  const auto version = lines.of(PcdLines::version), data = lines.of(PcdLines::data);
  if (version.size() != 1 || (version[0] != ".7" && version[0] != "0.7"))
    return Error{Code::Unsupported,
                 "PCD file of version " + (version.empty() ? "none" : version[0]) + " is not read"};
  const std::string layout = data.size() == 1 ? data[0] : "";
  if (layout != "ascii" && layout != "binary" && layout != "binary_compressed")
    return damagedPoints(pcdName, layout, "is no DATA");
  header.layout = layout == "ascii"    ? PointHeader::Layout::text
                  : layout == "binary" ? PointHeader::Layout::rows
                                       : PointHeader::Layout::columns;
  if (Status status = addFields(lines, header); !status)
    return status.error();
  addColours(header);
  if (Status status = setPoints(lines, header); !status)
    return status.error();
  if (header.layout == PointHeader::Layout::columns)
    if (Status status = setPacked(file, header); !status)
      return status.error();
  if (Status status = header.fit(file.size()); !status)
    return status.error();
  return header;
}

} // namespace penstock::runtime
