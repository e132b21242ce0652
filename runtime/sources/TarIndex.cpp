// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/TarIndex.h"

#include "runtime/core/Parallel.h"
#include "runtime/core/TextValue.h"
#include "runtime/sources/IndexHeader.h"
#include "runtime/sources/Tar.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <optional>
#include <set>

namespace penstock::runtime {

namespace {

/// Of an index beside a shard: some ten million rows.
constexpr uint64_t mostBeside = uint64_t(1) << 30;

constexpr std::array<char, 8> tarMagic = {'P', 'S', 'T', 'K', 'T', 'A', 'R', '4'};

/// Returns the index of the extension's dot; none for members that are no fields.
std::optional<size_t> dotOf(std::string_view name) {
  const size_t slash = name.rfind('/');
  const size_t last = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = name.find('.', last);
  if (dot == std::string_view::npos || dot == last || name.substr(last).starts_with("__"))
    return std::nullopt;
  return dot;
}

} // namespace

std::string TarIndex::extensionOf(std::string_view written) { return inSmallLetters(written); }

struct TarIndex::Header : IndexHeader {
  uint64_t shards, rows, members, extensions;
};

struct TarIndex::Row {
  uint64_t name; // where it begins in the text
  uint32_t nameLength;
  uint32_t reserved;
  uint64_t firstMember;
};

struct TarIndex::Member {
  uint64_t offset; // in the shard; of a small one, in the text
  uint64_t size : 48;
  uint64_t extension : 16;
};

/// One shard, as it was read.
struct TarIndex::Found {
  struct Field {
    std::string extension;
    uint64_t offset, size;
    std::string contents;
  };
  struct Sample {
    std::string name;
    std::vector<Field> fields;
  };
  FileInfo info;
  uint64_t checkpoints = 0, checkpointsSize = 0;
  bool isTold = false;
  std::vector<Sample> samples;
};

Result<TarIndex::Found> TarIndex::readShard(FileSystem &files, const std::string &path) {
  Found found;
  if (isUrl(path)) {
    auto isThere = readBeside(files, path, found);
    if (!isThere)
      return isThere.error();
    if (*isThere)
      return found;
  }
  return readHeaders(files, path);
}

/// False where there is none, or it is of no use.
Result<bool> TarIndex::readBeside(FileSystem &files, const std::string &path, Found &found) {
  constexpr int64_t hour = int64_t(3600) * 1'000'000'000;
  if (withoutQuery(path).size() < path.size())
    return false; // a signature is of one file
  auto file = files.openFile(pathBeside(path));
  if (!file) {
    const Code code = file.error().code;
    if (code == Code::Unreachable || code == Code::Cancelled)
      return file.error();
    return false;
  }
  auto info = files.stat(path);
  if (!info)
    return info.error();
  const FileInfo its = (*file)->info();
  auto bytes = std::make_shared<Buffer>();
  if (its.modifiedNs + hour < info->modifiedNs || its.size > mostBeside)
    return false;
  if (Status status = (*file)->read(0, size_t(its.size), *bytes); !status) {
    if (status.error().code == Code::Unreachable || status.error().code == Code::Cancelled)
      return status.error();
    return false;
  }
  auto index = parse({bytes->span(), bytes}, {path.substr(path.rfind('/') + 1)});
  if (!index || index->shards()[0].size != info->size)
    return false;
  const Shard &shard = index->shards()[0];
  found.info = *info;
  found.checkpoints = shard.checkpoints;
  found.checkpointsSize = shard.checkpointsSize;
  found.isTold = true;
  const std::vector<std::string> names = index->extensions();
  for (uint64_t row = 0; row < index->rowCount(); ++row) {
    Found::Sample &sample = found.samples.emplace_back();
    sample.name = index->rowName(row);
    const auto members = index->membersOf(row);
    for (const Member &member : members) {
      const bool isSmall = member.size <= smallBytes;
      const std::string_view contents =
          isSmall ? index->text().substr(member.offset, member.size) : std::string_view();
      sample.fields.push_back({names[member.extension], isSmall ? 0 : member.offset, member.size,
                               std::string(contents)});
    }
  }
  return true;
}

Result<TarIndex> TarIndex::ofShard(FileSystem &files, const std::string &path) {
  auto found = readHeaders(files, path);
  if (!found)
    return found.error();
  found->info.modifiedNs = 0;
  std::vector<Found> all;
  all.push_back(std::move(*found));
  return join({path.substr(path.rfind('/') + 1)}, all);
}

Result<TarIndex::Found> TarIndex::readHeaders(FileSystem &files, const std::string &path) {
  auto named = [&](const Error &error) { return Error{error.code, path + ": " + error.message}; };
  auto file = files.openFile(path);
  if (!file)
    return file.error();
  Found found;
  found.info = (*file)->info();
  Buffer window, small;
  uint64_t windowAt = 0;
  auto read = [&](uint64_t at, size_t count) -> Result<std::span<const uint8_t>> {
    if (at < windowAt || at + count > windowAt + window.size()) {
      // Headers of small members lie close together.
      const uint64_t cost = (*file)->readCost(), end = windowAt + window.size();
      const size_t least = at >= windowAt && at - end < cost ? size_t(cost) : 4096;
      windowAt = at;
      if (Status status = (*file)->read(at, std::max(count, least), window); !status)
        return status.error();
    }
    const size_t from = size_t(at - windowAt);
    return window.span().subspan(from, std::min(count, window.size() - from));
  };
  TarReader reader(found.info.size, read);
  TarMember member;
  std::set<std::string> extensions; // of the row at hand
  for (;;) {
    auto more = reader.next(member);
    if (!more)
      return named(more.error());
    if (!*more)
      return found;
    if (member.name == checkpointsName) {
      found.checkpoints = member.offset;
      found.checkpointsSize = member.size;
    }
    const auto dot = dotOf(member.name);
    if (!dot)
      continue;
    const std::string name = member.name.substr(0, *dot);
    Found::Field field{extensionOf(member.name.substr(*dot + 1)), member.offset, member.size, {}};
    if (member.size <= smallBytes) {
      auto bytes = read(member.offset, size_t(member.size));
      if (!bytes)
        return named(bytes.error());
      field.contents.assign(bytes->begin(), bytes->end());
    }
    if (found.samples.empty() || found.samples.back().name != name) {
      found.samples.push_back({name, {}});
      extensions.clear();
    }
    if (!extensions.insert(field.extension).second)
      return named({Code::Corrupt, "member `" + member.name + "` is there twice"});
    if (extensions.size() > mostExtensions)
      return named({Code::Limit, "row `" + name + "` has more than " +
                                     std::to_string(mostExtensions) +
                                     " members: a row's name ends at the first dot"});
    found.samples.back().fields.push_back(std::move(field));
  }
}

Result<TarIndex> TarIndex::join(const std::vector<std::string> &paths,
                                const std::vector<Found> &found) {
  std::string text;
  auto put = [&](std::string_view part) {
    text += part;
    return text.size() - part.size();
  };
  std::vector<Shard> shards;
  std::vector<Row> rows;
  std::vector<Member> members;
  std::map<std::string, uint32_t, std::less<>> numbers;
  for (size_t i = 0; i < paths.size(); ++i)
    shards.push_back({put(paths[i]), paths[i].size(), found[i].info.size, found[i].info.modifiedNs,
                      0, found[i].checkpoints, found[i].checkpointsSize, found[i].isTold});
  for (const Found &shard : found)
    for (const Found::Sample &sample : shard.samples)
      for (const Found::Field &field : sample.fields)
        numbers.emplace(field.extension, uint32_t(numbers.size()));
  if (numbers.size() > mostExtensions)
    return Error{Code::Limit,
                 "the members of these tar files have " + std::to_string(numbers.size()) +
                     " different extensions, the limit is " + std::to_string(mostExtensions)};
  std::vector<uint64_t> ends = {text.size()};
  std::vector<std::string_view> inOrder(numbers.size());
  for (const auto &[extension, number] : numbers)
    inOrder[number] = extension;
  for (std::string_view extension : inOrder)
    ends.push_back(put(extension) + extension.size());

  for (size_t i = 0; i < found.size(); ++i) {
    shards[i].firstRow = rows.size();
    for (const Found::Sample &sample : found[i].samples) {
      rows.push_back({put(sample.name), uint32_t(sample.name.size()), 0, members.size()});
      for (const Found::Field &field : sample.fields) {
        const bool isSmall = field.size <= smallBytes;
        members.push_back({isSmall ? put(field.contents) : field.offset, field.size,
                           numbers.find(field.extension)->second});
      }
    }
  }
  rows.push_back({text.size(), 0, 0, members.size()}); // where the last one ends

  Header header{{tarMagic, 0, 0}, shards.size(), rows.size() - 1, members.size(), numbers.size()};
  std::vector<uint8_t> block(sizeof header);
  auto append = [&](const void *data, size_t size) {
    const auto *from = static_cast<const uint8_t *>(data);
    block.insert(block.end(), from, from + size);
  };
  append(shards.data(), shards.size() * sizeof(Shard));
  append(rows.data(), rows.size() * sizeof(Row));
  append(members.data(), members.size() * sizeof(Member));
  append(ends.data(), ends.size() * sizeof(uint64_t));
  append(text.data(), text.size());
  IndexHeader::seal(block, header);
  auto owner = std::make_shared<std::vector<uint8_t>>(std::move(block));
  return TarIndex(Mapping{{owner->data(), owner->size()}, owner});
}

Result<TarIndex> TarIndex::scan(FileSystem &files, const std::vector<std::string> &paths) {
  std::vector<Found> found(paths.size());
  std::vector<std::optional<Error>> errors(paths.size());
  parallelFor(paths.size(), readingThreads, [&](size_t i) {
    auto shard = readShard(files, paths[i]);
    if (shard)
      found[i] = std::move(*shard);
    else
      errors[i] = shard.error();
  });
  for (const auto &error : errors)
    if (error)
      return *error;
  return join(paths, found);
}

Result<TarIndex> TarIndex::parse(Mapping mapping, const std::vector<std::string> &paths) {
  const Error bad{Code::Corrupt, "the cached index is damaged, or of other files"};
  std::span<const uint8_t> bytes = mapping.bytes;
  Header header;
  if (!IndexHeader::open(bytes, tarMagic, header))
    return bad;
  // A right checksum over wrong contents is somebody's malice; it shall not lead
  // outside the block either.
  uint64_t rest = bytes.size() - sizeof header;
  auto takes = [&](uint64_t count, size_t size) {
    if (count > rest / size)
      return false;
    rest -= count * size;
    return true;
  };
  if (header.rows == UINT64_MAX || header.extensions > 65535 ||
      !takes(header.shards, sizeof(Shard)) || !takes(header.rows + 1, sizeof(Row)) ||
      !takes(header.members, sizeof(Member)) || !takes(header.extensions + 1, sizeof(uint64_t)) ||
      header.shards != paths.size())
    return bad;
  TarIndex index(std::move(mapping));
  auto inText = [&](uint64_t at, uint64_t size) { return at <= rest && size <= rest - at; };
  uint64_t row = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    const Shard &shard = index.shards()[i];
    if (!inText(shard.path, shard.pathLength) || index.shardPath(shard) != paths[i] ||
        shard.checkpointsSize > shard.size ||
        shard.checkpoints > shard.size - shard.checkpointsSize || shard.firstRow < row ||
        shard.firstRow > header.rows || (i == 0 && shard.firstRow))
      return bad;
    row = shard.firstRow;
  }
  uint64_t member = 0;
  for (const Row &one : index.rows()) {
    if (!inText(one.name, one.nameLength) || one.firstMember < member ||
        one.firstMember > header.members)
      return bad;
    member = one.firstMember;
  }
  if (member != header.members)
    return bad;
  for (const Member &one : index.members())
    if (one.extension >= header.extensions ||
        (one.size <= smallBytes && !inText(one.offset, one.size)))
      return bad;
  for (uint64_t i = 0; i < header.extensions; ++i)
    if (index.extensionEnds()[i] > index.extensionEnds()[i + 1])
      return bad;
  if (index.extensionEnds()[header.extensions] > rest)
    return bad;
  return index;
}

