// SPDX-License-Identifier: Apache-2.0
//
// tar_shards(...): rows in tar files, in the manner of WebDataset.
#pragma once

#include "runtime/core/CacheFolder.h"
#include "runtime/core/FileSystem.h"
#include "runtime/sources/Source.h"

#include <memory>
#include <string>
#include <vector>

namespace penstock::runtime {

struct TarColumn {
  std::string name;
  /// bytes and text: the member's contents; or a scalar type, for a number
  /// written in it.
  plan::DType type = plan::DType::none;
  /// The member's extension, "jpg"; "jpg;png" takes the first that a row has.
  /// "__key__" is the row's name.
  std::string from;
  /// As ColumnInfo's.
  std::shared_ptr<const ClassNames> classes = nullptr;
};

struct TarOptions {
  /// A folder whose `.tar` files are taken by name, one such file, or a text with
  /// a path per line, relative to its folder.
  std::string path;
  /// The folder for the index, which is kept between runs.
  CacheFolder cacheFolder;
  uint64_t maxFileBytes = uint64_t(1) << 30;
};

/// The shards that `path` of TarOptions stands for, in their order.
Result<std::vector<std::string>> tarShardsAt(FileSystem &files, const std::string &path);

/// Reads the headers of all files, or takes the index of an earlier run if no
/// file has changed since. Contents are read when they are fetched, from the
/// place that the index has. `files` must outlive the source.
///
/// Errors name the file. A row without a member that a column wants is a row,
/// and fails when it is fetched; a column that no row has is an error.
Result<std::unique_ptr<Source>> openTarShards(FileSystem &files, const TarOptions &options,
                                              const std::vector<TarColumn> &columns);

} // namespace penstock::runtime
