// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/JsonLines.h"

#include "runtime/core/TextValue.h"
#include "runtime/sources/Json.h"
#include "runtime/sources/ListedFiles.h"
#include "runtime/sources/TextList.h"

#include <algorithm>
#include <optional>

namespace penstock::runtime {

using plan::DType;

namespace {

std::string_view lineAt(std::string_view text, uint64_t start) {
  return text.substr(start, std::min(text.find('\n', start), text.size()) - start);
}

/// Returns whether an object does not have a value.
bool isMissing(std::string_view value) { return value.empty() || value == "null"; }

/// Checks the kind of a value: `"3"` is no number, and `1` no truth.
Status checkKind(const ColumnInfo &column, std::string_view value) {
  const char first = value[0];
  const bool isTruth = first == 't' || first == 'f';
  const bool isText = column.isBlob() || column.isText() || column.classes;
  const char *wanted = isText                          ? "a text"
                       : column.isTensor()             ? "a list"
                       : column.type == DType::boolean ? "true or false"
                                                       : "a number";
  const bool fits = isText                          ? first == '"'
                    : column.isTensor()             ? first == '['
                    : column.type == DType::boolean ? isTruth
                                                    : !isTruth && first != '"' && first != '[' &&
                                                          first != '{' && value != "null";
  if (fits)
    return {};
  return misfit(value, std::string("is not ") + wanted);
}

/// The number that a value is, or is the name of.
Result<int64_t> scalarOf(const ColumnInfo &column, std::string_view value) {
  if (!column.classes || value.empty())
    return parseScalar(column, value);
  auto name = value == "null" ? Result<std::string>(std::string()) : jsonText(value);
  return name ? parseScalar(column, *name) : Result<int64_t>(name.error());
}

/// Where the rows stand.
struct RowPlaces {
  std::vector<uint64_t> starts;
  MisfitLines misfits;
};

class JsonLines final : public Source {
public:
  JsonLines(ListedFiles listed, Mapping mapping, RowPlaces places, std::vector<ColumnInfo> table,
            std::vector<std::string> keys)
      : Source(int64_t(places.starts.size()), std::move(table)), listed(std::move(listed)),
        mapping(std::move(mapping)), places(std::move(places)), keys(std::move(keys)) {}

  std::string rowName(int64_t row) const override {
    for (bool blob : {true, false})
      for (size_t i = 0; i < columns().size(); ++i)
        if (blob ? columns()[i].isBlob() : columns()[i].isText())
          if (auto name = jsonText(value(row, keys[i])))
            return *name;
    return Source::rowName(row);
  }
  std::string fileName(int64_t row, int column) const override {
    const auto name = jsonText(value(row, keys[size_t(column)]));
    return name ? *name : "";
  }
  Result<int64_t> scalar(int64_t row, int column) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isScalar())
      return noSuchField(column, "a scalar");
    auto number = scalarOf(info, value(row, keys[size_t(column)]));
    return number ? number : places.misfits.placed(listed.list, row, info.name, number.error());
  }
  Result<std::string> text(int64_t row, int column) const override {
    if (!columns()[size_t(column)].isText())
      return noSuchField(column, "text");
    return jsonText(value(row, keys[size_t(column)]));
  }
  Result<std::string> otherText(int64_t row, std::string_view column) const override {
    const std::string_view found = value(row, std::string(column));
    return found.empty()     ? Source::otherText(row, column)
           : found[0] == '"' ? jsonText(found)
                             : Result<std::string>(std::string(found));
  }
  Status shape(int64_t row, int column, TensorView &out) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isTensor())
      return noSuchField(column, "a tensor");
    Status status = shapeOfList(info, value(row, keys[size_t(column)]), false, out);
    return status ? status : places.misfits.placed(listed.list, row, info.name, status.error());
  }
  Result<TensorView> tensor(int64_t row, int column, Buffer &scratch) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isTensor())
      return noSuchField(column, "a tensor");
    auto list = tensorOfList(info, value(row, keys[size_t(column)]), false, scratch);
    if (!list && list.error().code != Code::Exhausted)
      return places.misfits.placed(listed.list, row, info.name, list.error());
    return list;
  }
  Status fetch(int64_t row, int column, Buffer &out) const override {
    auto name = fileOf(row, column);
    return name ? listed.fetch(*name, out) : Status(name.error());
  }
  Result<MediaPlace> place(int64_t row, int column) const override {
    auto name = fileOf(row, column);
    return name ? listed.place(*name) : Result<MediaPlace>(name.error());
  }

