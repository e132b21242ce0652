// SPDX-License-Identifier: Apache-2.0
//
// Checkpoints of all images of a data set.
#pragma once

#include "runtime/core/FileSystem.h"
#include "runtime/media/jpeg/CheckpointFile.h"
#include "runtime/prepare/Listing.h"

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace penstock::runtime {

/// Called from any thread, one call at a time; false stops the work.
using PrepareProgress = std::function<bool(uint64_t done, uint64_t total)>;

struct IndexReport {
  uint64_t images = 0;
  /// Images whose entries are of an earlier run.
  uint64_t earlier = 0;
  /// Images by CheckpointState; the first state is that of files with checkpoints.
  std::array<uint64_t, checkpointStateCount> states{};
  uint64_t unreadable = 0; ///< files that could not be read
  uint64_t others = 0;     ///< files that are no images by their names
  uint64_t dataBytes = 0;  ///< of the images
  uint64_t indexBytes = 0; ///< of the sidecar
  /// The first of those without checkpoints, with the reason.
  std::vector<std::pair<std::string, std::string>> leftOut;
  std::vector<std::string> warnings;
};

/// Writes the sidecar `out` of all images of a listing, on several threads. What
/// an earlier or interrupted run has done, and whose name, size and time have not
/// changed, is not read again; what is no longer there is left out.
///
/// Errors: those of writing; Cancelled, with the finished part kept; NotFound, with nothing
/// written, where no image of a list can be read.
Result<IndexReport> indexData(FileSystem &files, const Listing &listing, const std::string &out,
                              int threads, const PrepareProgress &progress);

} // namespace penstock::runtime
