// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/CheckpointFile.h"

#include <algorithm>
#include <cstring>
#include <tuple>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

constexpr std::array<char, 7> magic = {'P', 'S', 'T', 'K', 'C', 'K', 'P'};
constexpr char version = '1';

struct Header {
  std::array<char, 7> magic;
  char version;
  uint64_t checksum; // of what follows, entries included
  uint64_t size;     // of the whole
  uint64_t entries;
};

size_t pointBytesOf(uint8_t components) { return sizeof(uint32_t) + components * sizeof(int16_t); }

uint32_t pointChecksum(std::span<const uint8_t> points) {
  return uint32_t(XXH3_64bits(points.data(), points.size()));
}

bool before(const CheckpointEntry &a, const CheckpointEntry &b) {
  return std::tie(a.checksum, a.fileSize, a.name) < std::tie(b.checksum, b.fileSize, b.name);
}

} // namespace

const char *describe(CheckpointState state) {
  static constexpr const char *texts[checkpointStateCount] = {"indexed",
                                                              "progressive or arithmetic coding",
                                                              "components in scans of their own",
                                                              "an odd header",
                                                              "no end-of-image marker",
                                                              "damaged or irregular data",
                                                              "this libjpeg-turbo is not known",
                                                              "more than 512 MB",
                                                              "not a JPEG file",
                                                              "a header that is not read"};
  return texts[size_t(state)];
}

uint64_t checkpointName(std::string_view name, uint64_t fileSize, int64_t modifiedNs) {
  const uint64_t more[2] = {fileSize, uint64_t(modifiedNs)};
  return XXH3_64bits_withSeed(name.data(), name.size(), XXH3_64bits(more, sizeof more)) | 1;
}

CheckpointRecord CheckpointMaker::make(std::span<const uint8_t> file, uint64_t name,
                                       const ImageLimits &limits) {
  CheckpointRecord record;
  CheckpointEntry &entry = record.entry;
  entry.fileSize = file.size();
  entry.name = name;
  entry.checksum = entropyIndexChecksum(file);
  const auto without = [&](CheckpointState why) {
    entry.state = uint8_t(why);
    return record;
  };
  if (file.size() < 2 || file[0] != 0xFF || file[1] != 0xD8)
    return without(CheckpointState::OtherFormat);
  const auto info = probeJpeg(file, limits);
  if (!info)
    return without(CheckpointState::Unreadable);
  entry.width = info->width;
  entry.height = info->height;
  entry.components = info->components;
  entry.orientation = info->orientation;
  for (size_t i = 0; i < info->components; ++i)
    entry.sampling[i] = uint8_t(info->horizontal[i] << 4 | info->vertical[i]);
  if (file.size() > UINT32_MAX / 8)
    return without(CheckpointState::TooLarge);
  if (const EntropyPath path = indexer.build(file, *info, index); path != EntropyPath::Own)
    return without(CheckpointState(path));
  entry.mcusPerRow = index.mcusPerRow;
  entry.mcuRows = index.mcuRows;
  entry.step = index.step;
  const size_t size = pointBytesOf(entry.components);
  record.points.resize(index.points.size() * size);
  uint8_t *out = record.points.data();
  for (const EntropyIndex::Point &point : index.points) {
    const auto bit = uint32_t(point.bit);
    std::memcpy(out, &bit, sizeof bit);
    std::memcpy(out + sizeof bit, point.predictions.data(), size - sizeof bit);
    out += size;
  }
  entry.pointBytes = uint32_t(record.points.size());
  entry.pointChecksum = pointChecksum(record.points);
  return record;
}

bool unpack(const CheckpointEntry &entry, std::span<const uint8_t> points, EntropyIndex &index) {
  if (points.empty() || entry.step == 0 || entry.components == 0 || entry.components > 4)
    return false;
  index.fileSize = entry.fileSize;
  index.checksum = entry.checksum;
  index.mcusPerRow = entry.mcusPerRow;
  index.mcuRows = entry.mcuRows;
  index.step = entry.step;
  const size_t size = pointBytesOf(entry.components);
  if (points.size() != uint64_t(index.pointsPerRow()) * index.mcuRows * size)
    return false;
  index.points.assign(points.size() / size, {});
  const uint8_t *in = points.data();
  for (EntropyIndex::Point &point : index.points) {
    uint32_t bit;
    std::memcpy(&bit, in, sizeof bit);
    point.bit = bit;
    std::memcpy(point.predictions.data(), in + sizeof bit, size - sizeof bit);
    in += size;
  }
  return true;
}

