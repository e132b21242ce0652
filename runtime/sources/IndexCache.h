// Where indexes of folders and tar files are kept between runs.
#pragma once

#include "runtime/core/FileSystem.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace penstock::runtime {

/// One file of the cache folder. All trouble is silent: a full disk costs the
/// next start some time, not this one its life.
class IndexCache {
public:
  /// `kind` and `key` choose the file; an empty `folder` keeps nothing.
  IndexCache(FileSystem &files, const std::string &folder, std::string_view kind,
             std::string_view key);

  /// The bytes that were kept.
  Result<Mapping> load() const;
  /// Keeps an index of files whose latest change is `lastChangeNs`. Times have
  /// the grain of the system's clock tick: what was changed just now may change
  /// again without showing it, and is not kept.
  void keep(std::span<const uint8_t> bytes, int64_t lastChangeNs) const;

private:
  FileSystem &files;
  std::string path; // empty: nowhere
};

} // namespace penstock::runtime
