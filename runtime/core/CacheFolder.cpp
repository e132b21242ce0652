// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/CacheFolder.h"

#include "runtime/core/Clock.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace penstock::runtime {

namespace {

constexpr int64_t hour = int64_t(3600) * 1'000'000'000, day = 24 * hour;
constexpr int64_t longest = 90 * day;
constexpr std::string_view mark = "last-cleaned";

bool takeEnd(std::string_view &name, std::string_view end) {
  if (!name.ends_with(end))
    return false;
  name.remove_suffix(end.size());
  return true;
}

bool isOf(std::string_view text, std::string_view letters) {
  return !text.empty() && text.find_first_not_of(letters) == std::string_view::npos;
}

constexpr std::string_view digits = "0123456789", hex = "0123456789abcdef",
                           words = "abcdefghijklmnopqrstuvwxyz-0123456789";

/// `tar-shards-` of `tar-shards-0123456789abcdef`; empty where it does not end so.
std::string_view beforeNumber(std::string_view name) {
  constexpr size_t size = 16;
  if (name.size() < size + 2 || !isOf(name.substr(name.size() - size), hex))
    return {};
  name.remove_suffix(size);
  return name.back() == '-' && isOf(name, words) ? name : std::string_view();
}

struct Kept {
  std::string path;
  uint64_t size = 0;
  int64_t usedNs = 0;
  CacheKind kind = CacheKind::Unknown;
};

std::vector<Kept> keptIn(FileSystem &files, const std::string &folder) {
  std::vector<Kept> found;
  auto entries = files.listFolder(folder);
  if (!entries)
    return found;
  for (const FolderEntry &entry : *entries) {
    const CacheKind kind = cacheKindOf(entry.name);
    if (entry.kind != FileKind::File || kind == CacheKind::Unknown)
      continue;
    const std::string path = folder + "/" + entry.name;
    if (auto info = files.stat(path))
      found.push_back({path, info->size, info->modifiedNs, kind});
  }
  return found;
}

void remove(FileSystem &files, const Kept &kept) {
  // Another may have used it, or made it again, since it was looked at.
  const auto info = files.stat(kept.path);
  if (info && info->modifiedNs == kept.usedNs)
    (void)files.removeFile(kept.path);
}

} // namespace

CacheKind cacheKindOf(std::string_view name) {
  // A file being written, or the rest of one whose writer was killed: the two look the same.
  if (name.starts_with('.') && takeEnd(name, ".part"))
    return cacheKindOf(name.substr(1)) == CacheKind::Unknown ? CacheKind::Unknown
                                                             : CacheKind::Mapped;
  if (takeEnd(name, ".program") || takeEnd(name, ".parameters"))
    return name.size() == 32 && isOf(name, hex) ? CacheKind::Read : CacheKind::Unknown;
  if (takeEnd(name, ".penstock-index")) { // the one of a rank has its number
    const size_t dash = name.rfind('-');
    if (beforeNumber(name).empty() && dash != std::string_view::npos &&
        isOf(name.substr(dash + 1), digits))
      name = name.substr(0, dash);
    return beforeNumber(name) == "checkpoints-" ? CacheKind::Mapped : CacheKind::Unknown;
  }
  if (!takeEnd(name, ".index") || beforeNumber(name).empty())
    return CacheKind::Unknown;
  const std::string_view kind = beforeNumber(name);
  return kind == "video-" || kind == "sound-" || kind == "headers-" ? CacheKind::Read
                                                                    : CacheKind::Mapped;
}

void noteUse(FileSystem &files, const std::string &path) {
  const auto info = files.stat(path);
  if (info && std::abs(timeNow() - info->modifiedNs) > hour)
    (void)files.touchFile(path);
}

void limitCache(FileSystem &files, const CacheFolder &folder) {
  if (folder.path.empty() || folder.mostBytes == 0)
    return;
  const std::string cleaned = folder.path + "/" + std::string(mark);
  if (auto info = files.stat(cleaned); info && std::abs(timeNow() - info->modifiedNs) < day)
    return;
  if (!files.writeFileAtomically(cleaned, {}))
    return;
  // By the clock of the disk, which may be another machine's.
  const auto info = files.stat(cleaned);
  if (!info)
    return;
  const auto age = [&](const Kept &kept) { return info->modifiedNs - kept.usedNs; };
  std::vector<Kept> kept = keptIn(files, folder.path);
  std::sort(kept.begin(), kept.end(),
            [](const Kept &a, const Kept &b) { return a.usedNs < b.usedNs; });
  uint64_t bytes = 0;
  for (const Kept &one : kept)
    bytes += one.kind == CacheKind::Read ? one.size : 0;
  for (const Kept &one : kept) {
    const bool isRead = one.kind == CacheKind::Read;
    // Uses are noted to the hour.
    if (age(one) <= longest && !(isRead && bytes > folder.mostBytes && age(one) > day + hour))
      continue;
    remove(files, one);
    bytes -= isRead ? one.size : 0;
  }
}

} // namespace penstock::runtime
