// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/ConcatSource.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

/// Widens a column to another part's rows; false where these have another type.
bool admits(ColumnInfo &column, const ColumnInfo &other) {
  if (column.type != other.type || column.dims.size() != other.dims.size())
    return false;
  for (size_t axis = 0; axis < column.dims.size(); ++axis) {
    Extent &extent = column.dims[axis];
    extent.minimum = std::min(extent.minimum, other.dims[axis].minimum);
    extent.bound = std::max(extent.bound, other.dims[axis].bound);
    if (axis > 0 && !extent.isStatic()) // rows differ along the first axis alone
      return false;
  }
  return true;
}

} // namespace

Result<std::unique_ptr<ConcatSource>> ConcatSource::open(std::vector<const Source *> sources,
                                                         const std::vector<std::string> &columns) {
  const bool isNumbered = std::any_of(sources.begin(), sources.end(), [](const Source *source) {
    return source->columnNumber("part") < 0;
  });
  int64_t rows = 0;
  std::vector<ColumnInfo> infos;
  std::vector<Part> parts;
  for (const Source *source : sources) {
    Part part{source, rows, {}};
    for (size_t i = 0; i < columns.size(); ++i) {
      const bool isNumber = isNumbered && columns[i] == "part";
      const int number = isNumber ? -1 : source->columnNumber(columns[i]);
      if (number < 0 && !isNumber)
        return Error{Code::InvalidArgument, "concat: part " + std::to_string(parts.size()) +
                                                " has no column `" + columns[i] + "`"};
      const ColumnInfo info =
          isNumber ? ColumnInfo{"part", plan::DType::i64, {}} : source->columns()[size_t(number)];
      if (parts.empty())
        infos.push_back(info);
      else if (!admits(infos[i], info))
        return Error{Code::InvalidArgument,
                     "concat: column `" + columns[i] + "` of part " + std::to_string(parts.size()) +
                         " is " + info.typeText() + ", and of part 0 " + infos[i].typeText()};
      part.columns.push_back(number);
    }
    parts.push_back(std::move(part));
    if (__builtin_add_overflow(rows, source->length(), &rows))
      return Error{Code::InvalidArgument, "concat: there are too many rows"};
  }
  return std::unique_ptr<ConcatSource>(new ConcatSource(rows, std::move(infos), std::move(parts)));
}

ConcatSource::Place ConcatSource::placeOf(int64_t row) const {
  // The last one that begins there: those before it have no rows.
  const auto behind =
      std::upper_bound(parts.begin(), parts.end(), row,
                       [](int64_t at, const Part &part) { return at < part.begin; });
  const auto part = size_t(behind - parts.begin()) - 1;
  return {part, row - parts[part].begin};
}

std::string ConcatSource::rowName(int64_t row) const {
  const auto [part, at] = placeOf(row);
  const std::string name = parts[part].source->rowName(at);
  // A number tells rows apart in their own table only.
  return name == parts[part].source->Source::rowName(at) ? Source::rowName(row) : name;
}

std::string ConcatSource::fileName(int64_t row, int column) const {
  const auto [part, at] = placeOf(row);
  return parts[part].source->fileName(at, parts[part].columns[size_t(column)]);
}

Result<int64_t> ConcatSource::scalar(int64_t row, int column) const {
  const auto [part, at] = placeOf(row);
  const int number = parts[part].columns[size_t(column)];
  return number < 0 ? Result<int64_t>(int64_t(part)) : parts[part].source->scalar(at, number);
}

Result<std::string> ConcatSource::text(int64_t row, int column) const {
  const auto [part, at] = placeOf(row);
  return parts[part].source->text(at, parts[part].columns[size_t(column)]);
}

Result<std::string> ConcatSource::otherText(int64_t row, std::string_view column) const {
  const auto [part, at] = placeOf(row);
  const Source &source = *parts[part].source;
  const int number = source.columnNumber(column); // one that the others may lack
  return number >= 0 && source.columns()[size_t(number)].isText() ? source.text(at, number)
                                                                  : source.otherText(at, column);
}

Status ConcatSource::fetch(int64_t row, int column, Buffer &out) const {
  const auto [part, at] = placeOf(row);
  return parts[part].source->fetch(at, parts[part].columns[size_t(column)], out);
}

Result<MediaPlace> ConcatSource::place(int64_t row, int column) const {
  const auto [part, at] = placeOf(row);
  return parts[part].source->place(at, parts[part].columns[size_t(column)]);
}

std::vector<std::string> ConcatSource::classNames() const {
  std::vector<std::string> names = parts.front().source->classNames();
  for (const Part &part : parts)
    if (part.source->classNames() != names)
      return {};
  return names;
}

std::span<const uint8_t> ConcatSource::mediaIndex(int64_t row, int column) const {
  const auto [part, at] = placeOf(row);
  return parts[part].source->mediaIndex(at, parts[part].columns[size_t(column)]);
}

uint64_t ConcatSource::indexesMade() const {
  uint64_t made = 0;
  for (const Part &part : parts)
    made += part.source->indexesMade();
  return made;
}

Status ConcatSource::shape(int64_t row, int column, TensorView &out) const {
  const auto [part, at] = placeOf(row);
  return parts[part].source->shape(at, parts[part].columns[size_t(column)], out);
}

Result<TensorView> ConcatSource::tensor(int64_t row, int column, Buffer &scratch) const {
  const auto [part, at] = placeOf(row);
  return parts[part].source->tensor(at, parts[part].columns[size_t(column)], scratch);
}

int64_t ConcatSource::rowsBehind(int64_t row) const {
  const auto [part, at] = placeOf(row);
  return parts[part].source->rowsBehind(at);
}

void ConcatSource::prefetch(int64_t row, int column) const {
  const auto [part, at] = placeOf(row);
  if (const int number = parts[part].columns[size_t(column)]; number >= 0)
    parts[part].source->prefetch(at, number);
}

} // namespace penstock::runtime
