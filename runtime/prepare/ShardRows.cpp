// SPDX-License-Identifier: Apache-2.0
#include "runtime/prepare/ShardRows.h"

#include "runtime/core/Parallel.h"
#include "runtime/sources/TarIndex.h"
#include "runtime/sources/TarShards.h"

#include <atomic>
#include <mutex>
#include <optional>

namespace penstock::runtime {

Result<ShardRowsReport> writeRowsOf(FileSystem &files, const std::string &shard) {
  auto index = TarIndex::ofShard(files, shard);
  if (!index)
    return index.error();
  if (Status status = files.writeFileAtomically(TarIndex::pathBeside(shard), index->bytes());
      !status)
    return status.error();
  return ShardRowsReport{1, index->rowCount(), index->shards()[0].size, index->bytes().size()};
}

Result<ShardRowsReport> writeShardRows(FileSystem &files, const std::string &path, int threads,
                                       const PrepareProgress &progress) {
  auto shards = tarShardsAt(files, path);
  if (!shards)
    return shards.error();
  ShardRowsReport report;
  std::optional<Error> failure;
  std::atomic<bool> stopped{false};
  std::mutex lock; // of the report and the failure
  parallelFor(shards->size(), threads, [&](size_t number) {
    if (stopped)
      return;
    auto written = writeRowsOf(files, (*shards)[number]);
    std::lock_guard guard(lock);
    if (written) {
      ++report.shards;
      report.rows += written->rows;
      report.dataBytes += written->dataBytes;
      report.indexBytes += written->indexBytes;
      if (!progress || progress(report.shards, shards->size()))
        return;
    }
    if (!failure)
      failure = written ? Error{Code::Cancelled, "interrupted; what was written is kept"}
                        : written.error();
    stopped = true;
  });
  if (failure)
    return *failure;
  return report;
}

} // namespace penstock::runtime
