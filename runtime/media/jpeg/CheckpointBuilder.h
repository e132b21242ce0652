// SPDX-License-Identifier: Apache-2.0
//
// Writing of a sidecar, whose finished parts survive a kill.
#pragma once

#include "runtime/media/jpeg/CheckpointFile.h"

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace penstock::runtime {

/// Collects records from many threads, and keeps them every few seconds in files
/// `<path>.part1` ..., which the next builder of the same path begins with. A
/// part has up to `partBytes`, and so has what is held in memory.
class CheckpointBuilder {
public:
  static constexpr size_t partBytes = 64 << 20;
  using Files = std::vector<CheckpointFile>;

  /// Takes the sidecar at `path`, if there is one, and its parts. One that cannot
  /// be used is left out, with a line in `warnings`.
  /// `interval`: how often added entries are written.
  CheckpointBuilder(FileSystem &files, std::string path, std::vector<std::string> &warnings,
                    std::chrono::milliseconds interval = std::chrono::seconds(5));

  /// Adds a record. Any thread. The error is that of a file that cannot be written; the record is
  /// held nevertheless.
  Status add(CheckpointRecord record);
  /// Returns the entries that are on disk by now. Any thread.
  std::shared_ptr<const Files> known() const;

  /// Puts all entries that `keep` takes into the one file, and removes the parts;
  /// returns its size. No add() may run.
  Result<uint64_t> finish(const std::function<bool(const CheckpointEntry &)> &keep);
  Result<uint64_t> finish() {
    return finish([](const CheckpointEntry &) { return true; });
  }
  /// Returns whether add() was called since the last finish().
  bool changed() const;

private:
  std::string partPath(size_t number) const { return path + ".part" + std::to_string(number); }
  Status writePart();

  FileSystem &files;
  const std::string path;
  const std::chrono::milliseconds interval;
  mutable std::mutex lock;
  std::shared_ptr<const Files> onDisk;
  std::vector<CheckpointRecord> pending; // of the part that grows
  size_t pendingBytes = 0;
  size_t parts = 0; // that are full
  bool writing = false, hasParts = false, added = false;
  std::chrono::steady_clock::time_point written;
};

/// Opens a sidecar; a line in `warnings` where there is one that cannot be used.
void openCheckpoints(FileSystem &files, const std::string &path, CheckpointBuilder::Files &out,
                     std::vector<std::string> &warnings);

} // namespace penstock::runtime
