// SPDX-License-Identifier: Apache-2.0
//
// Files that the rows of a table name.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <string>

namespace penstock::runtime {

/// Opens none outside of `root`.
struct ListedFiles {
  FileSystem &files;
  std::string list; ///< for messages: who names them
  std::string root;
  uint64_t maxBytes = uint64_t(1) << 30;

  Status fetch(const std::string &name, int64_t row, Buffer &out) const;
  /// For reading parts of it, as Source::place().
  Result<MediaPlace> place(const std::string &name, int64_t row) const;

private:
  Result<std::string> pathOf(const std::string &name, int64_t row) const;
};

} // namespace penstock::runtime
