// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/CsvSource.h"

#include "runtime/core/TextValue.h"
#include "runtime/sources/Csv.h"
#include "runtime/sources/ListedFiles.h"
#include "runtime/sources/TextList.h"

#include <algorithm>

namespace penstock::runtime {

using plan::DType;

namespace {

std::string_view textOf(const Mapping &mapping) {
  return {reinterpret_cast<const char *>(mapping.bytes.data()), mapping.bytes.size()};
}

ColumnInfo infoOf(const CsvColumn &column) {
  return {column.name, column.type, column.dims, column.classes};
}

/// Quotes are part of no name, and of no number that is one.
Result<int64_t> scalarOf(const ColumnInfo &column, const CsvCell &cell) {
  return column.classes ? parseScalar(column, cell.text()) : parseScalar(column, cell.raw);
}

class CsvSource final : public Source {
public:
  CsvSource(FileSystem &files, CsvOptions options, Mapping mapping, std::vector<uint64_t> starts,
            std::vector<ColumnInfo> table, std::vector<size_t> cells, MisfitLines misfits)
      : Source(int64_t(starts.size()), std::move(table)),
        listed{files, options.path, options.root, options.maxFileBytes},
        options(std::move(options)), mapping(std::move(mapping)), starts(std::move(starts)),
        cells(std::move(cells)), misfits(std::move(misfits)) {}

  std::string rowName(int64_t row) const override {
    for (bool blob : {true, false})
      for (size_t i = 0; i < columns().size(); ++i)
        if (blob ? columns()[i].isBlob() : columns()[i].isText())
          return cell(row, i).text();
    return Source::rowName(row);
  }

  std::string fileName(int64_t row, int column) const override {
    return cell(row, size_t(column)).text();
  }

  Result<int64_t> scalar(int64_t row, int column) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isScalar())
      return noSuchField(column, "a scalar");
    auto value = scalarOf(info, cell(row, size_t(column)));
    return value ? value : misfits.placed(options.path, row, info.name, value.error());
  }

  Result<std::string> text(int64_t row, int column) const override {
    if (!columns()[size_t(column)].isText())
      return noSuchField(column, "text");
    return cell(row, size_t(column)).text();
  }

  Result<std::string> otherText(int64_t row, std::string_view column) const override {
    CsvReader reader(textOf(mapping), options.separator);
    std::vector<CsvCell> names;
    if (auto more = reader.next(names); !options.header || !more)
      return Source::otherText(row, column);
    const auto isIt = [&](const CsvCell &name) { return name.text() == column; };
    const auto found = std::find_if(names.begin(), names.end(), isIt);
    if (found == names.end() || std::any_of(found + 1, names.end(), isIt))
      return Source::otherText(row, column);
    return cellAt(row, size_t(found - names.begin())).text();
  }

  Status shape(int64_t row, int column, TensorView &out) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isTensor())
      return noSuchField(column, "a tensor");
    Status status = shapeOfList(info, cell(row, size_t(column)).text(), true, out);
    return status ? status : misfits.placed(options.path, row, info.name, status.error());
  }

  Result<TensorView> tensor(int64_t row, int column, Buffer &scratch) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isTensor())
      return noSuchField(column, "a tensor");
    auto list = tensorOfList(info, cell(row, size_t(column)).text(), true, scratch);
    if (!list && list.error().code != Code::Exhausted)
      return misfits.placed(options.path, row, info.name, list.error());
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
    return misfits.named(options.path, row, info.name, cell(row, size_t(column)).text());
  }

  CsvCell cell(int64_t row, size_t column) const { return cellAt(row, cells[column]); }

  CsvCell cellAt(int64_t row, size_t number) const {
    CsvReader reader(textOf(mapping), options.separator);
    reader.seek(starts[size_t(row)]);
    std::vector<CsvCell> found;
    // The row was read before; only a file that changes under us can fail.
    if (auto more = reader.next(found); !more || number >= found.size())
      return {};
    return found[number];
  }

  ListedFiles listed;
  CsvOptions options;
  Mapping mapping;
  std::vector<uint64_t> starts;
  std::vector<size_t> cells; // by column
  MisfitLines misfits;
};

/// Reads the file once, for what the source needs to know.
class Scan {
public:
  Scan(const CsvOptions &options, const std::vector<CsvColumn> &columns, std::string_view text)
      : options(options), columns(columns), reader(text, options.separator),
        hasValue(columns.size()), firstMisfit(columns.size()) {}

  Status run() {
    if (Status status = first(); !status)
      return status;
    for (;;) {
      auto more = reader.next(found);
      if (!more)
        return Error{more.error().code, options.path + ":" + more.error().message};
      if (!*more)
        return someOfEach();
      if (Status status = row(); !status)
        return status;
    }
  }

