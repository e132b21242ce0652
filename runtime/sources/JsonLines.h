// SPDX-License-Identifier: Apache-2.0
//
// json_lines(...): a table of JSON objects, one per line, which may name files.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <memory>
#include <string>
#include <vector>

namespace penstock::runtime {

struct JsonColumn {
  /// The column's name and type: bytes are the contents of the file that the value names; text,
  /// scalars and lists of numbers stand in the value.
  ColumnInfo info;
  std::string key;
};

struct JsonLinesOptions {
  std::string path;
  /// The folder of the files of bytes columns, as in ListedFiles; empty: that of `path`.
  std::string root;
};

/// Maps the file and reads it once from end to end: every line is a whole object and
/// has a value of the right kind for each column. What stays in memory is 8 bytes a
/// row. `files` must outlive the source.
///
/// Errors have the place, "train.jsonl:17: ...". A file that cannot be read is a row
/// all the same, and fails when it is fetched; so does a list with too many or too
/// few elements, when it is read.
Result<std::unique_ptr<Source>> openJsonLines(FileSystem &files, const JsonLinesOptions &options,
                                              const std::vector<JsonColumn> &columns);

} // namespace penstock::runtime