Result<CheckpointFile> CheckpointFile::parse(Mapping mapping) {
  const std::span<const uint8_t> bytes = mapping.bytes;
  Header header;
  if (bytes.size() < sizeof header)
    return Error{Code::Corrupt, "it is cut off"};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != magic)
    return Error{Code::Corrupt, "it is no file of checkpoints"};
  if (header.version != version)
    return Error{Code::Unsupported, "it is of another version of Penstock"};
  if (header.size > bytes.size())
    return Error{Code::Corrupt, "it is cut off"};
  constexpr size_t covered = offsetof(Header, size);
  const uint64_t room = (bytes.size() - sizeof header) / sizeof(CheckpointEntry);
  if (header.size != bytes.size() || header.entries > room ||
      header.checksum !=
          XXH3_64bits(bytes.data() + covered,
                      sizeof header - covered + header.entries * sizeof(CheckpointEntry)))
    return Error{Code::Corrupt, "it is damaged"};
  return CheckpointFile(std::move(mapping));
}

std::span<const CheckpointEntry> CheckpointFile::entries() const {
  Header header;
  std::memcpy(&header, mapping.bytes.data(), sizeof header);
  return {reinterpret_cast<const CheckpointEntry *>(mapping.bytes.data() + sizeof header),
          header.entries};
}

const CheckpointEntry *CheckpointFile::find(uint64_t checksum, uint64_t fileSize) const {
  CheckpointEntry wanted;
  wanted.checksum = checksum;
  wanted.fileSize = fileSize;
  const auto all = entries();
  const auto found = std::lower_bound(all.begin(), all.end(), wanted, before);
  if (found == all.end() || found->checksum != checksum || found->fileSize != fileSize)
    return nullptr;
  return &*found;
}

std::span<const uint8_t> CheckpointFile::points(const CheckpointEntry &entry) const {
  const uint64_t size = mapping.bytes.size();
  if (entry.points > size || entry.pointBytes > size - entry.points)
    return {};
  const auto points = mapping.bytes.subspan(entry.points, entry.pointBytes);
  return pointChecksum(points) == entry.pointChecksum ? points : std::span<const uint8_t>();
}

Result<uint64_t> streamCheckpoints(std::vector<CheckpointPart> parts,
                                   const std::function<Status(std::span<const uint8_t>)> &sink) {
  std::sort(parts.begin(), parts.end(), [](const CheckpointPart &a, const CheckpointPart &b) {
    return before(a.entry, b.entry);
  });
  const auto same = [](const CheckpointPart &a, const CheckpointPart &b) {
    return !before(a.entry, b.entry) && !before(b.entry, a.entry);
  };
  parts.erase(std::unique(parts.begin(), parts.end(), same), parts.end());
  Header header{magic, version, 0, 0, parts.size()};
  header.size = sizeof header + parts.size() * sizeof(CheckpointEntry);
  for (CheckpointPart &part : parts) {
    part.entry.points = header.size;
    header.size += part.points.size();
  }
  constexpr size_t covered = offsetof(Header, size);
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  XXH3_64bits_update(&state, reinterpret_cast<const uint8_t *>(&header) + covered,
                     sizeof header - covered);
  for (const CheckpointPart &part : parts)
    XXH3_64bits_update(&state, &part.entry, sizeof part.entry);
  header.checksum = XXH3_64bits_digest(&state);

  std::vector<uint8_t> chunk;
  Status status;
  const auto put = [&](const void *data, size_t size) {
    const auto *from = static_cast<const uint8_t *>(data);
    chunk.insert(chunk.end(), from, from + size);
    if (chunk.size() < (1 << 20) || !status)
      return;
    status = sink(chunk);
    chunk.clear();
  };
  put(&header, sizeof header);
  for (const CheckpointPart &part : parts)
    put(&part.entry, sizeof part.entry);
  for (const CheckpointPart &part : parts)
    put(part.points.data(), part.points.size());
  if (status)
    status = sink(chunk);
  if (!status)
    return status.error();
  return header.size;
}

Result<uint64_t> writeCheckpoints(FileSystem &files, std::string_view path,
                                  std::vector<CheckpointPart> parts) {
  auto file = files.createFile(path);
  if (!file)
    return file.error();
  auto size = streamCheckpoints(
      std::move(parts), [&](std::span<const uint8_t> bytes) { return (*file)->append(bytes); });
  if (!size)
    return size;
  if (Status status = (*file)->finish(); !status)
    return status.error();
  return size;
}

} // namespace penstock::runtime
