#include "runtime/sources/VideoStore.h"

#include "runtime/sources/IndexCache.h"
#include "runtime/sources/IndexHeader.h"

#include <cstdio>
#include <cstring>
#include <vector>

namespace penstock::runtime {

namespace {

constexpr std::array<char, 8> videoMagic = {'P', 'S', 'T', 'K', 'V', 'I', 'F', '1'};

/// A kept index: this, the file's name, the index.
struct Header : IndexHeader {
  uint64_t nameSize, fileSize;
  int64_t modifiedNs;
};

} // namespace

Result<VideoStore::Found> VideoStore::find(const MediaPlace &place,
                                           std::span<const uint8_t> index) {
  const std::shared_ptr<Entry> entry = entryOf(place.name);
  Result<Found> found = [&] {
    std::lock_guard guard(entry->lock);
    return findIn(*entry, place, index);
  }();
  settle(place.name, *entry);
  return found;
}

Result<VideoStore::Found> VideoStore::findIn(Entry &entry, const MediaPlace &place,
                                             std::span<const uint8_t> index) {
  Found found;
  const bool isKnown =
      entry.isKnown && entry.size == place.size && entry.modifiedNs == place.modifiedNs;
  if (!isKnown) {
    entry.isKnown = false;
    entry.video = index.empty() ? load(place) : nullptr;
    if (!entry.video) {
      found.isMade = index.empty();
      auto made = found.isMade ? make(place) : Video::open(index);
      const bool isReading =
          !made && (made.error().code == Code::Io || made.error().code == Code::Truncated);
      if (isReading)
        return made.error();
      if (made)
        entry.video = std::move(*made);
      else
        entry.problem = made.error();
    }
    entry.size = place.size;
    entry.modifiedNs = place.modifiedNs;
    entry.bytes = entryBytes + 2 * place.name.size() + (entry.video ? entry.video->memory() : 0);
    entry.isKnown = true;
  }
  if (!entry.video)
    return entry.problem;
  found.video = entry.video;
  return found;
}

std::shared_ptr<VideoStore::Entry> VideoStore::entryOf(const std::string &name) {
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

void VideoStore::settle(const std::string &name, const Entry &entry) {
  std::lock_guard guard(lock);
  if (auto slot = slots.find(name); slot != slots.end() && slot->second.entry.get() == &entry) {
    held += entry.bytes - slot->second.bytes;
    slot->second.bytes = entry.bytes;
  }
  // Those who use what is forgotten keep it.
  while (held > most && uses.size() > 1) {
    const auto last = slots.find(uses.back());
    held -= last->second.bytes;
    slots.erase(last);
    uses.pop_back();
  }
}

uint64_t VideoStore::memory() const {
  std::lock_guard guard(lock);
  return held;
}

Result<std::shared_ptr<const Video>> VideoStore::make(const MediaPlace &place) {
  MediaFile file(place.file, place.offset, place.size);
  auto index = indexVideo(file, {});
  ++makes;
  reads += file.bytesRead();
  if (!index)
    return index.error();
  keep(place, *index);
  return Video::open(*index);
}

CacheFolder VideoStore::folderOf(const std::string &name) const {
  if (folder.path.empty())
    return {};
  char part[8];
  std::snprintf(part, sizeof part, "%02x", unsigned(XXH3_64bits(name.data(), name.size()) % parts));
  return {folder.path + "/videos/" + part, folder.mostBytes ? mostKeptBytes / parts : 0};
}

std::shared_ptr<const Video> VideoStore::load(const MediaPlace &place) const {
  const IndexCache cache(files, folderOf(place.name), "video", place.name);
  Buffer kept;
  Header header;
  if (!cache.read(kept) || !IndexHeader::open(kept.span(), videoMagic, header))
    return nullptr;
  const auto rest = kept.span().subspan(sizeof header);
  if (header.nameSize != place.name.size() || rest.size() < header.nameSize ||
      std::memcmp(rest.data(), place.name.data(), place.name.size()) ||
      header.fileSize != place.size || header.modifiedNs != place.modifiedNs)
    return nullptr;
  auto video = Video::open(rest.subspan(header.nameSize));
  return video && (*video)->info().fileSize == place.size ? *video : nullptr;
}

void VideoStore::keep(const MediaPlace &place, std::span<const uint8_t> index) const {
  std::vector<uint8_t> block(sizeof(Header));
  block.insert(block.end(), place.name.begin(), place.name.end());
  block.insert(block.end(), index.begin(), index.end());
  IndexHeader::seal(block, Header{{videoMagic, 0, 0}, place.name.size(), place.size, place.modifiedNs});
  IndexCache(files, folderOf(place.name), "video", place.name).keep(block, place.modifiedNs);
}

} // namespace penstock::runtime
