// SPDX-License-Identifier: Apache-2.0
//
// The cache of indexes of folders and tar files, kept between runs.
#pragma once

#include "runtime/core/CacheFolder.h"
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
  /// `kind` and `key` choose the file.
  IndexCache(FileSystem &files, const CacheFolder &folder, std::string_view kind,
             std::string_view key);

  /// Returns the kept bytes, to be held for long.
  Result<Mapping> map() const;
  /// As map(), for bytes that are used for a moment.
  Status read(Buffer &out) const;
  /// Keeps an index of files whose latest change is `lastChangeNs`. Times have
  /// the grain of the system's clock tick: what was changed just now may change
  /// again without showing it, and is not kept.
  void keep(std::span<const uint8_t> bytes, int64_t lastChangeNs) const;

private:
  void note() const;

  FileSystem &files;
  CacheFolder folder;
  std::string path; // empty: nowhere
};

} // namespace penstock::runtime
