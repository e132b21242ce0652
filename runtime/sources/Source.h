// SPDX-License-Identifier: Apache-2.0
//
// The interface of a table of samples, which every source of data implements.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/DType.h"
#include "runtime/core/FileSystem.h"
#include "runtime/core/Status.h"

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace penstock::runtime {

class ClassNames;

/// An extent of a tensor column's rows. Static ones have minimum == bound.
struct Extent {
  int64_t minimum = 0;
  int64_t bound = 0;
  bool isStatic() const { return minimum == bound; }
};

/// `type` bytes and text stand for themselves; any other type without dims is
/// a scalar, and with dims a tensor, of which the leading extent alone may
/// differ from row to row.
struct ColumnInfo {
  std::string name;
  plan::DType type = plan::DType::none;
  std::vector<Extent> dims;
  /// Of a scalar that is written as the name of a class; null: as a number.
  std::shared_ptr<const ClassNames> classes = nullptr;

  bool isBlob() const { return type == plan::DType::bytes; }
  bool isText() const { return type == plan::DType::text; }
  bool isTensor() const { return !dims.empty(); }
  bool isScalar() const { return !isBlob() && !isText() && !isTensor(); }
  /// Returns the type as text: "u8[32, 32, 3]", "f32[k <= 10, 4]", "i64".
  std::string typeText() const;
};

/// A row's tensor in C order without gaps.
struct TensorView {
  static constexpr int maxRank = 8;
  const uint8_t *data = nullptr;
  int rank = 0;
  std::array<int64_t, maxRank> extents{};
  int64_t elements() const;
};

/// A part of a file.
struct FilePart {
  std::string path;
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// Bytes of a file that can be read in parts.
struct MediaPlace {
  std::shared_ptr<OpenFile> file;
  uint64_t offset = 0;
  uint64_t size = 0;
  int64_t modifiedNs = 0; ///< of the file, when it was opened
  std::string name;       ///< the same in every run: a path, and the place in it
};

/// Returns the place of a whole file. Blocks while it is opened.
Result<MediaPlace> placeOfFile(FileSystem &files, std::string path);

/// A length, and rows whose fields are fetched one by one. Immutable: any
/// number of threads may read. `row` < length() and `column` < columns().size()
/// of the right kind are the caller's duty.
class Source {
public:
  virtual ~Source();

  int64_t length() const { return rows; }
  const std::vector<ColumnInfo> &columns() const { return table; }
  /// The number of a column, or -1.
  int columnNumber(std::string_view name) const;

  /// Returns the row's name for reports: a file, or "row 17".
  virtual std::string rowName(int64_t row) const;
  /// Returns the name of the file that a bytes column is of, as the table writes it; "" where it
  /// writes none.
  virtual std::string fileName(int64_t, int) const { return ""; }
  /// Reads a scalar column: integers and bool as i64, floats as the bits of an f64.
  virtual Result<int64_t> scalar(int64_t row, int column) const;
  virtual Result<std::string> text(int64_t row, int column) const;
  /// Reads a text that belongs to a row and is no column of the table, such as a cell of a file's
  /// column that the pipeline does not name. `column`: its name there.
  virtual Result<std::string> otherText(int64_t row, std::string_view column) const;
  /// Reads a bytes column. May block on files; `out` is reused.
  virtual Status fetch(int64_t row, int column, Buffer &out) const;
  /// Returns the file of a bytes column, to read parts of it; Unsupported if the bytes are no
  /// file's. Blocks while it is opened.
  virtual Result<MediaPlace> place(int64_t row, int column) const;
  /// The names of the classes that a column `label` numbers; empty where it has none.
  virtual std::vector<std::string> classNames() const;
  /// Returns the source's own index of a bytes column's contents, such as one of
  /// a video; empty if it has none. Lives as long as the source. Never blocks.
  virtual std::span<const uint8_t> mediaIndex(int64_t row, int column) const;
  /// Returns the number of media indexes that were made when the source was opened.
  virtual uint64_t indexesMade() const;
  /// The extents of a tensor column, without its data. Never blocks.
  virtual Status shape(int64_t row, int column, TensorView &out) const;
  /// Reads a tensor column: the view points into memory that lives as long as the source, or into
  /// `scratch`, which is then filled.
  virtual Result<TensorView> tensor(int64_t row, int column, Buffer &scratch) const;
  /// Returns how many rows lie behind this one in the memory that tensor() points into.
  virtual int64_t rowsBehind(int64_t row) const { return rows - 1 - row; }
  /// Sidecars with checkpoints that the source's files hold themselves.
  virtual std::vector<FilePart> checkpointParts() const;
  /// Prefetches a scalar or tensor that will be asked for within microseconds: values in memory may
  /// be brought into the cache. Never blocks, does no work.
  virtual void prefetch(int64_t row, int column) const;

protected:
  Source(int64_t rows, std::vector<ColumnInfo> table) : rows(rows), table(std::move(table)) {}
  Error noSuchField(int column, const char *wanted) const;

private:
  int64_t rows;
  std::vector<ColumnInfo> table;
};

/// Returns the scalar at `data` in the form of Source::scalar().
int64_t loadScalar(plan::DType type, const uint8_t *data);

} // namespace penstock::runtime
