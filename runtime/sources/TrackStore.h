// SPDX-License-Identifier: Apache-2.0
//
// Indexes of the videos and sounds that tables hold: made once, kept, and found again.
#pragma once

#include "runtime/core/CacheFolder.h"
#include "runtime/core/FileSystem.h"
#include "runtime/media/video/SoundTrack.h"
#include "runtime/media/video/Video.h"
#include "runtime/sources/Source.h"

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace penstock::runtime {

/// Finds the index of a file by its name, size and time: in memory, then among the
/// files of a folder, else it is made of the file and kept in both. Memory holds
/// those that were used last. Callable from any thread; several that want the same
/// file wait for the one that makes its index.
template <typename Track> class TrackStore {
public:
  static constexpr uint64_t mostBytes = uint64_t(64) << 20;
  /// Files are kept in so many folders, each of which has its share of the limit:
  /// those of a million files are slow to look into.
  static constexpr unsigned parts = 256;
  static constexpr uint64_t mostKeptBytes = uint64_t(4) << 30;

  /// `folder`: where indexes are kept between runs, below `videos` or `sounds`. `files`
  /// must outlive it.
  TrackStore(FileSystem &files, CacheFolder folder, uint64_t memory = mostBytes)
      : files(files), folder(std::move(folder)), most(memory) {}

  struct Found {
    std::shared_ptr<const Track> track;
    bool isMade = false; ///< by this call
  };
  /// Blocks. Errors say what is wrong with the file, and are kept in memory like
  /// indexes, but for those of reading it. \param index  where the table has it.
  Result<Found> find(const MediaPlace &place, std::span<const uint8_t> index = {});

  /// Counts since it was made: of indexes, and of bytes that were read for them.
  uint64_t made() const { return makes; }
  uint64_t bytesRead() const { return reads; }
  uint64_t memory() const;

private:
  static constexpr uint64_t entryBytes = 256; // beside the index and the name

  struct Entry {
    std::mutex lock; // of all below; held while the index is made
    uint64_t size = 0;
    int64_t modifiedNs = 0;
    bool isKnown = false;
    std::shared_ptr<const Track> track; // null: `problem`
    Error problem;
    std::atomic<uint64_t> bytes{entryBytes};
  };
  struct Slot {
    std::shared_ptr<Entry> entry;
    std::list<std::string>::iterator use;
    uint64_t bytes = 0;
  };

  Result<Found> findIn(Entry &entry, const MediaPlace &place, std::span<const uint8_t> index);
  std::shared_ptr<Entry> entryOf(const std::string &name);
  /// Takes the entry's memory into account, and forgets the ones that were not
  /// used for longest where it is too much.
  void settle(const std::string &name, const Entry &entry);
  Result<std::shared_ptr<const Track>> make(const MediaPlace &place);
  std::shared_ptr<const Track> load(const MediaPlace &place) const;
  void keep(const MediaPlace &place, std::span<const uint8_t> index) const;
  CacheFolder folderOf(const std::string &name) const;

  FileSystem &files;
  const CacheFolder folder;
  const uint64_t most;
  std::atomic<uint64_t> makes{0}, reads{0};
  mutable std::mutex lock; // of all below
  std::map<std::string, Slot, std::less<>> slots;
  std::list<std::string> uses; // the last one first
  uint64_t held = 0;
};

using VideoStore = TrackStore<Video>;
using SoundStore = TrackStore<SoundTrack>;

} // namespace penstock::runtime
