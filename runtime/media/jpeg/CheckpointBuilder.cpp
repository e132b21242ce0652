// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/CheckpointBuilder.h"

namespace penstock::runtime {

void openCheckpoints(FileSystem &files, const std::string &path, CheckpointBuilder::Files &out,
                     std::vector<std::string> &warnings) {
  auto mapping = files.mapFile(path);
  if (!mapping && mapping.error().code == Code::NotFound)
    return;
  if (!mapping) {
    warnings.push_back(mapping.error().message);
    return;
  }
  auto file = CheckpointFile::parse(std::move(*mapping));
  if (file)
    out.push_back(std::move(*file));
  else
    warnings.push_back("the checkpoints in " + path + " are not used: " + file.error().message);
}

CheckpointBuilder::CheckpointBuilder(FileSystem &files, std::string given,
                                     std::vector<std::string> &warnings,
                                     std::chrono::milliseconds interval)
    : files(files), path(std::move(given)), interval(interval),
      written(std::chrono::steady_clock::now()) {
  auto found = std::make_shared<Files>();
  openCheckpoints(files, path, *found, warnings);
  for (;;) {
    auto info = files.stat(partPath(parts + 1));
    if (!info)
      break;
    openCheckpoints(files, partPath(++parts), *found, warnings);
    hasParts = true;
  }
  onDisk = std::move(found);
}

std::shared_ptr<const CheckpointBuilder::Files> CheckpointBuilder::known() const {
  std::lock_guard guard(lock);
  return onDisk;
}

bool CheckpointBuilder::changed() const {
  std::lock_guard guard(lock);
  return added || hasParts;
}

Status CheckpointBuilder::add(CheckpointRecord record) {
  {
    std::lock_guard guard(lock);
    added = true;
    pendingBytes += sizeof record + record.points.size();
    pending.push_back(std::move(record));
    const auto now = std::chrono::steady_clock::now();
    if (writing || (pendingBytes < partBytes && now - written < interval))
      return {};
    writing = true;
  }
  Status status = writePart();
  std::lock_guard guard(lock);
  writing = false;
  written = std::chrono::steady_clock::now();
  return status;
}

/// Other threads go on adding meanwhile.
Status CheckpointBuilder::writePart() {
  std::vector<CheckpointPart> list;
  size_t number = 0;
  bool full = false;
  {
    std::lock_guard guard(lock);
    for (const CheckpointRecord &record : pending)
      list.push_back({record.entry, record.points});
    number = parts + 1;
    full = pendingBytes >= partBytes;
    hasParts = true;
  }
  const size_t count = list.size();
  auto size = writeCheckpoints(files, partPath(number), std::move(list));
  if (!size)
    return size.error();
  if (!full)
    return {};
  std::vector<std::string> warnings;
  std::lock_guard guard(lock);
  auto now = std::make_shared<Files>(*onDisk);
  openCheckpoints(files, partPath(number), *now, warnings);
  onDisk = std::move(now);
  ++parts;
  for (size_t i = 0; i < count; ++i)
    pendingBytes -= sizeof(CheckpointRecord) + pending[i].points.size();
  pending.erase(pending.begin(), pending.begin() + ptrdiff_t(count));
  return {};
}

Result<uint64_t>
CheckpointBuilder::finish(const std::function<bool(const CheckpointEntry &)> &keep) {
  std::lock_guard guard(lock);
  std::vector<CheckpointPart> list;
  for (const CheckpointFile &file : *onDisk)
    for (const CheckpointEntry &entry : file.entries()) {
      const auto points = file.points(entry);
      if (keep(entry) && points.size() == entry.pointBytes)
        list.push_back({entry, points});
    }
  for (const CheckpointRecord &record : pending)
    if (keep(record.entry))
      list.push_back({record.entry, record.points});
  auto size = writeCheckpoints(files, path, std::move(list));
  if (!size)
    return size;
  for (size_t number = 1; files.stat(partPath(number)); ++number)
    if (Status status = files.removeFile(partPath(number)); !status)
      return status.error();
  pending.clear();
  pendingBytes = parts = 0;
  hasParts = added = false;
  auto now = std::make_shared<Files>();
  std::vector<std::string> warnings;
  openCheckpoints(files, path, *now, warnings);
  onDisk = std::move(now);
  return size;
}

} // namespace penstock::runtime
