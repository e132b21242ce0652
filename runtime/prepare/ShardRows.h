// SPDX-License-Identifier: Apache-2.0
//
// Where the rows of tar files lie, written beside them.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/prepare/IndexData.h"

#include <cstdint>
#include <string>

namespace penstock::runtime {

struct ShardRowsReport {
  uint64_t shards = 0, rows = 0;
  uint64_t dataBytes = 0, indexBytes = 0;
};

/// Writes `<shard>.index` beside a shard. Returns its rows and sizes, `shards` being 1.
Result<ShardRowsReport> writeRowsOf(FileSystem &files, const std::string &shard);

/// Does so for all shards that `tar_shards` finds at `path`, several at a time.
///
/// Errors: those of reading and writing; Cancelled, with what was written kept.
Result<ShardRowsReport> writeShardRows(FileSystem &files, const std::string &path, int threads,
                                       const PrepareProgress &progress);

} // namespace penstock::runtime