private:
  Result<std::string> fileOf(int64_t row, int column) const {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isBlob())
      return noSuchField(column, "bytes");
    const std::string_view written = value(row, keys[size_t(column)]);
    auto name = isMissing(written) ? Result<std::string>(std::string()) : jsonText(written);
    return name ? places.misfits.named(listed.list, row, info.name, std::move(*name)) : name;
  }

  /// As it is written; the line was read before, so that only a file which changes
  /// under us can fail.
  std::string_view value(int64_t row, const std::string &key) const {
    const std::string_view text(reinterpret_cast<const char *>(mapping.bytes.data()),
                                mapping.bytes.size());
    std::string_view found;
    const Status status =
        readJsonObject(lineAt(text, places.starts[size_t(row)]), {&key, 1}, {&found, 1});
    return status ? found : std::string_view();
  }

  ListedFiles listed;
  Mapping mapping;
  RowPlaces places;
  std::vector<std::string> keys; // by column
};

/// Checks that a value can be read as its column's type.
Status checkValue(const ColumnInfo &column, std::string_view value) {
  if (isMissing(value) && column.isScalar())
    return scalarOf(column, value).error();
  if (isMissing(value) && column.isBlob())
    return Error{Code::Corrupt, "names no file"};
  if (value.empty())
    return Error{Code::InvalidArgument, "is missing"};
  if (Status status = checkKind(column, value); !status)
    return status;
  if (column.isBlob() || column.isText())
    return {};
  if (column.isTensor()) {
    auto count = parseList(column.type, column.dims, value, false, nullptr);
    return count ? Status() : Status(count.error());
  }
  auto number = scalarOf(column, value);
  return number ? Status() : Status(number.error());
}

/// Returns the places of the rows, if all of them are right but for the lengths of lists, and
/// numbers and names that are missing.
Result<RowPlaces> scan(const std::string &path, std::string_view text,
                       const std::vector<JsonColumn> &columns,
                       const std::vector<std::string> &keys) {
  RowPlaces result;
  std::vector<std::string_view> values(keys.size());
  std::vector<char> hasValue(keys.size());
  std::vector<std::string> missing(keys.size()); // what is said of the first row without
  uint64_t number = 0;
  for (uint64_t at = text.starts_with("\xEF\xBB\xBF") ? 3 : 0; at < text.size();) {
    const std::string_view line = lineAt(text, at);
    ++number;
    const std::string place = path + ":" + std::to_string(number) + ": ";
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
      std::fill(values.begin(), values.end(), std::string_view());
      if (Status status = readJsonObject(line, keys, values); !status)
        return Error{Code::InvalidArgument, place + status.error().message};
      for (size_t i = 0; i < columns.size(); ++i) {
        const Status status = checkValue(columns[i].info, values[i]);
        const bool namesNone = columns[i].info.isBlob() && values[i] == "\"\"";
        hasValue[i] |= bool(status) || columns[i].info.isTensor();
        if (status && !namesNone)
          continue;
        if (!status && status.error().code != Code::Corrupt)
          return Error{Code::InvalidArgument,
                       place + ofColumn(columns[i].info.name, status.error()).message};
        result.misfits.add(int64_t(result.starts.size()), number);
        if (!status && missing[i].empty())
          missing[i] = place + ofColumn(columns[i].info.name, status.error()).message;
      }
      result.starts.push_back(at);
    }
    at += line.size() + 1;
  }
  if (result.starts.empty())
    return Error{Code::NotFound, path + " has no rows"};
  for (size_t i = 0; i < keys.size(); ++i)
    if (!hasValue[i])
      return Error{Code::InvalidArgument, missing[i] + ", nor has any other row one"};
  result.starts.shrink_to_fit();
  return result;
}

} // namespace

Result<std::unique_ptr<Source>> openJsonLines(FileSystem &files, const JsonLinesOptions &options,
                                              const std::vector<JsonColumn> &columns) {
  auto mapping = readList(files, options.path);
  if (!mapping)
    return mapping.error();
  std::vector<std::string> keys;
  std::vector<ColumnInfo> table;
  for (const JsonColumn &column : columns) {
    keys.push_back(column.key);
    table.push_back(column.info);
  }
  auto places = scan(options.path,
                     {reinterpret_cast<const char *>(mapping->bytes.data()), mapping->bytes.size()},
                     columns, keys);
  if (!places)
    return places.error();
  ListedFiles listed{files, options.path, folderOfList(options.path, options.root)};
  return std::unique_ptr<Source>(new JsonLines(std::move(listed), std::move(*mapping),
                                               std::move(*places), std::move(table),
                                               std::move(keys)));
}

} // namespace penstock::runtime
