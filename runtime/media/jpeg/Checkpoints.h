// SPDX-License-Identifier: Apache-2.0
//
// The checkpoints that a source's files have, wherever they are kept.
#pragma once

#include "runtime/media/jpeg/CheckpointBuilder.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace penstock::runtime {

/// Finds checkpoints by the bytes of files, so that it does not matter where
/// files lie, how they are called, and whether they have changed since: those
/// with other bytes have none. May make what is missing.
class Checkpoints final : public EntropyIndexes {
public:
  /// `build`: the sidecar for checkpoints that find() makes; empty: it makes none.
  Checkpoints(FileSystem &files, CheckpointBuilder::Files found, const std::string &build,
              std::vector<std::string> &warnings);

  bool find(std::span<const uint8_t> file, EntropyIndex &index) override;
  bool isEmpty() const { return found.empty() && !builder; }
  /// Most memory that it takes beside files that are mapped.
  uint64_t heldBytes() const;
  /// Keeps new checkpoints; blocks. Failures cost time only.
  void save();

private:
  bool make(std::span<const uint8_t> file, EntropyIndex &index);

  /// The place of an entry, for when there are many files.
  struct Place {
    uint64_t checksum;
    uint32_t file, entry;
  };

  const CheckpointBuilder::Files found;
  std::vector<Place> places;                  // by checksum; empty where there are few files
  std::unique_ptr<CheckpointBuilder> builder; // null: nothing is made
  std::atomic<bool> broken{false};            // it cannot be kept
  std::mutex lock;                            // of makers
  std::vector<std::unique_ptr<CheckpointMaker>> makers;
};

} // namespace penstock::runtime
