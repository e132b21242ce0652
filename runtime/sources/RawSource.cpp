// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/RawSource.h"

#include "runtime/media/numbers/Npy.h"

#include <algorithm>

namespace penstock::runtime {

namespace {

class RawSource final : public Source {
public:
  struct Column {
    std::span<const uint8_t> bytes;
    std::shared_ptr<const void> owner;
    int64_t rowBytes;
    TensorView view; // of any row, without the data
  };

  RawSource(int64_t rows, std::vector<ColumnInfo> table, std::vector<Column> columns)
      : Source(rows, std::move(table)), data(std::move(columns)) {}

  Result<int64_t> scalar(int64_t row, int column) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isScalar())
      return noSuchField(column, "a scalar");
    return loadScalar(info.type, at(row, column));
  }

  Status shape(int64_t, int column, TensorView &out) const override {
    if (!columns()[size_t(column)].isTensor())
      return noSuchField(column, "a tensor");
    out = data[size_t(column)].view;
    return {};
  }

  Result<TensorView> tensor(int64_t row, int column, Buffer &) const override {
    TensorView view;
    if (Status status = shape(row, column, view); !status)
      return status.error();
    view.data = at(row, column);
    return view;
  }

  void prefetch(int64_t row, int column) const override {
    // Rows in random order are not what the CPU prefetches by itself. Into the
    // second level: the first has too few places for lines under way, and the
    // instructions would wait for them. Long rows are noticed after a page.
    constexpr int64_t line = 64, most = 4096;
    const uint8_t *begin = at(row, column);
    const int64_t bytes = std::min(data[size_t(column)].rowBytes, most);
    for (int64_t offset = 0; offset < bytes; offset += line)
      __builtin_prefetch(begin + offset, 0, 2);
  }

private:
  const uint8_t *at(int64_t row, int column) const {
    const Column &found = data[size_t(column)];
    return found.bytes.data() + row * found.rowBytes;
  }

  std::vector<Column> data;
};

Error columnError(const RawColumn &column, std::string text) {
  return {Code::InvalidArgument, "column `" + column.name + "`: " + std::move(text)};
}

/// Leaves the elements of a .npy file, if they are what the column says.
Status skipHeader(const RawColumn &column, const ColumnInfo &info,
                  std::span<const uint8_t> &bytes) {
  MediaSpan file(bytes);
  auto header = readNpyHeader(file);
  if (!header)
    return columnError(column, column.path + ": " + header.error().message);
  // Rows are read where they lie.
  if (header->isBigEndian)
    return columnError(column, column.path +
                                   ": .npy file of big-endian numbers is not read as a column; "
                                   "`x.astype(x.dtype.newbyteorder('<'))` converts it");
  if (header->isFirstFastest)
    return columnError(column, column.path + ": .npy file in Fortran order is not read as a "
                                             "column; `numpy.ascontiguousarray` converts it");
  const std::vector<int64_t> row(header->shape.begin() + 1, header->shape.end());
  if (header->type != column.type || row != column.dims)
    return columnError(column, column.path + " holds " + header->typeText() +
                                   ", rows first, and rows of " + info.typeText() +
                                   " are expected");
  size_t size = size_t(sizeOf(header->type));
  for (int64_t extent : header->shape)
    size *= size_t(extent);
  bytes = bytes.subspan(header->data, size);
  return {};
}

} // namespace

Result<std::unique_ptr<Source>> openRaw(std::vector<RawColumn> columns, FileSystem *files) {
  if (columns.empty())
    return Error{Code::InvalidArgument, "raw() needs at least one column"};
  std::vector<ColumnInfo> table;
  std::vector<RawSource::Column> data;
  int64_t rows = 0;
  for (RawColumn &column : columns) {
    ColumnInfo info{column.name, column.type, {}};
    RawSource::Column opened;
    opened.rowBytes = sizeOf(column.type);
    if (opened.rowBytes == 0)
      return columnError(column, "rows of " + info.typeText() + " have no fixed size");
    if (column.dims.size() > size_t(TensorView::maxRank))
      return columnError(column, std::to_string(column.dims.size()) + " axes, the limit is 8");
    for (int64_t extent : column.dims) {
      if (extent <= 0 || __builtin_mul_overflow(opened.rowBytes, extent, &opened.rowBytes))
        return columnError(column, "an axis of " + std::to_string(extent) + " elements");
      info.dims.push_back({extent, extent});
      opened.view.extents[size_t(opened.view.rank++)] = extent;
    }
    std::string what = "its memory";
    if (!column.path.empty()) {
      what = column.path;
      if (!files)
        return columnError(column, "no files can be opened here");
      Result<Mapping> mapping = files->mapFile(column.path);
      if (!mapping)
        return Error{mapping.error().code,
                     "column `" + column.name + "`: " + mapping.error().message};
      opened.bytes = mapping->bytes;
      if (column.npy)
        if (Status status = skipHeader(column, info, opened.bytes); !status)
          return status.error();
      opened.owner = std::move(mapping->owner);
    } else {
      opened.bytes = column.memory;
      opened.owner = std::move(column.owner);
    }
    int64_t size = int64_t(opened.bytes.size());
    if (size % opened.rowBytes)
      return columnError(column, what + " has " + std::to_string(size) +
                                     " bytes, which is no multiple of the " +
                                     std::to_string(opened.rowBytes) + " bytes of a row (" +
                                     info.typeText() + ")");
    int64_t found = size / opened.rowBytes;
    if (!table.empty() && found != rows)
      return columnError(column, std::to_string(found) + " rows, but column `" + table[0].name +
                                     "` has " + std::to_string(rows));
    rows = found;
    table.push_back(std::move(info));
    data.push_back(std::move(opened));
  }
  return std::unique_ptr<Source>(new RawSource(rows, std::move(table), std::move(data)));
}

} // namespace penstock::runtime
