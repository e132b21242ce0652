// SPDX-License-Identifier: Apache-2.0
//
// Files that the rows of a table name.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <string>

namespace penstock::runtime {

/// A name is one below `root`, or an absolute path in any folder that is open; no name leads out of
/// `root` by `..`, and none is empty.
struct ListedFiles {
  FileSystem &files;
  std::string list; ///< for messages: who names them
  std::string root; ///< normalized
  uint64_t maxBytes = uint64_t(1) << 30;

  Status fetch(const std::string &name, Buffer &out) const;
  /// Returns a file, to read parts of it, as Source::place().
  Result<MediaPlace> place(const std::string &name) const;

private:
  Result<std::string> pathOf(const std::string &name) const;
};

/// Returns the folder of the files that a list names: `root`, or the list's own if that is empty.
std::string folderOfList(std::string_view list, std::string_view root);

} // namespace penstock::runtime
