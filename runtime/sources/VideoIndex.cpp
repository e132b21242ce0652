// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/VideoIndex.h"

#include "runtime/core/Parallel.h"
#include "runtime/media/video/Video.h"
#include "runtime/sources/IndexHeader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <unordered_map>
#include <vector>

namespace penstock::runtime {

namespace {

constexpr std::array<char, 8> clipMagic = {'P', 'S', 'T', 'K', 'C', 'L', 'P', '1'};
constexpr size_t atOnce = 256;
constexpr size_t firstKept = 1000;

} // namespace

struct VideoIndex::Header : IndexHeader {
  uint64_t videos, indexes, reserved;
};

struct VideoIndex::Entry {
  uint64_t path, problem; // where they begin in the text; the problem ends with the next path
  uint64_t size;
  int64_t modifiedNs;
  int64_t frames;
  uint64_t index, indexSize; // where it begins in the indexes
};

struct VideoIndex::Found {
  std::string path, problem;
  uint64_t size = 0;
  int64_t modifiedNs = 0, frames = 0;
  std::vector<uint8_t> own;
  std::span<const uint8_t> index; // own, or of the earlier index
  bool isExhausted = false;       // the problem is not the file's
};

VideoIndex::Found VideoIndex::read(FileSystem &files, const std::string &full, std::string path) {
  Found found;
  found.path = std::move(path);
  auto refuse = [&](const Error &error) {
    found.problem = error.message;
    found.isExhausted = error.code == Code::Exhausted;
    return found;
  };
  auto info = files.stat(full);
  if (!info)
    return refuse(info.error());
  found.size = info->size;
  found.modifiedNs = info->modifiedNs;
  auto file = files.openFile(full);
  if (!file)
    return refuse(file.error());
  found.size = (*file)->info().size;
  found.modifiedNs = (*file)->info().modifiedNs;
  MediaFile bytes(std::move(*file), 0, found.size);
  auto index = indexVideo(bytes, {});
  if (!index)
    return refuse(index.error());
  found.own = std::move(*index);
  auto head = readVideoIndex(found.own);
  if (!head)
    return refuse(head.error());
  found.frames = head->frames;
  return found;
}

Result<VideoIndex> VideoIndex::make(FileSystem &files, const FolderIndex &folder,
                                    const VideoIndex *earlier,
                                    const std::function<void(const VideoIndex &)> &keep) {
  std::unordered_map<std::string_view, uint64_t> known;
  for (uint64_t i = 0; earlier && i < earlier->size(); ++i)
    known.emplace(earlier->path(i), i);
  std::string root(folder.root());
  if (root.back() != '/')
    root += '/';
  std::vector<Found> found(folder.fileCount());
  std::vector<uint8_t> fresh(found.size(), 0);
  auto take = [&](size_t i) {
    std::string path = folder.relativePath(i);
    const std::string full = root + path;
    const auto entry = known.find(path);
    const auto info = entry == known.end() ? Error{} : files.stat(full);
    const bool isSame =
        info && earlier->isOf(entry->second, *info) &&
        (!earlier->problem(entry->second).empty() || readVideoIndex(earlier->index(entry->second)));
    if (isSame) {
      const Entry &old = earlier->entries()[entry->second];
      found[i] = {std::move(path),
                  std::string(earlier->problem(entry->second)),
                  old.size,
                  old.modifiedNs,
                  old.frames,
                  {},
                  earlier->index(entry->second)};
      return;
    }
    found[i] = read(files, full, std::move(path));
    found[i].index = found[i].own;
    fresh[i] = 1;
  };
  size_t count = 0, keepAt = firstKept;
  for (size_t begin = 0; begin < found.size(); begin += atOnce) {
    const size_t end = std::min(begin + atOnce, found.size());
    parallelFor(end - begin, readingThreads, [&](size_t i) { take(begin + i); });
    for (size_t i = begin; i < end; ++i)
      if (found[i].isExhausted)
        return Error{Code::Exhausted, found[i].path + ": " + found[i].problem};
    count +=
        size_t(std::count(fresh.begin() + ptrdiff_t(begin), fresh.begin() + ptrdiff_t(end), 1));
    if (count >= keepAt && end < found.size()) {
      keep(join(std::span(found).first(end)));
      keepAt = count + count / 2;
    }
  }
  VideoIndex all = join(found);
  all.fresh = count;
  return all;
}

VideoIndex VideoIndex::join(std::span<const Found> found) {
  std::vector<Entry> entries;
  std::string text;
  uint64_t indexes = 0;
  for (const Found &one : found) {
    const uint64_t path = text.size();
    text += one.path;
    const uint64_t problem = text.size();
    text += one.problem;
    entries.push_back(
        {path, problem, one.size, one.modifiedNs, one.frames, indexes, one.index.size()});
    indexes += one.index.size();
  }
  Header header{{clipMagic, 0, 0}, found.size(), indexes, 0};
  auto block = std::make_shared<std::vector<uint8_t>>(
      sizeof header + entries.size() * sizeof(Entry) + indexes + text.size());
  auto to = block->begin() + sizeof header;
  auto append = [&](const void *data, size_t size) {
    to = std::copy_n(static_cast<const uint8_t *>(data), size, to);
  };
  append(entries.data(), entries.size() * sizeof(Entry));
  for (const Found &one : found)
    append(one.index.data(), one.index.size());
  append(text.data(), text.size());
  IndexHeader::seal(*block, header);
  return VideoIndex(Mapping{{block->data(), block->size()}, block});
}

Result<VideoIndex> VideoIndex::parse(Mapping mapping) {
  const Error bad{Code::Corrupt, "the cached index is damaged"};
  const std::span<const uint8_t> bytes = mapping.bytes;
  Header header;
  if (!IndexHeader::open(bytes, clipMagic, header))
    return bad;
  // A right checksum over wrong contents shall not lead outside the block either.
  uint64_t rest = bytes.size() - sizeof header;
  if (header.videos > rest / sizeof(Entry))
    return bad;
  rest -= header.videos * sizeof(Entry);
  if (header.indexes > rest)
    return bad;
  rest -= header.indexes;
  VideoIndex index(std::move(mapping));
  uint64_t at = 0;
  for (const Entry &entry : index.entries()) {
    if (entry.path < at || entry.problem < entry.path || entry.problem > rest ||
        entry.index > header.indexes || entry.indexSize > header.indexes - entry.index ||
        entry.frames < 0)
      return bad;
    at = entry.problem;
  }
  return index;
}

// The block begins at an aligned address; the indexes are read byte by byte.
std::span<const VideoIndex::Entry> VideoIndex::entries() const {
  return {reinterpret_cast<const Entry *>(mapping.bytes.data() + sizeof(Header)), size()};
}

std::string_view VideoIndex::text() const {
  const auto *header = reinterpret_cast<const Header *>(mapping.bytes.data());
  const size_t before = sizeof(Header) + size() * sizeof(Entry) + header->indexes;
  return {reinterpret_cast<const char *>(mapping.bytes.data()) + before,
          mapping.bytes.size() - before};
}

uint64_t VideoIndex::size() const {
  return reinterpret_cast<const Header *>(mapping.bytes.data())->videos;
}

std::string_view VideoIndex::path(uint64_t video) const {
  const Entry &entry = entries()[video];
  return text().substr(entry.path, entry.problem - entry.path);
}

std::string_view VideoIndex::problem(uint64_t video) const {
  const auto all = entries();
  const uint64_t end = video + 1 < all.size() ? all[video + 1].path : text().size();
  return text().substr(all[video].problem, end - all[video].problem);
}

int64_t VideoIndex::frames(uint64_t video) const { return entries()[video].frames; }

std::span<const uint8_t> VideoIndex::index(uint64_t video) const {
  const Entry &entry = entries()[video];
  const uint8_t *begin = mapping.bytes.data() + sizeof(Header) + size() * sizeof(Entry);
  return {begin + entry.index, entry.indexSize};
}

bool VideoIndex::isOf(uint64_t video, const FileInfo &info) const {
  const Entry &entry = entries()[video];
  return info.kind == FileKind::File && info.size == entry.size &&
         info.modifiedNs == entry.modifiedNs;
}

int64_t VideoIndex::lastChangeNs() const {
  int64_t last = INT64_MIN;
  for (const Entry &entry : entries())
    last = std::max(last, entry.modifiedNs);
  return last;
}

} // namespace penstock::runtime
