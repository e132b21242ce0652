// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/TrackStore.h"

#include "runtime/sources/IndexCache.h"
#include "runtime/sources/IndexHeader.h"

#include <cstdio>
#include <cstring>
#include <vector>

namespace penstock::runtime {

namespace {

/// Traits of a kind of track.
template <typename Track> struct Kind;
template <> struct Kind<Video> {
  static constexpr std::array<char, 8> magic = {'P', 'S', 'T', 'K', 'V', 'I', 'F', '1'};
  static constexpr const char *name = "video";
  static Result<std::vector<uint8_t>> index(MediaBytes &file) { return indexVideo(file, {}); }
};
template <> struct Kind<SoundTrack> {
  static constexpr std::array<char, 8> magic = {'P', 'S', 'T', 'K', 'S', 'N', 'F', '1'};
  static constexpr const char *name = "sound";
  static Result<std::vector<uint8_t>> index(MediaBytes &file) {
    return SoundTrack::index(file, {});
  }
};

/// Whether the file gives that error each time.
bool isOfFile(Code code) {
  return code != Code::Io && code != Code::Truncated && code != Code::Exhausted &&
         code != Code::Unreachable && code != Code::Cancelled;
}

/// A kept index: this, the file's name, the index.
struct Header : IndexHeader {
  uint64_t nameSize, fileSize;
  int64_t modifiedNs;
};

} // namespace

template <typename Track>
Result<typename TrackStore<Track>::Found> TrackStore<Track>::find(const MediaPlace &place,
                                                                  std::span<const uint8_t> index) {
  const std::shared_ptr<Entry> entry = entryOf(place.name);
  Result<Found> found = [&] {
    std::lock_guard guard(entry->lock);
    return findIn(*entry, place, index);
  }();
  settle(place.name, *entry);
  return found;
}

template <typename Track>
Result<typename TrackStore<Track>::Found>
TrackStore<Track>::findIn(Entry &entry, const MediaPlace &place, std::span<const uint8_t> index) {
  Found found;
  const bool isKnown =
      entry.isKnown && entry.size == place.size && entry.modifiedNs == place.modifiedNs;
  if (!isKnown) {
    entry.isKnown = false;
    entry.track = index.empty() ? load(place) : nullptr;
    if (!entry.track) {
      found.isMade = index.empty();
      auto made = found.isMade ? make(place) : Track::open(index);
      if (!made && !isOfFile(made.error().code))
        return made.error();
      if (made)
        entry.track = std::move(*made);
      else
        entry.problem = made.error();
    }
    entry.size = place.size;
    entry.modifiedNs = place.modifiedNs;
    entry.bytes = entryBytes + 2 * place.name.size() + (entry.track ? entry.track->memory() : 0);
    entry.isKnown = true;
  }
  if (!entry.track)
    return entry.problem;
  found.track = entry.track;
  return found;
}

template <typename Track>
std::shared_ptr<typename TrackStore<Track>::Entry>
TrackStore<Track>::entryOf(const std::string &name) {
  std::lock_guard guard(lock);
  auto [slot, isNew] = slots.try_emplace(name);
  if (isNew) {
    slot->second.entry = std::make_shared<Entry>();
    uses.push_front(name);
    slot->second.use = uses.begin();
  } else {
    uses.splice(uses.begin(), uses, slot->second.use);
  }
  return slot->second.entry;
}

template <typename Track>
void TrackStore<Track>::settle(const std::string &name, const Entry &entry) {
  std::lock_guard guard(lock);
  if (auto slot = slots.find(name); slot != slots.end() && slot->second.entry.get() == &entry) {
    held += entry.bytes - slot->second.bytes;
    slot->second.bytes = entry.bytes;
  }
  // Users of a forgotten track keep it alive.
  while (held > most && uses.size() > 1) {
    const auto last = slots.find(uses.back());
    held -= last->second.bytes;
    slots.erase(last);
    uses.pop_back();
  }
}

template <typename Track> uint64_t TrackStore<Track>::memory() const {
  std::lock_guard guard(lock);
  return held;
}

template <typename Track>
Result<std::shared_ptr<const Track>> TrackStore<Track>::make(const MediaPlace &place) {
  MediaFile file(place.file, place.offset, place.size);
  auto index = Kind<Track>::index(file);
  ++makes;
  reads += file.bytesRead();
  if (!index)
    return index.error();
  keep(place, *index);
  return Track::open(*index);
}

template <typename Track> CacheFolder TrackStore<Track>::folderOf(const std::string &name) const {
  if (folder.path.empty())
    return {};
  char part[8];
  std::snprintf(part, sizeof part, "%02x", unsigned(XXH3_64bits(name.data(), name.size()) % parts));
  return {folder.path + "/" + Kind<Track>::name + "s/" + part,
          folder.mostBytes ? mostKeptBytes / parts : 0};
}

template <typename Track>
std::shared_ptr<const Track> TrackStore<Track>::load(const MediaPlace &place) const {
  const IndexCache cache(files, folderOf(place.name), Kind<Track>::name, place.name);
  Buffer kept;
  Header header;
  if (!cache.read(kept) || !IndexHeader::open(kept.span(), Kind<Track>::magic, header))
    return nullptr;
  const auto rest = kept.span().subspan(sizeof header);
  if (header.nameSize != place.name.size() || rest.size() < header.nameSize ||
      std::memcmp(rest.data(), place.name.data(), place.name.size()) ||
      header.fileSize != place.size || header.modifiedNs != place.modifiedNs)
    return nullptr;
  auto track = Track::open(rest.subspan(header.nameSize));
  return track && (*track)->info().fileSize == place.size ? *track : nullptr;
}

template <typename Track>
void TrackStore<Track>::keep(const MediaPlace &place, std::span<const uint8_t> index) const {
  std::vector<uint8_t> block(sizeof(Header));
  block.insert(block.end(), place.name.begin(), place.name.end());
  block.insert(block.end(), index.begin(), index.end());
  IndexHeader::seal(
      block, Header{{Kind<Track>::magic, 0, 0}, place.name.size(), place.size, place.modifiedNs});
  IndexCache(files, folderOf(place.name), Kind<Track>::name, place.name)
      .keep(block, place.modifiedNs);
}

template class TrackStore<Video>;
template class TrackStore<SoundTrack>;

} // namespace penstock::runtime
