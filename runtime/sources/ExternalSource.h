// SPDX-License-Identifier: Apache-2.0
//
// external_source(...): rows that a function of the caller gives.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace penstock::runtime {

/// The fields of one row. It owns what it holds: the caller's memory is copied, so that
/// nothing of it must live on, and nobody has to be called when a sample is done.
///
/// The setters check what they are given against the column (`column` < columns): a
/// wrong type, shape or size is an error, and the row of no use. Memory is reused from
/// row to row. Not thread-safe.
class ExternalRow {
public:
  /// Most bytes of a field.
  static constexpr int64_t mostBytes = int64_t(1) << 30;

  struct Field {
    enum class Kind { None, Scalar, Bytes, File, Tensor } kind = Kind::None;
    int64_t scalar = 0; ///< as Source::scalar()
    Buffer bytes;       ///< Bytes and Tensor
    std::string path;   ///< File
    TensorView tensor;  ///< its extents
  };

  /// Forgets the last row. The columns, and which of them are `used`, must live until the
  /// row is cleared.
  void begin(const std::vector<ColumnInfo> &columns, const std::vector<bool> &used);
  /// Empties it, but for its name, and gives back buffers that grew beyond `limit`.
  /// Returns how many bytes there were.
  int64_t clear(size_t limit);

  const std::vector<ColumnInfo> &columns() const { return *table; }
  /// Returns whether the pipeline uses the column; others need not be set.
  bool isUsed(size_t column) const { return (*used)[column]; }
  Field &operator[](size_t column) { return fields[column]; }
  const Field &operator[](size_t column) const { return fields[column]; }
  int64_t bytes() const;

  Status setInteger(size_t column, int64_t value);
  Status setNumber(size_t column, double value);
  Status setBytes(size_t column, std::span<const uint8_t> value);
  /// Sets the bytes of a file, which is read later.
  Status setFile(size_t column, std::string path);
  /// Sets u8 pixels as an image that `decode` takes: `channels` is 1 or 3, `strides` (bytes) are of
  /// rows, columns and channels.
  Status setPixels(size_t column, const uint8_t *data, int64_t height, int64_t width,
                   int64_t channels, const int64_t *strides);
  /// Sets an array. `strides` in bytes; null: C order. One without elements may have any type, and
  /// lack inner extents.
  Status setTensor(size_t column, plan::DType type, std::span<const int64_t> extents,
                   const int64_t *strides, const uint8_t *data);

  /// Sets an array to numbers that have no type of their own, i64, f64 or boolean as they were
  /// read, in C order: each is converted as setInteger() and setNumber() do.
  Status setList(size_t column, plan::DType type, std::span<const int64_t> extents,
                 const uint8_t *data);

  /// Remembers that the caller has something of a name that is no column, for messages.
  void noteOther(std::string_view name);
  /// Returns which those are, as "`a`, `b`"; empty where there are none.
  const std::string &others() const { return strange; }

  /// The row's name in messages; empty: its number.
  std::string name;
  Status status; ///< of ExternalSource::read()

private:
  Status wrong(size_t column, const std::string &what) const;
  template <typename Number> Status setScalar(size_t column, Number value);
  /// Makes room for a tensor. `extents` are then those of the column where they have no elements.
  Status makeTensor(size_t column, plan::DType type, std::span<const int64_t> &extents,
                    std::vector<int64_t> &empty);

  const std::vector<ColumnInfo> *table = nullptr;
  const std::vector<bool> *used = nullptr;
  std::vector<Field> fields;
  std::string strange;
};

/// A table of the caller's.
struct ExternalTable {
  int64_t length = 0;
  /// Fills the fields of row `row`. Called on threads that fetch (and on that of
  /// Session::sample()), for any row, in any order, as often as it is needed.
  std::function<Status(int64_t row, ExternalRow &out)> read;
  /// The columns that all rows have, and no others; absent: that is seen row by row.
  std::optional<std::vector<std::string>> columns;
  /// Calls may overlap; else one is made at a time.
  bool anyThread = false;
  /// Opens the files that rows name; null: they may name none. Must outlive the source.
  FileSystem *files = nullptr;
};

class ExternalSource final : public Source {
public:
  ExternalSource(ExternalTable table, std::vector<ColumnInfo> columns, std::vector<bool> used);

  /// Asks for a row. Blocks. The error has the caller's words. Cancelled, without a call, where
  /// `*stop` is set by the time that the call would begin.
  Status read(int64_t row, ExternalRow &out, const volatile uint8_t *stop) const;
  /// Takes a bytes field of a row that was read: moves it, or reads its file. Blocks.
  Status take(ExternalRow &row, size_t column, bool isLast, Buffer &out) const;
  /// As Source::place(), of a row that was read.
  Result<MediaPlace> placeOf(const ExternalRow &row, size_t column) const;

  /// There are no numbers but those of a row that was read.
  Result<int64_t> scalar(int64_t row, int column) const override;
  Status shape(int64_t row, int column, TensorView &out) const override;

private:
  const ExternalTable table;
  const std::vector<bool> used; ///< by column
  mutable std::mutex one;       ///< of the calls
};

/// Errors: InvalidArgument where the length or a column cannot be, or a used one is not there.
Result<std::unique_ptr<ExternalSource>>
openExternal(ExternalTable table, std::vector<ColumnInfo> columns, std::vector<bool> used);

} // namespace penstock::runtime
