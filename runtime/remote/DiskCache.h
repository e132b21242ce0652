// SPDX-License-Identifier: Apache-2.0
//
// What was read of far files, kept in a folder of this machine.
#pragma once

#include "runtime/core/Buffer.h"
#include "runtime/core/Status.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>

namespace penstock::runtime {

/// Blocks of files, each with its checksum: one that is damaged, or was being written as the
/// machine stopped, is read from the server again. Any number of threads and processes of one
/// machine use a folder at once.
///
/// Each file is a sparse one here, named by the hash of its URL: Header; the texts it counts; at
/// the next multiple of 8, u64[blocks], checksums (XXH3) or 0 where nothing is; at the next
/// multiple of 4,096 the blocks, each at its place. The time of its last change is that of its last
/// use.
class DiskCache {
public:
  static constexpr uint64_t blockBytes = 64 << 10;

  /// A file, as a server had it.
  struct State {
    std::string version, lastModified; ///< as HttpResponse has them
    uint64_t size = 0;
    bool operator==(const State &) const = default;
  };
  struct Found {
    State state;
    bool isChecked = false; ///< the server has confirmed it since this cache was opened
  };
  /// Reads a part of the file from the server, all of it.
  using Fetch = std::function<Status(uint64_t offset, uint64_t count, Buffer &out)>;

  /// \param folder  of this user alone, on a disk of this machine
  /// \param mostBytes  the most that it may take; 0: all but a twentieth of the disk, which stays
  ///                   free whatever is given
  static Result<std::unique_ptr<DiskCache>> open(std::string folder, uint64_t mostBytes);
  ~DiskCache();
  DiskCache(const DiskCache &) = delete;

  /// Returns what is known of a file.
  std::optional<Found> find(const std::string &url) const;
  /// Notes what a server has just said of a file; what was kept of another version goes. False
  /// where nothing will be kept of it.
  bool confirm(const std::string &url, const State &state);
  /// Removes what is kept of a file.
  void forget(const std::string &url);
  /// Keeps the beginning of a file, or all of it.
  void keepHead(const std::string &url, const State &state, std::span<const uint8_t> bytes);
  /// Reads `count` bytes, at least one, of which all lie in the file; those that are not here by
  /// one call of `fetch`.
  Status read(const std::string &url, const State &state, uint64_t offset, uint64_t count,
              Buffer &out, const Fetch &fetch);

private:
  class Entry;

  DiskCache(std::string folder, uint64_t mostBytes);
  std::string pathOf(const std::string &url) const;
  /// Writes blocks from the `first` on, for which there is room.
  void keep(Entry &entry, uint64_t first, std::span<const uint8_t> bytes);
  /// Bytes that are counted, and perhaps not written yet; false where there was no room.
  class Reservation {
  public:
    Reservation() = default;
    Reservation(DiskCache &cache, int64_t bytes) : cache(&cache), bytes(bytes) {
      cache.inFlight += bytes;
    }
    Reservation(Reservation &&other) noexcept
        : cache(std::exchange(other.cache, nullptr)), bytes(other.bytes) {}
    ~Reservation() {
      if (cache)
        cache->inFlight -= bytes;
    }
    explicit operator bool() const { return cache; }

  private:
    DiskCache *cache = nullptr;
    int64_t bytes = 0;
  };
  /// Counts `bytes` more, for which what was not used for long may have to go.
  Reservation reserve(uint64_t bytes);
  void makeRoom(uint64_t bytes);
  /// Adds to what all processes have in the folder.
  void count(int64_t bytes);
  /// Writes what this process has added to what all have. Returns the sum.
  uint64_t publish();
  /// Says what the folder has, as it was found since publish() gave `before`.
  void correct(uint64_t bytes, uint64_t before);
  uint64_t freeMissing() const;

  const std::string folder;
  const uint64_t most;
  int64_t startNs;
  int folderFd = -1, usersFd = -1, usedFd = -1, roomFd = -1;
  std::mutex lock, room;            ///< of `used`, and who makes room
  std::atomic<int64_t> pending{0};  ///< bytes that the file `used` does not count yet
  std::atomic<int64_t> inFlight{0}; ///< of all Reservation
  std::atomic<uint64_t> used{0};    ///< what it said last, by this process or another
  std::atomic<int64_t> nextRoomNs{0};
};

} // namespace penstock::runtime