bool TarIndex::isCurrent(FileSystem &files) const {
  std::atomic<bool> isSame = true;
  // Of files of this machine one thread knows before others have begun.
  const bool isFar = !shards().empty() && isUrl(shardPath(shards()[0]));
  parallelFor(shards().size(), isFar ? readingThreads : 1, [&](size_t i) {
    const Shard &shard = shards()[i];
    if (!isSame)
      return;
    auto info = files.stat(shardPath(shard));
    if (!info || info->kind != FileKind::File || info->size != shard.size ||
        info->modifiedNs != shard.modifiedNs)
      isSame = false;
  });
  return isSame;
}

int64_t TarIndex::lastChangeNs() const {
  int64_t last = INT64_MIN;
  for (const Shard &shard : shards())
    last = std::max(last, shard.modifiedNs);
  return last;
}

// The block begins at an aligned address, and all parts before the text are
// multiples of 8 bytes.
const TarIndex::Header &TarIndex::header() const {
  return *reinterpret_cast<const Header *>(mapping.bytes.data());
}

std::span<const TarIndex::Shard> TarIndex::shards() const {
  return {reinterpret_cast<const Shard *>(mapping.bytes.data() + sizeof(Header)), header().shards};
}

std::span<const TarIndex::Row> TarIndex::rows() const {
  return {reinterpret_cast<const Row *>(shards().data() + header().shards), header().rows + 1};
}

