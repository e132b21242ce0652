// SPDX-License-Identifier: Apache-2.0
//
// Cache folders of files that can be made again, and their cleaning.
#pragma once

#include "runtime/core/FileSystem.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// One folder, and the limit of its files. Files are known by their names (cacheKindOf);
/// all others stay for ever.
struct CacheFolder {
  std::string path; ///< empty: nothing is kept
  /// Most bytes of the files that are read in one go; 0: all files stay, as they do where a
  /// pipeline names the folder.
  uint64_t mostBytes = 0;

  CacheFolder() = default;
  CacheFolder(std::string path, uint64_t mostBytes = 0)
      : path(std::move(path)), mostBytes(mostBytes) {}
  CacheFolder(const char *path) : path(path) {}

  /// The user's cache: some thousand compiled programs, and indexes of tables.
  static CacheFolder ofUser(std::string path) { return {std::move(path), uint64_t(64) << 20}; }
};

/// Use of a file by its readers: read when it is opened, or mapped for days. On a network disk,
/// removing a mapped file would end their process.
enum class CacheKind { Unknown, Read, Mapped };
CacheKind cacheKindOf(std::string_view name);

/// Sets the time of a file that is used to now; if it is of this hour, nothing. No
/// trouble is told, of this or of limitCache().
void noteUse(FileSystem &files, const std::string &path);

/// Removes files that were not used for 90 days, and of the files that are read in one go
/// those beyond `mostBytes` that were not used for longest, but for those of the
/// last day. Whoever adds a file calls it; it looks once a day.
///
/// Others may use the folder meanwhile, on this machine or another: those who read
/// what is removed have it or find nothing, and make it again.
void limitCache(FileSystem &files, const CacheFolder &folder);

} // namespace penstock::runtime
