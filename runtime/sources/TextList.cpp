// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/TextList.h"

#include "runtime/core/Memory.h"
#include "runtime/core/TextValue.h"
#include "runtime/sources/ClassNames.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace penstock::runtime {

using plan::DType;

namespace {

/// Stores a value of Source::scalar() as an element in memory.
void storeScalar(DType type, int64_t value, uint8_t *to) {
  if (type == DType::f32) {
    const auto real = float(std::bit_cast<double>(value));
    std::memcpy(to, &real, sizeof real);
  } else { // little-endian integers, and f64 by its bits
    std::memcpy(to, &value, size_t(sizeOf(type)));
  }
}

class ListReader {
public:
  ListReader(DType type, std::span<const Extent> dims, std::string_view text, bool isPlain,
             uint8_t *out)
      : type(type), dims(dims), text(text), isPlain(isPlain), out(out) {}

  Result<int64_t> run() {
    skipBlanks();
    const bool isBare = isPlain && dims.size() == 1 && !is('[');
    Result<int64_t> count = isBare ? numbers() : level(0);
    if (!count)
      return count;
    skipBlanks();
    if (at < text.size())
      return refuse("has `" + std::string(text.substr(at, 20)) + "` behind its list");
    // Behind all else, so that what is no list at all is never taken for one of other length.
    return counted(*count, 0);
  }

private:
  static Error refuse(std::string what) { return {Code::InvalidArgument, std::move(what)}; }
  bool is(char wanted) const { return at < text.size() && text[at] == wanted; }
  static bool isBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
  void skipBlanks() {
    while (at < text.size() && isBlank(text[at]))
      ++at;
  }
  /// What parts numbers of a list without brackets: blanks, with one other sign at most.
  bool skipPart() {
    skipBlanks();
    const bool isSign = is(',') || is(';');
    at += isSign;
    skipBlanks();
    return isSign;
  }

  Status number() {
    const size_t begin = at;
    while (at < text.size() && !isBlank(text[at]) && text[at] != ',' && text[at] != ']' &&
           text[at] != '[' && text[at] != ';')
      ++at;
    if (at == begin && is('['))
      return refuse("has lists inside of the list along axis " + std::to_string(dims.size() - 1) +
                    ", the last that is declared");
    if (at == begin)
      return refuse(at < text.size() ? "lacks a number in its list" : "has a list without an end");
    auto value = parseValue(type, text.substr(begin, at - begin));
    if (!value)
      return value.error();
    if (out) {
      storeScalar(type, *value, out);
      out += sizeOf(type);
    }
    return {};
  }

  Result<int64_t> counted(int64_t count, size_t axis) const {
    const Extent &extent = dims[axis];
    if (count >= extent.minimum && count <= extent.bound)
      return count;
    return Error{axis == 0 ? Code::Corrupt : Code::InvalidArgument,
                 "has " + std::to_string(count) + " elements along axis " + std::to_string(axis) +
                     ", " +
                     (extent.isStatic()        ? ""
                      : count < extent.minimum ? "at least "
                                               : "at most ") +
                     std::to_string(count < extent.minimum ? extent.minimum : extent.bound) +
                     " are declared"};
  }

  /// One axis, up to the end of the text.
  Result<int64_t> numbers() {
    int64_t count = 0;
    for (bool goesOn = at < text.size(); goesOn; ++count) {
      if (at == text.size() || is(',') || is(';'))
        return refuse("lacks a number in its list");
      if (Status status = number(); !status)
        return status.error();
      goesOn = skipPart() || at < text.size();
    }
    return count;
  }

  Result<int64_t> level(size_t axis) {
    if (!is('['))
      return refuse("has no list where axis " + std::to_string(axis) + " begins");
    ++at;
    int64_t count = 0;
    for (skipBlanks(); !is(']'); ++count) {
      if (count > 0) {
        if (!is(','))
          return refuse(at < text.size() ? "lacks a comma in its list"
                                         : "has a list without an end");
        ++at;
        skipBlanks();
      }
      if (axis + 1 == dims.size()) {
        if (Status status = number(); !status)
          return status.error();
      } else if (auto inner = level(axis + 1); !inner) {
        return inner;
      }
      skipBlanks();
    }
    ++at;
    return axis == 0 ? Result<int64_t>(count) : counted(count, axis);
  }

  DType type;
  std::span<const Extent> dims;
  std::string_view text;
  bool isPlain;
  uint8_t *out;
  size_t at = 0;
};

} // namespace

Result<int64_t> parseList(DType type, std::span<const Extent> dims, std::string_view text,
                          bool isPlain, uint8_t *out) {
  return ListReader(type, dims, text, isPlain, out).run();
}

Error ofColumn(const std::string &column, const Error &error) {
  return {error.code,
          "column `" + column + "`" + (error.message[0] == '`' ? ": " : " ") + error.message};
}

void MisfitLines::add(int64_t row, uint64_t line) {
  if (rows.empty() || rows.back().row != row)
    rows.push_back({row, line});
}

Result<int64_t> parseNumber(plan::DType type, std::string_view text) {
  if (text.find_first_not_of(" \t\r") == std::string_view::npos || text == "null")
    return Error{Code::Corrupt,
                 type == plan::DType::boolean ? "has no truth value" : "has no number"};
  return parseValue(type, text);
}

Result<int64_t> parseScalar(const ColumnInfo &column, std::string_view text) {
  if (!column.classes)
    return parseNumber(column.type, text);
  if (text.find_first_not_of(" \t\r") == std::string_view::npos)
    return Error{Code::Corrupt, "has no class"};
  return column.classes->numberOf(text);
}

Error MisfitLines::placed(const std::string &path, int64_t row, const std::string &column,
                          const Error &error) const {
  const auto found = std::ranges::lower_bound(rows, row, {}, &Line::row);
  const bool isKnown = found != rows.end() && found->row == row;
  return {error.code, path + (isKnown ? ":" + std::to_string(found->number) : "") + ": " +
                          ofColumn(column, error).message};
}

Result<std::string> MisfitLines::named(const std::string &path, int64_t row,
                                       const std::string &column, std::string name) const {
  if (name.empty())
    return placed(path, row, column, {Code::NotFound, "names no file"});
  return name;
}

Status shapeOfList(const ColumnInfo &column, std::string_view text, bool isPlain, TensorView &out) {
  auto count = parseList(column.type, column.dims, text, isPlain, nullptr);
  if (!count)
    return count.error();
  out = {};
  out.rank = int(column.dims.size());
  for (size_t axis = 0; axis < column.dims.size(); ++axis)
    out.extents[axis] = axis == 0 ? *count : column.dims[axis].bound;
  return {};
}

Result<TensorView> tensorOfList(const ColumnInfo &column, std::string_view text, bool isPlain,
                                Buffer &scratch) {
  TensorView view;
  if (Status status = shapeOfList(column, text, isPlain, view); !status)
    return status.error();
  if (!scratch.resize(size_t(view.elements() * sizeOf(column.type))))
    return noMemory("for a list of " + std::to_string(view.elements()) + " elements");
  auto count = parseList(column.type, column.dims, text, isPlain, scratch.data());
  if (!count)
    return count.error();
  view.data = scratch.data();
  return view;
}

} // namespace penstock::runtime