std::span<const TarIndex::Member> TarIndex::members() const {
  return {reinterpret_cast<const Member *>(rows().data() + header().rows + 1), header().members};
}

const uint64_t *TarIndex::extensionEnds() const {
  return reinterpret_cast<const uint64_t *>(members().data() + header().members);
}

std::string_view TarIndex::text() const {
  const auto *begin = reinterpret_cast<const char *>(extensionEnds() + header().extensions + 1);
  const auto *end = reinterpret_cast<const char *>(mapping.bytes.data() + mapping.bytes.size());
  return {begin, size_t(end - begin)};
}

uint64_t TarIndex::rowCount() const { return header().rows; }

std::string TarIndex::shardPath(const Shard &shard) const {
  return std::string(text().substr(shard.path, shard.pathLength));
}

const TarIndex::Shard &TarIndex::shardOf(uint64_t row) const {
  auto all = shards();
  auto behind =
      std::upper_bound(all.begin(), all.end(), row,
                       [](uint64_t wanted, const Shard &shard) { return wanted < shard.firstRow; });
  return *(behind - 1);
}

std::string_view TarIndex::rowName(uint64_t row) const {
  return text().substr(rows()[row].name, rows()[row].nameLength);
}

std::vector<std::string> TarIndex::extensions() const {
  std::vector<std::string> names;
  const uint64_t *ends = extensionEnds();
  for (uint64_t i = 0; i < header().extensions; ++i)
    names.emplace_back(text().substr(ends[i], ends[i + 1] - ends[i]));
  return names;
}

std::span<const TarIndex::Member> TarIndex::membersOf(uint64_t row) const {
  const auto all = rows();
  return members().subspan(all[row].firstMember, all[row + 1].firstMember - all[row].firstMember);
}

bool TarIndex::find(uint64_t row, std::span<const uint32_t> wanted, Field &field) const {
  const auto mine = membersOf(row);
  for (uint32_t extension : wanted)
    for (const Member &member : mine)
      if (member.extension == extension) {
        field = {member.offset, member.size, {}};
        if (member.size <= smallBytes)
          field.contents = text().substr(member.offset, member.size);
        return true;
      }
  return false;
}

} // namespace penstock::runtime
