// SPDX-License-Identifier: Apache-2.0
//
// csv(...): a table that is written as text, and may name files.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace penstock::runtime {

struct CsvColumn {
  std::string name;
  /// bytes: the contents of the file that the cell names; text: the cell; or a
  /// scalar type, for a number written in the cell.
  plan::DType type = plan::DType::none;
  /// The name in the file's first line, or the number of the column from 0.
  std::variant<std::string, int64_t> from;
  /// Extents of a list of numbers in the cell, in brackets or, if it has one axis, without; empty:
  /// the cell is a scalar.
  std::vector<Extent> dims = {};
  /// As ColumnInfo's.
  std::shared_ptr<const ClassNames> classes = nullptr;
};

struct CsvOptions {
  std::string path;
  /// The folder of the files of bytes columns, as in ListedFiles; empty: that of `path`.
  std::string root;
  char separator = ','; ///< '\0': a line is one cell, and quotes mean nothing
  bool header = true;   ///< the first row has the columns' names
  uint64_t maxFileBytes = uint64_t(1) << 30;
};

/// Maps the file and reads it once from end to end: every row's cells are
/// counted, every number is checked. Takes 8 bytes of memory a row.
/// `files` must outlive the source.
///
/// Errors have the place, "list.csv:17: ...": a column that is not there, rows
/// of another length than the first, numbers that are none. A file that cannot
/// be read is a row all the same, and fails when it is fetched; so does a list
/// with too many or too few elements, when it is read.
Result<std::unique_ptr<Source>> openCsv(FileSystem &files, const CsvOptions &options,
                                        const std::vector<CsvColumn> &columns);

} // namespace penstock::runtime
