// SPDX-License-Identifier: Apache-2.0
//
// The functions pst_row_...(), by which a caller sets a row.
#include "api/c/Rows.h"
#include "api/c/Arguments.h"
#include "api/c/Entry.h"
#include "api/c/Outputs.h"
#include <algorithm>
#include <bit>
#include <memory>
#include <string>
#include <vector>

using namespace penstock;
using namespace penstock::api;

namespace {

/// A table of the caller's, with what lies in memory.
struct Table {
  struct Bytes {
    std::string name;
    const void *const *data;
    const int64_t *sizes;
  };
  struct Column {
    std::string name;
    pst_dtype dtype;
    std::vector<int64_t> extents; ///< of a row
    int64_t rowBytes;
    const uint8_t *data;
  };
  std::vector<Bytes> bytes;
  std::vector<Column> columns;
  pst_read_row read;
  void *context;

  runtime::Status readRow(int64_t number, runtime::ExternalRow &out) const;
};

} // namespace

/// Numbers go as such, so that they are converted.
static void setMemory(pst_row &row, const Table::Column &column, int64_t number) {
  const uint8_t *data = column.data + number * column.rowBytes;
  if (!column.extents.empty()) {
    pst_row_array(&row, column.name.c_str(), column.dtype, int32_t(column.extents.size()),
                  column.extents.data(), nullptr, data);
    return;
  }
  const int64_t value = runtime::loadScalar(dtypeFrom(column.dtype), data);
  if (column.dtype == PST_F16 || column.dtype == PST_BF16 || column.dtype == PST_F32 ||
      column.dtype == PST_F64)
    pst_row_float(&row, column.name.c_str(), std::bit_cast<double>(value));
  else
    pst_row_int(&row, column.name.c_str(), value);
}

runtime::Status Table::readRow(int64_t number, runtime::ExternalRow &out) const {
  pst_row row{out};
  for (const Bytes &column : bytes)
    if (column.data[number])
      pst_row_bytes(&row, column.name.c_str(), column.data[number],
                    size_t(std::max<int64_t>(column.sizes[number], 0)));
  for (const Column &column : columns)
    setMemory(row, column, number);
  const int result = read ? read(context, number, &row) : 0;
  if (result && row.error.message.empty())
    row.error.message = "the caller's function returned " + std::to_string(result);
  return row.error.message.empty() ? runtime::Status() : row.error;
}

runtime::Result<runtime::ExternalTable> api::externalTable(const pst_external_table &given,
                                                           runtime::FileSystem &files) {
  const auto refuse = [](const char *name, const std::string &what) {
    return runtime::Error{runtime::Code::InvalidArgument,
                          "column `" + std::string(name) + "` in memory " + what};
  };
  auto table = std::make_shared<Table>();
  table->read = given.read;
  table->context = given.context;
  for (size_t i = 0; i < given.bytes_count; ++i) {
    const pst_memory_bytes &column = given.bytes[i];
    if (!column.data || !column.sizes)
      return refuse(column.name, "has no address");
    table->bytes.push_back({column.name, column.data, column.sizes});
  }
  for (size_t i = 0; i < given.column_count; ++i) {
    const pst_memory_column &column = given.columns[i];
    const int64_t rows = column.rank > 0 ? column.extents[0] : 0;
    if (rows != given.length)
      return refuse(column.name, "has " + std::to_string(rows) + " rows, and the table " +
                                     std::to_string(given.length));
    Table::Column &made = table->columns.emplace_back();
    made = {column.name,
            column.dtype,
            {column.extents + 1, column.extents + column.rank},
            runtime::sizeOf(dtypeFrom(column.dtype)),
            static_cast<const uint8_t *>(column.data)};
    int64_t all = rows;
    bool good = made.rowBytes > 0 && (made.data || !rows);
    for (int64_t extent : made.extents)
      good = good && extent >= 0 && !__builtin_mul_overflow(made.rowBytes, extent, &made.rowBytes);
    if (!good || __builtin_mul_overflow(all, made.rowBytes, &all))
      return refuse(column.name, "has no type, no address or an impossible size");
  }
  runtime::ExternalTable result;
  result.length = given.length;
  result.anyThread = given.any_thread || !given.read;
  result.files = &files;
  if (!given.read) {
    auto &names = result.columns.emplace();
    for (const Table::Bytes &column : table->bytes)
      names.push_back(column.name);
    for (const Table::Column &column : table->columns)
      names.push_back(column.name);
  }
  if (given.read || given.bytes_count || given.column_count)
    result.read = [table](int64_t number, runtime::ExternalRow &out) {
      return table->readRow(number, out);
    };
  return result;
}

