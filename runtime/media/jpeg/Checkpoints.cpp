// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/Checkpoints.h"

#include <algorithm>

namespace penstock::runtime {

Checkpoints::Checkpoints(FileSystem &files, CheckpointBuilder::Files given,
                         const std::string &build, std::vector<std::string> &warnings)
    : found(std::move(given)) {
  constexpr size_t few = 2;
  if (found.size() > few)
    for (size_t file = 0; file < found.size(); ++file) {
      const auto entries = found[file].entries();
      for (size_t i = 0; i < entries.size(); ++i)
        places.push_back({entries[i].checksum, uint32_t(file), uint32_t(i)});
    }
  std::sort(places.begin(), places.end(),
            [](const Place &a, const Place &b) { return a.checksum < b.checksum; });
  if (!build.empty())
    builder = std::make_unique<CheckpointBuilder>(files, build, warnings);
}

namespace {

enum class Known { No, Without, With };

Known take(const CheckpointFile &file, const CheckpointEntry &entry, EntropyIndex &index) {
  return unpack(entry, file.points(entry), index) ? Known::With : Known::Without;
}

Known lookUp(const CheckpointBuilder::Files &files, uint64_t checksum, uint64_t fileSize,
             EntropyIndex &index) {
  Known known = Known::No;
  for (const CheckpointFile &file : files)
    if (const CheckpointEntry *entry = file.find(checksum, fileSize))
      if ((known = take(file, *entry, index)) == Known::With)
        break;
  return known;
}

} // namespace

bool Checkpoints::find(std::span<const uint8_t> file, EntropyIndex &index) {
  if (isEmpty())
    return false;
  const uint64_t checksum = entropyIndexChecksum(file);
  Known known = Known::No;
  if (places.empty())
    known = lookUp(found, checksum, file.size(), index);
  for (auto place = std::lower_bound(
           places.begin(), places.end(), checksum,
           [](const Place &one, uint64_t wanted) { return one.checksum < wanted; });
       known != Known::With && place != places.end() && place->checksum == checksum; ++place)
    if (const auto &entry = found[place->file].entries()[place->entry];
        entry.fileSize == file.size())
      known = take(found[place->file], entry, index);
  if (known == Known::No && builder)
    known = lookUp(*builder->known(), checksum, file.size(), index);
  if (known == Known::No && builder && !broken)
    return make(file, index);
  return known == Known::With;
}

bool Checkpoints::make(std::span<const uint8_t> file, EntropyIndex &index) {
  std::unique_ptr<CheckpointMaker> maker;
  {
    std::lock_guard guard(lock);
    if (!makers.empty()) {
      maker = std::move(makers.back());
      makers.pop_back();
    }
  }
  if (!maker)
    maker = std::make_unique<CheckpointMaker>();
  CheckpointRecord record = maker->make(file, 0);
  const bool good = unpack(record.entry, record.points, index);
  if (!builder->add(std::move(record)))
    broken = true;
  std::lock_guard guard(lock);
  makers.push_back(std::move(maker));
  return good;
}

uint64_t Checkpoints::heldBytes() const {
  return places.capacity() * sizeof(Place) + (builder ? CheckpointBuilder::partBytes : 0);
}

void Checkpoints::save() {
  if (!builder || broken || !builder->changed())
    return;
  if (!builder->finish())
    broken = true;
}

} // namespace penstock::runtime
