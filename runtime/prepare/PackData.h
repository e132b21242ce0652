// SPDX-License-Identifier: Apache-2.0
//
// An image folder as large tar files: the same bytes, one after the other.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/prepare/IndexData.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace penstock::runtime {

struct PackOptions {
  std::string root; ///< an image folder, as the source `image_folder` reads it
  std::string out;  ///< an existing folder, empty or with a pack that was interrupted
  uint64_t shardSize = uint64_t(1) << 30;
  int threads = 1;
  bool verify = false; ///< compares every byte of the shards afterwards
};

struct PackReport {
  uint64_t images = 0, shards = 0;
  uint64_t dataBytes = 0, outBytes = 0;
  uint64_t renamed = 0;  ///< members that could not keep their names
  uint64_t earlier = 0;  ///< shards of an interrupted run
  uint64_t verified = 0; ///< bytes that were compared
  std::vector<std::pair<std::string, std::string>> leftOut; ///< name, reason
  std::vector<std::string> extensions;                      ///< of the images, in small letters
};

/// Writes `000000.tar` ... with, for each image in the order of `image_folder`,
/// the file and `<name>.cls`, the number of its class; checkpoints of them as
/// the member `__checkpoints__`; and `penstock-pack.txt`, which lists shards and
/// classes; beside each shard `<shard>.index`, where its rows lie. The bytes depend on the data and
/// the shard size only; shards that are there are not written again.
///
/// Members have the files' names, but for those that `tar_shards` would read
/// otherwise: a second dot in a name, or two names that differ behind the dot
/// only. Files that cannot be read are left out, and listed.
///
/// Errors: InvalidArgument where `out` holds something else; Corrupt where
/// verifying finds a byte that differs; Cancelled.
Result<PackReport> packData(FileSystem &files, const PackOptions &options,
                            const PrepareProgress &progress);

} // namespace penstock::runtime