/// The number of a column that is used, or -1.
static int64_t numberOf(const pst_row &row, const char *column) {
  if (!column)
    return -1;
  const auto &columns = row.row.columns();
  for (size_t i = 0; i < columns.size(); ++i)
    if (row.row.isUsed(i) && columns[i].name == column)
      return int64_t(i);
  row.row.noteOther(column);
  return -1;
}

template <typename Set> static pst_status set(pst_row *row, const char *column, Set &&setter) {
  if (runtime::Status status = checkText(column, "column"); !status) {
    pst_row_fail(row, status.error().message.c_str());
    return PST_ERROR;
  }
  const auto fail = [&](const runtime::Error &why) {
    if (row->error.message.empty())
      row->error = why;
    return PST_ERROR;
  };
  return catching(
      [&] {
        const int64_t number = numberOf(*row, column);
        if (number < 0)
          return PST_OK;
        const runtime::Status status = setter(row->row, size_t(number));
        return status ? PST_OK : fail(status.error());
      },
      fail);
}

pst_field pst_row_wants(const pst_row *row, const char *column) {
  const int64_t number = numberOf(*row, column);
  if (number < 0)
    return PST_FIELD_NONE;
  const runtime::ColumnInfo &info = row->row.columns()[size_t(number)];
  return info.isBlob() ? PST_FIELD_BYTES : info.isTensor() ? PST_FIELD_ARRAY : PST_FIELD_NUMBER;
}

pst_status pst_row_bytes(pst_row *row, const char *column, const void *data, size_t size) {
  return set(row, column, [&](runtime::ExternalRow &to, size_t number) -> runtime::Status {
    if (runtime::Status status = checkArray(data, size, "data"); !status)
      return status;
    return to.setBytes(number, {static_cast<const uint8_t *>(data), size});
  });
}

pst_status pst_row_file(pst_row *row, const char *column, const char *path) {
  return set(row, column, [&](runtime::ExternalRow &to, size_t number) {
    return to.setFile(number, path ? path : "");
  });
}

pst_status pst_row_pixels(pst_row *row, const char *column, const void *data, int64_t height,
                          int64_t width, int64_t channels, const int64_t *strides) {
  return set(row, column, [&](runtime::ExternalRow &to, size_t number) {
    return to.setPixels(number, static_cast<const uint8_t *>(data), height, width, channels,
                        strides);
  });
}

pst_status pst_row_int(pst_row *row, const char *column, int64_t value) {
  return set(row, column,
             [&](runtime::ExternalRow &to, size_t number) { return to.setInteger(number, value); });
}

pst_status pst_row_float(pst_row *row, const char *column, double value) {
  return set(row, column,
             [&](runtime::ExternalRow &to, size_t number) { return to.setNumber(number, value); });
}

pst_status pst_row_array(pst_row *row, const char *column, pst_dtype dtype, int32_t rank,
                         const int64_t *extents, const int64_t *strides, const void *data) {
  return set(row, column, [&](runtime::ExternalRow &to, size_t number) -> runtime::Status {
    if (runtime::Status status = checkArray(extents, size_t(std::max(rank, 0)), "extents"); !status)
      return status;
    return to.setTensor(number, dtypeFrom(dtype), {extents, rank > 0 ? size_t(rank) : 0}, strides,
                        static_cast<const uint8_t *>(data));
  });
}

pst_status pst_row_list(pst_row *row, const char *column, pst_dtype dtype, int32_t rank,
                        const int64_t *extents, const void *data) {
  return set(row, column, [&](runtime::ExternalRow &to, size_t number) -> runtime::Status {
    if (runtime::Status status = checkArray(extents, size_t(std::max(rank, 0)), "extents"); !status)
      return status;
    if (dtype != PST_I64 && dtype != PST_F64 && dtype != PST_BOOL)
      return runtime::Error{runtime::Code::InvalidArgument,
                            "a list is of PST_I64, PST_F64 or PST_BOOL"};
    return to.setList(number, dtypeFrom(dtype), {extents, rank > 0 ? size_t(rank) : 0},
                      static_cast<const uint8_t *>(data));
  });
}

void pst_row_name(pst_row *row, const char *name) { row->row.name = name ? name : ""; }

void pst_row_fail(pst_row *row, const char *message) {
  if (row->error.message.empty())
    row->error.message = message && *message ? message : "the caller gave no reason";
}
