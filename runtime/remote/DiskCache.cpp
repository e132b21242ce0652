// SPDX-License-Identifier: Apache-2.0
#include "runtime/remote/DiskCache.h"

#include "runtime/core/Clock.h"
#include "runtime/core/FileSystem.h"
#include "runtime/core/Memory.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

constexpr std::array<char, 8> magic = {'P', 'S', 'T', 'K', 'F', 'A', 'R', '1'};
constexpr uint64_t page = 4096, mostTexts = 64 << 10;
/// What a process may add before it tells the others.
constexpr int64_t untold = 16 << 20;
constexpr int64_t second = 1'000'000'000;

struct Header {
  std::array<char, 8> magic;
  uint64_t checksum; // of what follows `checkedNs`, and of the texts
  int64_t checkedNs; // when the server last said that this is the file
  uint64_t size;
  uint32_t url, version, lastModified; // lengths of the texts
  uint32_t reserved;
};
constexpr size_t covered = offsetof(Header, size);

uint64_t upTo(uint64_t bytes, uint64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

/// Never 0, which stands for no block.
uint64_t checksumOf(std::span<const uint8_t> bytes) {
  return std::max<uint64_t>(1, XXH3_64bits(bytes.data(), bytes.size()));
}

int64_t lastUseNs(const struct stat &info) {
  return int64_t(info.st_mtim.tv_sec) * second + info.st_mtim.tv_nsec;
}

uint64_t bytesOnDisk(const struct stat &info) { return uint64_t(info.st_blocks) * 512; }

/// Reads all of it, or returns false.
bool readAt(int fd, uint64_t at, void *to, size_t size) {
  for (auto *out = static_cast<char *>(to); size;) {
    const ssize_t got = ::pread(fd, out, size, off_t(at));
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      return false;
    out += got;
    at += uint64_t(got);
    size -= size_t(got);
  }
  return true;
}

bool writeAt(int fd, uint64_t at, const void *from, size_t size) {
  for (const auto *in = static_cast<const char *>(from); size;) {
    const ssize_t put = ::pwrite(fd, in, size, off_t(at));
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    in += put;
    at += uint64_t(put);
    size -= size_t(put);
  }
  return true;
}

bool lockFile(int fd, int how) {
  int result = 0;
  do
    result = ::flock(fd, how);
  while (result != 0 && errno == EINTR);
  return result == 0;
}

/// A file of the folder, which another process may remove.
struct Kept {
  std::string name;
  int64_t lastUseNs;
  uint64_t bytes;
};

/// Calls `visit` with the name and the properties of each file below the folder.
template <class Visit> void eachFile(int folder, Visit visit) {
  for (int number = 0; number < 256; ++number) {
    char name[4];
    std::snprintf(name, sizeof name, "%02x", number);
    const int below = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (below < 0)
      continue;
    DIR *entries = ::fdopendir(below);
    if (!entries) {
      ::close(below);
      continue;
    }
    while (const dirent *entry = ::readdir(entries)) {
      struct stat info{};
      if (::fstatat(below, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
        visit(std::string(name) + "/" + entry->d_name, info);
    }
    ::closedir(entries);
  }
}

} // namespace

/// The file here of one there, open.
class DiskCache::Entry {
public:
  Entry(const std::string &path, int flags)
      : fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  ~Entry() {
    if (fd >= 0)
      ::close(fd);
  }
  Entry(const Entry &) = delete;

  /// Reads the header. False where there is no whole one of this URL.
  bool open(const std::string &url) {
    Header header;
    if (fd < 0 || !readAt(fd, 0, &header, sizeof header) || header.magic != magic ||
        header.url != url.size() || header.version > mostTexts || header.lastModified > mostTexts)
      return false;
    std::string block(sizeof header + header.url + header.version + header.lastModified, '\0');
    if (!readAt(fd, 0, block.data(), block.size()) ||
        XXH3_64bits(block.data() + covered, block.size() - covered) != header.checksum ||
        block.compare(sizeof header, header.url, url) != 0)
      return false;
    found.version = block.substr(sizeof header + header.url, header.version);
    found.lastModified = block.substr(block.size() - header.lastModified);
    found.size = header.size;
    checkedNs = header.checkedNs;
    placeParts(block.size());
    return true;
  }

  /// Writes a new one, of no blocks.
  bool make(const std::string &url, const State &state) {
    Header header{magic,
                  0,
                  timeNow(),
                  state.size,
                  uint32_t(url.size()),
                  uint32_t(state.version.size()),
                  uint32_t(state.lastModified.size()),
                  0};
    std::string block(sizeof header, '\0');
    block += url + state.version + state.lastModified;
    std::memcpy(block.data(), &header, sizeof header);
    header.checksum = XXH3_64bits(block.data() + covered, block.size() - covered);
    std::memcpy(block.data(), &header, sizeof header);
    found = state;
    placeParts(block.size());
    return writeAt(fd, 0, block.data(), block.size()) &&
           ::ftruncate(fd, off_t(dataAt + state.size)) == 0;
  }

  void noteChecked() {
    const int64_t now = timeNow();
    (void)writeAt(fd, offsetof(Header, checkedNs), &now, sizeof now);
  }
  void noteUse() {
    struct stat info{};
    if (::fstat(fd, &info) == 0 && lastUseNs(info) < timeNow() - 60 * second)
      (void)::futimens(fd, nullptr);
  }

  /// Reads a block, of which `out` has the size; false where it is not there, or damaged.
  bool readBlock(uint64_t number, uint64_t sum, std::span<uint8_t> out) const {
    return sum && readAt(fd, dataAt + number * blockBytes, out.data(), out.size()) &&
           checksumOf(out) == sum;
  }
  std::vector<uint64_t> sums(uint64_t first, uint64_t last) const {
    std::vector<uint64_t> all(size_t(last - first + 1));
    if (!readAt(fd, sumsAt + first * sizeof(uint64_t), all.data(), all.size() * sizeof(uint64_t)))
      std::fill(all.begin(), all.end(), 0);
    return all;
  }
  /// The blocks first, then what says that they are there.
  bool write(uint64_t first, std::span<const uint8_t> bytes) {
    std::vector<uint64_t> sums;
    for (size_t at = 0; at < bytes.size(); at += blockBytes)
      sums.push_back(
          checksumOf(bytes.subspan(at, std::min(bytes.size() - at, size_t(blockBytes)))));
    return writeAt(fd, dataAt + first * blockBytes, bytes.data(), bytes.size()) &&
           writeAt(fd, sumsAt + first * sizeof(uint64_t), sums.data(),
                   sums.size() * sizeof(uint64_t));
  }

  const int fd;
  State found;
  int64_t checkedNs = 0;

private:
  void placeParts(uint64_t headerBytes) {
    sumsAt = upTo(headerBytes, sizeof(uint64_t));
    const uint64_t blocks = upTo(found.size, blockBytes) / blockBytes;
    dataAt = upTo(sumsAt + blocks * sizeof(uint64_t), page);
  }

  uint64_t sumsAt = 0, dataAt = 0;
};

DiskCache::DiskCache(std::string folder, uint64_t mostBytes)
    : folder(std::move(folder)), most(mostBytes ? mostBytes : UINT64_MAX / 2), startNs(timeNow()) {}

DiskCache::~DiskCache() {
  if (usedFd >= 0)
    publish();
  for (int fd : {folderFd, usersFd, usedFd, roomFd})
    if (fd >= 0)
      ::close(fd);
}

Result<std::unique_ptr<DiskCache>> DiskCache::open(std::string folder, uint64_t mostBytes) {
  std::unique_ptr<DiskCache> cache(new DiskCache(std::move(folder), mostBytes));
  const std::string &path = cache->folder;
  const auto opened = [&](const std::string &name, int flags, int &fd) {
    fd = ::open((path + name).c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600);
    return fd >= 0;
  };
  if (!opened("", O_RDONLY | O_DIRECTORY, cache->folderFd))
    return systemError(errno, "open", path);
  if (!opened("/users", O_RDWR | O_CREAT, cache->usersFd) ||
      !opened("/used", O_RDWR | O_CREAT, cache->usedFd) ||
      !opened("/room", O_RDWR | O_CREAT, cache->roomFd))
    return systemError(errno, "write to", path);
  // Who is alone counts what is there; nobody adds to it meanwhile.
  if (lockFile(cache->usersFd, LOCK_EX | LOCK_NB)) {
    uint64_t bytes = 0;
    eachFile(cache->folderFd,
             [&](const std::string &, const struct stat &info) { bytes += bytesOnDisk(info); });
    cache->correct(bytes, UINT64_MAX);
  }
  if (!lockFile(cache->usersFd, LOCK_SH))
    return systemError(errno, "lock", path + "/users");
  cache->publish();
  return cache;
}

std::string DiskCache::pathOf(const std::string &url) const {
  const XXH128_hash_t hash = XXH3_128bits(url.data(), url.size());
  char name[40];
  std::snprintf(name, sizeof name, "/%02x/%014llx%016llx", unsigned(hash.high64 >> 56),
                static_cast<unsigned long long>(hash.high64 & ((uint64_t(1) << 56) - 1)),
                static_cast<unsigned long long>(hash.low64));
  return folder + name;
}

std::optional<DiskCache::Found> DiskCache::find(const std::string &url) const {
  Entry entry(pathOf(url), O_RDONLY);
  if (!entry.open(url))
    return std::nullopt;
  return Found{entry.found, entry.checkedNs >= startNs};
}

bool DiskCache::confirm(const std::string &url, const State &state) {
  if (state.version.empty() || state.size == 0 ||
      url.size() + state.version.size() + state.lastModified.size() > mostTexts)
    return false;
  const std::string path = pathOf(url);
  {
    Entry entry(path, O_RDWR);
    if (entry.open(url) && entry.found == state) {
      entry.noteChecked();
      return true;
    }
  }
  constexpr uint64_t least = 2 * page;
  const Reservation room = reserve(least);
  if (!room)
    return false;
  // Under another name until it is whole; where two processes make it, one of them is taken.
  static std::atomic<uint64_t> made{0};
  const std::string making =
      path + "-" + std::to_string(::getpid()) + "-" + std::to_string(made.fetch_add(1));
  ::mkdir(path.substr(0, path.rfind('/')).c_str(), 0700);
  Entry entry(making, O_RDWR | O_CREAT | O_EXCL);
  struct stat before{};
  const bool isThere = ::lstat(path.c_str(), &before) == 0;
  if (!entry.make(url, state) || ::rename(making.c_str(), path.c_str()) != 0) {
    ::unlink(making.c_str());
    count(-int64_t(least));
    return false;
  }
  if (isThere)
    count(-int64_t(bytesOnDisk(before)));
  return true;
}

void DiskCache::forget(const std::string &url) {
  const std::string path = pathOf(url);
  struct stat info{};
  if (::lstat(path.c_str(), &info) == 0 && ::unlink(path.c_str()) == 0)
    count(-int64_t(bytesOnDisk(info)));
}

void DiskCache::keepHead(const std::string &url, const State &state,
                         std::span<const uint8_t> bytes) {
  const size_t whole =
      bytes.size() == state.size ? bytes.size() : bytes.size() / blockBytes * blockBytes;
  Entry entry(pathOf(url), O_RDWR);
  if (!whole || !entry.open(url) || entry.found != state)
    return;
  if (const Reservation room = reserve(whole))
    keep(entry, 0, bytes.first(whole));
}

Status DiskCache::read(const std::string &url, const State &state, uint64_t offset, uint64_t count,
                       Buffer &out, const Fetch &fetch) {
  const uint64_t first = offset / blockBytes, last = (offset + count - 1) / blockBytes;
  uint64_t begin = first * blockBytes;
  const uint64_t end = std::min(state.size, (last + 1) * blockBytes);
  const auto blockAt = [&](uint64_t number) {
    const uint64_t at = number * blockBytes;
    return std::span(out.data() + (at - begin), size_t(std::min(blockBytes, end - at)));
  };
  Entry entry(pathOf(url), O_RDWR);
  const bool isOpen = entry.open(url) && entry.found == state;
  uint64_t from = first, to = last; // the blocks that are not here, and all between them
  if (isOpen) {
    entry.noteUse();
    if (!out.resize(size_t(end - begin)))
      return noMemory("for " + std::to_string(end - begin) + " bytes of a file");
    const std::vector<uint64_t> sums = entry.sums(first, last);
    const auto isHere = [&](uint64_t number) {
      return entry.readBlock(number, sums[size_t(number - first)], blockAt(number));
    };
    while (from <= last && isHere(from))
      ++from;
    if (from <= last)
      while (to > from && isHere(to))
        --to;
  }
  if (from <= last) {
    uint64_t missing = from * blockBytes, behind = std::min(end, (to + 1) * blockBytes);
    const Reservation room = isOpen ? reserve(behind - missing) : Reservation();
    const bool keeps = bool(room);
    if (!keeps) { // then no more than what is wanted
      missing = std::max(missing, offset);
      behind = std::min(behind, offset + count);
    }
    const bool isAll = missing <= offset && behind >= offset + count;
    Buffer part;
    Buffer &fetched = isAll ? out : part;
    if (Status status = fetch(missing, behind - missing, fetched); !status) {
      if (keeps)
        this->count(-int64_t(upTo(behind - missing, page)));
      return status;
    }
    if (keeps)
      keep(entry, from, fetched.span());
    if (isAll)
      begin = missing;
    else
      std::memcpy(out.data() + (missing - begin), part.data(), part.size());
  }
  std::memmove(out.data(), out.data() + (offset - begin), size_t(count));
  return out.resize(size_t(count)) ? Status() : noMemory("for a part of a file");
}

void DiskCache::keep(Entry &entry, uint64_t first, std::span<const uint8_t> bytes) {
  if (entry.write(first, bytes))
    return;
  nextRoomNs = timeNow() + 60 * second; // a full disk, or a broken one: later again
  count(-int64_t(upTo(bytes.size(), page)));
}

uint64_t DiskCache::publish() {
  std::lock_guard guard(lock);
  lockFile(usedFd, LOCK_EX);
  uint64_t total = 0;
  (void)readAt(usedFd, 0, &total, sizeof total);
  const int64_t more = pending.exchange(0);
  total = more < 0 && total < uint64_t(-more) ? 0 : total + uint64_t(more);
  (void)writeAt(usedFd, 0, &total, sizeof total);
  lockFile(usedFd, LOCK_UN);
  used = total;
  return total;
}

void DiskCache::correct(uint64_t bytes, uint64_t before) {
  std::lock_guard guard(lock);
  lockFile(usedFd, LOCK_EX);
  uint64_t now = 0;
  (void)readAt(usedFd, 0, &now, sizeof now);
  const uint64_t total = bytes + (now > before ? now - before : 0);
  (void)writeAt(usedFd, 0, &total, sizeof total);
  lockFile(usedFd, LOCK_UN);
  used = total;
}

void DiskCache::count(int64_t bytes) {
  const int64_t mine = pending.fetch_add(bytes) + bytes;
  if (std::abs(mine) >= std::min(untold, int64_t(most / 16)))
    publish();
}

/// How many bytes of the disk should be free, and are not.
uint64_t DiskCache::freeMissing() const {
  struct statvfs disk{};
  if (::fstatvfs(folderFd, &disk) != 0)
    return 0;
  const uint64_t wanted = uint64_t(disk.f_blocks) / 20;
  return disk.f_bavail < wanted ? (wanted - disk.f_bavail) * disk.f_frsize : 0;
}

DiskCache::Reservation DiskCache::reserve(uint64_t bytes) {
  bytes = upTo(bytes, page);
  const auto isOver = [&] { return timeNow() < nextRoomNs; };
  const auto taken = [&]() -> Reservation {
    if (isOver())
      return {};
    Reservation mine(*this, int64_t(bytes)); // before it is counted, for makeRoom()
    count(int64_t(bytes));
    if (int64_t(used) + pending <= int64_t(most) && freeMissing() == 0)
      return mine;
    count(-int64_t(bytes));
    return {};
  };
  if (Reservation mine = taken())
    return mine;
  std::lock_guard guard(room);
  if (Reservation mine = taken()) // another thread has made some meanwhile
    return mine;
  if (!isOver())
    makeRoom(bytes);
  return taken();
}

void DiskCache::makeRoom(uint64_t bytes) {
  // One process at a time; others go on without keeping what they read.
  if (!lockFile(roomFd, LOCK_EX | LOCK_NB))
    return;
  const uint64_t before = publish();
  std::vector<Kept> files;
  uint64_t total = uint64_t(inFlight.load()); // what is reserved is in this, or in a file already
  eachFile(folderFd, [&](std::string name, const struct stat &info) {
    files.push_back({std::move(name), lastUseNs(info), bytesOnDisk(info)});
    total += files.back().bytes;
  });
  std::sort(files.begin(), files.end(),
            [](const Kept &a, const Kept &b) { return a.lastUseNs < b.lastUseNs; });
  // Some more than is wanted, for all that comes. What this session has used stays: of files that
  // are read in turns and do not all fit, any part that stays is read from here each time, where
  // the oldest going first would leave nothing for the next turn.
  const uint64_t spare = most / 16 + bytes, low = most > spare ? most - spare : 0;
  const uint64_t lacking = freeMissing();
  const uint64_t aim = std::min(low, total > lacking ? total - lacking : 0);
  uint64_t removed = 0;
  for (const Kept &file : files) {
    if (total <= aim + removed || file.lastUseNs >= startNs)
      break;
    if (::unlinkat(folderFd, file.name.c_str(), 0) == 0)
      removed += file.bytes;
  }
  // What was counted may be more: blocks that two processes wrote, and those that were damaged.
  correct(total - removed, before);
  if (total - removed + bytes > most || freeMissing())
    nextRoomNs = timeNow() + 60 * second;
  lockFile(roomFd, LOCK_UN);
}

} // namespace penstock::runtime