  std::vector<uint64_t> starts;
  std::vector<size_t> cells;
  MisfitLines misfits;

private:
  Error at(std::string what) const {
    return {Code::InvalidArgument,
            options.path + ":" + std::to_string(reader.line()) + ": " + std::move(what)};
  }

  /// A column of numbers that no row has is the wrong one.
  Status someOfEach() const {
    for (size_t i = 0; i < columns.size(); ++i)
      if (columns[i].dims.empty() && !hasValue[i] && !firstMisfit[i].empty())
        return Error{Code::InvalidArgument, firstMisfit[i] + ", nor has any other row one"};
    return {};
  }

  /// Finds the columns in the first row, which may be a row of the table.
  Status first() {
    auto more = reader.next(found);
    if (!more)
      return Error{more.error().code, options.path + ":" + more.error().message};
    if (!*more)
      return Error{Code::NotFound, options.path + " is empty"};
    width = found.size();
    for (const CsvColumn &column : columns) {
      if (auto *number = std::get_if<int64_t>(&column.from)) {
        if (uint64_t(*number) >= width)
          return at("there is no column " + std::to_string(*number) + "; the first row has " +
                    std::to_string(width) + ", counted from 0");
        cells.push_back(size_t(*number));
        continue;
      }
      if (Status status = named(std::get<std::string>(column.from)); !status)
        return status;
    }
    return options.header ? Status() : row();
  }

  Status named(const std::string &name) {
    constexpr size_t most = 200; // bytes of a message
    std::string all;
    bool isCut = false;
    size_t times = 0;
    for (size_t i = 0; i < width; ++i) {
      const std::string text = found[i].text();
      if (!isCut) {
        isCut = all.size() + text.size() > most;
        all += (i ? ", " : "") + (isCut ? "..." : "`" + text + "`");
      }
      if (text == name && times++ == 0)
        cells.push_back(i);
    }
    if (times == 0)
      return at("there is no column `" + name + "`; the first line has " + all);
    if (times > 1)
      return at("there are " + std::to_string(times) + " columns `" + name + "`");
    return {};
  }

  /// A line of blanks, which may be a text where there is one column.
  bool isBlank() const {
    return found.size() == 1 && !found[0].quoted && options.separator &&
           found[0].raw.find_first_not_of(" \t") == std::string_view::npos &&
           (width > 1 || std::none_of(columns.begin(), columns.end(), [](const CsvColumn &column) {
              return column.type == DType::text || column.type == DType::bytes;
            }));
  }

  Status row() {
    if (isBlank())
      return {};
    if (found.size() != width)
      return at(std::to_string(found.size()) + " cells, the first row has " +
                std::to_string(width));
    for (size_t i = 0; i < columns.size(); ++i) {
      const CsvColumn &column = columns[i];
      if (column.type == DType::bytes && found[cells[i]].raw.empty())
        misfits.add(int64_t(starts.size()), reader.line());
      if (column.type == DType::bytes || column.type == DType::text)
        continue;
      auto value = column.dims.empty()
                       ? scalarOf(infoOf(column), found[cells[i]])
                       : parseList(column.type, column.dims, found[cells[i]].text(), true, nullptr);
      if (!value && value.error().code != Code::Corrupt)
        return at(ofColumn(column.name, value.error()).message);
      if (!value)
        misfits.add(int64_t(starts.size()), reader.line());
      hasValue[i] |= bool(value);
      if (!value && firstMisfit[i].empty())
        firstMisfit[i] = at(ofColumn(column.name, value.error()).message).message;
    }
    starts.push_back(reader.rowStart());
    return {};
  }

  const CsvOptions &options;
  const std::vector<CsvColumn> &columns;
  CsvReader reader;
  std::vector<CsvCell> found;
  size_t width = 0;
  std::vector<char> hasValue;
  std::vector<std::string> firstMisfit; // by column
};

} // namespace

Result<std::unique_ptr<Source>> openCsv(FileSystem &files, const CsvOptions &options,
                                        const std::vector<CsvColumn> &columns) {
  auto mapping = readList(files, options.path);
  if (!mapping)
    return mapping.error();
  Scan scan(options, columns, textOf(*mapping));
  if (Status status = scan.run(); !status)
    return status.error();
  if (scan.starts.empty())
    return Error{Code::NotFound, options.path + " has a line of names and no rows"};
  std::vector<ColumnInfo> table;
  for (const CsvColumn &column : columns)
    table.push_back(infoOf(column));
  scan.starts.shrink_to_fit();
  CsvOptions resolved = options;
  resolved.root = folderOfList(options.path, options.root);
  return std::unique_ptr<Source>(new CsvSource(files, std::move(resolved), std::move(*mapping),
                                               std::move(scan.starts), std::move(table),
                                               std::move(scan.cells), std::move(scan.misfits)));
}

} // namespace penstock::runtime
