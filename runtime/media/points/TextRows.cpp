// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/points/TextRows.h"

#include "runtime/core/TextValue.h"
#include "runtime/media/points/HeaderText.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace penstock::runtime {

namespace {

constexpr size_t textPiece = 64 << 10, mostLine = 8 << 20;

plan::DType typeOfText(Stored type) {
  using plan::DType;
  constexpr DType types[] = {DType::u8,  DType::i8,  DType::u16, DType::i16,
                             DType::i64, DType::i32, DType::i64, DType::i64};
  return type == Stored::f32 ? DType::f32 : type == Stored::f64 ? DType::f64 : types[size_t(type)];
}

/// Writes the number of a word, as a file would have it.
Status store(Stored type, std::string_view word, uint8_t *to) {
  auto value = parseValue(typeOfText(type), word);
  if (!value)
    return value.error();
  const bool isNegative = type == Stored::u64 && *value < 0;
  const bool isWide = type == Stored::u32 && (*value < 0 || *value > int64_t(UINT32_MAX));
  if (isNegative || isWide)
    return misfit(word, std::string("does not fit ") + nameOf(type));
  if (type == Stored::f32) {
    const auto real = float(std::bit_cast<double>(*value));
    std::memcpy(to, &real, sizeof real);
  } else {
    std::memcpy(to, &*value, size_t(sizeOf(type))); // the lowest bytes come first
  }
  return {};
}

} // namespace

TextRows::TextRows(MediaBytes &file, const char *kind, uint64_t from, int64_t skip, int64_t points,
                   std::vector<Stored> types)
    : file(file), kind(kind), next(from), skip(skip), points(points), types(std::move(types)) {
  size_t bytes = 0;
  for (Stored type : this->types)
    bytes += size_t(sizeOf(type));
  row.resize(bytes);
}

Status TextRows::nextLine() {
  line.clear();
  for (;;) {
    if (left == 0) {
      const uint64_t count = std::min<uint64_t>(textPiece, file.size() - next);
      if (count == 0)
        return !line.empty()
                   ? Status()
                   : Error{Code::Truncated, std::string("truncated ") + kind +
                                                " file: it ends after " + std::to_string(rows) +
                                                " points of " + std::to_string(points)};
      auto bytes = file.view(next, count, window);
      if (!bytes)
        return bytes.error();
      in = *bytes;
      left = size_t(count);
      next += count;
    }
    const uint8_t *end =
        std::find_if(in, in + left, [](uint8_t c) { return c == '\n' || c == '\r'; });
    line.append(reinterpret_cast<const char *>(in), size_t(end - in));
    if (line.size() > mostLine)
      return damagedPoints(kind, "a line has more than " + std::to_string(mostLine) + " bytes");
    left -= size_t(end - in);
    in = end;
    if (left == 0)
      continue;
    ++in;
    --left;
    if (line.find_first_not_of(" \t") != std::string::npos)
      return {};
    line.clear();
  }
}

Status TextRows::nextRow() {
  if (found)
    found = parseRow();
  return found;
}

Status TextRows::parseRow() {
  for (; skip > 0; --skip)
    if (Status status = nextLine(); !status)
      return status;
  if (Status status = nextLine(); !status)
    return status;
  const std::vector<std::string_view> words = wordsOf(line);
  if (words.size() != types.size())
    return damagedPoints(kind, "point " + std::to_string(rows) + " has " +
                                   std::to_string(words.size()) + " numbers of " +
                                   std::to_string(types.size()));
  uint8_t *to = row.data();
  for (size_t i = 0; i < words.size(); ++i) {
    if (Status status = store(types[i], words[i], to); !status)
      return damagedPoints(kind, "point " + std::to_string(rows) + ": " + status.error().message);
    to += sizeOf(types[i]);
  }
  ++rows;
  return {};
}

Status TextRows::read(uint64_t offset, std::span<uint8_t> out) {
  while (!out.empty()) {
    const auto wanted = int64_t(offset / row.size());
    while (rows <= wanted)
      if (Status status = nextRow(); !status)
        return status;
    const size_t from = size_t(offset % row.size());
    const size_t count = std::min(out.size(), row.size() - from);
    std::memcpy(out.data(), row.data() + from, count);
    out = out.subspan(count);
    offset += count;
  }
  return {};
}

Status TextRows::finish() {
  while (rows < points)
    if (Status status = nextRow(); !status)
      return status;
  return {};
}

} // namespace penstock::runtime
