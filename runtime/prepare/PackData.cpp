// SPDX-License-Identifier: Apache-2.0
//
// A shard is a pure function of the listing, so that one that is there need not
// be written again, and verifying is writing it once more, to be compared.
#include "runtime/prepare/PackData.h"

#include "runtime/core/Parallel.h"
#include "runtime/prepare/ShardRows.h"
#include "runtime/prepare/TarWriter.h"
#include "runtime/sources/FolderIndex.h"
#include "runtime/sources/Tar.h"
#include "runtime/sources/TarIndex.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

constexpr std::string_view leftOutName = "__left_out__.txt";
constexpr const char *planName = "penstock-pack.txt";

using Sink = std::function<Status(std::span<const uint8_t>)>;

/// Names and reasons stand in lines, with tabs between them: what they have of these themselves is
/// written as `\n` and `\t`, and a backslash as two.
std::string escaped(std::string_view text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n' || c == '\t' || c == '\\')
      line += '\\';
    line += c == '\n' ? 'n' : c == '\t' ? 't' : c;
  }
  return line;
}

std::string unescaped(std::string_view line) {
  std::string text;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool is = line[i] == '\\' && i + 1 < line.size();
    const char c = line[is ? ++i : i];
    text += is && c == 'n' ? '\n' : is && c == 't' ? '\t' : c;
  }
  return text;
}

/// Names for the members of one folder after the other: what stands before the
/// first dot is of one file only, and not empty.
class MemberNames {
public:
  std::string nameFor(const std::string &path) {
    const size_t slash = path.rfind('/') + 1;
    if (path.substr(0, slash) != folder) {
      folder = path.substr(0, slash);
      stems.clear();
    }
    const std::string name = path.substr(slash);
    const size_t last = name.rfind('.');
    std::string stem = name.substr(0, last), end = name.substr(last);
    std::replace(stem.begin(), stem.end(), '.', '_');
    if (stem.empty() || stem.starts_with("__"))
      stem = "x" + stem;
    std::string mine = stem;
    for (int number = 2; !stems.insert(mine).second; ++number)
      mine = stem + "-" + std::to_string(number);
    return folder + mine + end;
  }

private:
  std::string folder;
  std::set<std::string> stems;
};

class Packing {
public:
  Packing(FileSystem &files, const PackOptions &options, const PrepareProgress &progress)
      : files(files), options(options), progress(progress), root(absolutePath(options.root)),
        out(absolutePath(options.out)) {}

  Result<PackReport> run();

private:
  struct Image {
    std::string path, member;
    uint32_t label;
    uint64_t size;
    int64_t modifiedNs;
  };
  struct Shard {
    size_t first, end; // images
  };

  Status list();
  void plan();
  Status checkOut();
  Status writeAll();
  Status writeShard(size_t number);
  Status verifyShard(size_t number);
  Status generate(size_t number, const Sink &sink);
  Status count(size_t number);
  Status forShards(const std::function<Status(size_t)> &work);
  std::string planText(bool complete) const;
  Status writePlan(bool complete);
  std::string shardPath(size_t number) const;
  void leaveOut(const std::string &name, const std::string &why) {
    std::lock_guard guard(lock);
    report.leftOut.emplace_back(name, why);
  }
  Status step(uint64_t count);

  FileSystem &files;
  const PackOptions &options;
  const PrepareProgress &progress;
  const std::string root, out;
  std::vector<std::string> classes;
  std::vector<Image> images;
  std::vector<Shard> shards;
  std::vector<bool> present;
  std::vector<uint64_t> shardSizes;
  uint64_t key = 0;
  std::mutex lock; // of what follows
  PackReport report;
  uint64_t done = 0, total = 0;
};

std::string Packing::shardPath(size_t number) const {
  char name[32];
  std::snprintf(name, sizeof name, "/%06zu.tar", number);
  return out + name;
}

Status Packing::step(uint64_t count) {
  std::lock_guard guard(lock);
  done += count;
  if (progress && !progress(done, total))
    return Error{Code::Cancelled, "interrupted; whole shards are kept"};
  return {};
}

Status Packing::list() {
  auto index = FolderIndex::scan(files, root);
  if (!index)
    return index.error();
  const size_t count = index->fileCount();
  std::vector<Image> all(count);
  std::vector<std::string> errors(count);
  parallelFor(count, 16, [&](size_t i) {
    Image &image = all[i];
    image.path = index->relativePath(i);
    image.label = index->label(i);
    if (auto info = files.stat(root + "/" + image.path)) {
      image.size = info->size;
      image.modifiedNs = info->modifiedNs;
    } else {
      errors[i] = info.error().message;
    }
  });
  for (uint32_t label = 0; label < index->classCount(); ++label)
    classes.emplace_back(index->className(label));
  MemberNames names;
  std::set<std::string> extensions;
  for (size_t i = 0; i < count; ++i) {
    if (!errors[i].empty()) {
      leaveOut(all[i].path, errors[i]);
      continue;
    }
    Image &image = all[i];
    image.member = names.nameFor(image.path);
    report.renamed += image.member != image.path;
    report.dataBytes += image.size;
    extensions.insert(TarIndex::extensionOf(image.member.substr(image.member.rfind('.') + 1)));
    images.push_back(std::move(image));
  }
  report.extensions.assign(extensions.begin(), extensions.end());
  return {};
}

void Packing::plan() {
  XXH3_state_t state;
  XXH3_64bits_reset(&state);
  const auto add = [&](const void *data, size_t size) { XXH3_64bits_update(&state, data, size); };
  add(&options.shardSize, sizeof options.shardSize);
  uint64_t used = 0;
  for (size_t i = 0; i < images.size(); ++i) {
    const Image &image = images[i];
    add(image.path.c_str(), image.path.size() + 1);
    add(&image.label, sizeof image.label);
    add(&image.size, sizeof image.size);
    add(&image.modifiedNs, sizeof image.modifiedNs);
    const uint64_t bytes = 3 * tarBlock + (image.size + tarBlock - 1) / tarBlock * tarBlock;
    if (shards.empty() || used + bytes > options.shardSize) {
      shards.push_back({i, i});
      used = 0;
    }
    used += bytes;
    shards.back().end = i + 1;
  }
  key = XXH3_64bits_digest(&state);
  shardSizes.resize(shards.size());
}

std::string Packing::planText(bool complete) const {
  char line[64];
  std::snprintf(line, sizeof line, "penstock-pack 1 %016llx\n",
                static_cast<unsigned long long>(key));
  std::string text = line;
  if (!complete)
    return text;
  text += "images " + std::to_string(report.images) + "\n";
  for (size_t i = 0; i < shards.size(); ++i)
    text += "shard " + shardPath(i).substr(out.size() + 1) + " " + std::to_string(shardSizes[i]) +
            " bytes\n";
  for (size_t i = 0; i < classes.size(); ++i)
    text += "class " + std::to_string(i) + " " + escaped(classes[i]) + "\n";
  for (const auto &[name, why] : report.leftOut)
    text += "left out " + escaped(name) + ": " + escaped(why) + "\n";
  return text;
}

/// Writes the plan; the next run uses again what a kill leaves of it.
Status Packing::writePlan(bool complete) {
  const std::string text = planText(complete);
  auto file = files.createFile(out + "/" + planName);
  if (!file)
    return file.error();
  Status status = (*file)->append({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
  return status ? (*file)->finish() : status;
}

/// The plan is the first file in the folder: it says whose the others are.
Status Packing::checkOut() {
  auto entries = files.listFolder(out);
  if (!entries)
    return entries.error();
  const std::string path = out + "/" + planName;
  Buffer bytes;
  if (files.readFile(path, bytes)) {
    const std::string mine = planText(false);
    if (bytes.size() < mine.size() || std::memcmp(bytes.data(), mine.data(), mine.size()) != 0)
      return Error{Code::InvalidArgument, out + " holds a pack of other data, of another shard "
                                                "size, or of data that have changed since; take "
                                                "an empty folder"};
  } else {
    for (const FolderEntry &entry : *entries)
      if (entry.name[0] != '.')
        return Error{Code::InvalidArgument, out + " is not empty: `" + entry.name + "` is in it"};
    if (Status status = writePlan(false); !status)
      return status;
  }
  present.resize(shards.size());
  for (size_t i = 0; i < shards.size(); ++i)
    present[i] = bool(files.stat(shardPath(i)));
  for (const FolderEntry &entry : *entries)
    if (entry.name.ends_with(".tar") &&
        (entry.name.size() != 10 || std::atol(entry.name.c_str()) >= long(shards.size())))
      return Error{Code::InvalidArgument,
                   out + " holds `" + entry.name + "`, which is no part of this pack"};
  return {};
}

Status Packing::generate(size_t number, const Sink &sink) {
  const auto member = [&](std::string_view name, std::span<const uint8_t> bytes,
                          int64_t seconds) -> Status {
    if (Status status = sink(tarHeader(name, bytes.size(), seconds)); !status)
      return status;
    if (Status status = sink(bytes); !status)
      return status;
    return sink(tarPadding(bytes.size()));
  };
  const auto text = [](const std::string &value) {
    return std::span(reinterpret_cast<const uint8_t *>(value.data()), value.size());
  };
  CheckpointMaker maker;
  std::vector<CheckpointRecord> records;
  std::string missing;
  Buffer bytes;
  for (size_t i = shards[number].first; i < shards[number].end; ++i) {
    const Image &image = images[i];
    const Status read = files.readFile(root + "/" + image.path, bytes, uint64_t(1) << 30);
    if (!read || bytes.size() != image.size) {
      missing += escaped(image.path) + "\t" +
                 (read ? "it changed while it was packed" : escaped(read.error().message)) + "\n";
    } else {
      const int64_t seconds = image.modifiedNs / 1'000'000'000;
      records.push_back(maker.make(bytes.span(), checkpointName(image.member, image.size, 0)));
      if (Status status = member(image.member, bytes.span(), seconds); !status)
        return status;
      const std::string label = std::to_string(image.label);
      const std::string labelName = image.member.substr(0, image.member.rfind('.')) + ".cls";
      if (Status status = member(labelName, text(label), seconds); !status)
        return status;
    }
    if (Status status = step(1); !status)
      return status;
  }
  std::vector<CheckpointPart> parts;
  for (const CheckpointRecord &record : records)
    parts.push_back({record.entry, record.points});
  std::vector<uint8_t> sidecar;
  const auto append = [&](std::span<const uint8_t> more) -> Status {
    sidecar.insert(sidecar.end(), more.begin(), more.end());
    return {};
  };
  if (auto size = streamCheckpoints(std::move(parts), append); !size)
    return size.error();
  if (Status status = member(TarIndex::checkpointsName, sidecar, 0); !status)
    return status;
  if (!missing.empty())
    if (Status status = member(leftOutName, text(missing), 0); !status)
      return status;
  return sink(tarEnd());
}

Status Packing::writeShard(size_t number) {
  if (present[number])
    return step(shards[number].end - shards[number].first);
  auto file = files.createFile(shardPath(number));
  if (!file)
    return file.error();
  if (Status status = generate(number, [&](auto bytes) { return (*file)->append(bytes); }); !status)
    return status;
  return (*file)->finish();
}

Status Packing::verifyShard(size_t number) {
  const std::string path = shardPath(number);
  auto file = files.openFile(path);
  if (!file)
    return file.error();
  uint64_t at = 0;
  Buffer there;
  const auto compare = [&](std::span<const uint8_t> bytes) -> Status {
    if (Status status = (*file)->read(at, bytes.size(), there); !status)
      return status;
    const auto found = there.span();
    const auto differs = std::mismatch(bytes.begin(), bytes.end(), found.begin(), found.end());
    if (differs.first != bytes.end())
      return Error{Code::Corrupt, path + " differs from the data at byte " +
                                      std::to_string(at + uint64_t(differs.first - bytes.begin()))};
    at += bytes.size();
    return {};
  };
  if (Status status = generate(number, compare); !status)
    return status;
  if (at != (*file)->info().size)
    return Error{Code::Corrupt, path + " has " + std::to_string((*file)->info().size) +
                                    " bytes, and should have " + std::to_string(at)};
  std::lock_guard guard(lock);
  report.verified += at;
  return {};
}

/// Counts what a shard holds: it may be of an earlier run.
Status Packing::count(size_t number) {
  const std::string path = shardPath(number);
  auto file = files.openFile(path);
  if (!file)
    return file.error();
  Buffer bytes;
  TarReader reader((*file)->info().size,
                   [&](uint64_t at, size_t size) -> Result<std::span<const uint8_t>> {
                     if (Status status = (*file)->read(at, size, bytes); !status)
                       return status.error();
                     return std::span<const uint8_t>(bytes.span());
                   });
  uint64_t found = 0, missing = 0;
  TarMember member;
  for (;;) {
    auto more = reader.next(member);
    if (!more)
      return Error{more.error().code, path + ": " + more.error().message};
    if (!*more)
      break;
    found += isImageName(member.name);
    if (member.name != leftOutName)
      continue;
    if (Status status = (*file)->read(member.offset, size_t(member.size), bytes); !status)
      return status;
    std::string_view rest(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      const size_t tab = line.find('\t');
      leaveOut(unescaped(line.substr(0, tab)), unescaped(line.substr(tab + 1)));
      ++missing;
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
  }
  if (auto written = writeRowsOf(files, path); !written)
    return written.error();
  const uint64_t wanted = shards[number].end - shards[number].first;
  if (found > wanted || found + missing < wanted)
    return Error{Code::Corrupt, path + " holds " + std::to_string(found) + " images of " +
                                    std::to_string(wanted - std::min(missing, wanted)) +
                                    "; remove it, and it is written again"};
  std::lock_guard guard(lock);
  report.images += found;
  report.outBytes += shardSizes[number] = (*file)->info().size;
  report.earlier += present[number];
  return {};
}

Status Packing::forShards(const std::function<Status(size_t)> &work) {
  std::optional<Error> failure;
  std::atomic<bool> failed{false};
  parallelFor(shards.size(), options.threads, [&](size_t number) {
    if (failed)
      return;
    if (Status status = work(number); !status) {
      std::lock_guard guard(lock);
      if (!failed.exchange(true))
        failure = status.error();
    }
  });
  return failure ? Status(*failure) : Status();
}

Status Packing::writeAll() {
  if (Status status = forShards([&](size_t i) { return writeShard(i); }); !status)
    return status;
  if (Status status = forShards([&](size_t i) { return count(i); }); !status)
    return status;
  std::sort(report.leftOut.begin(), report.leftOut.end());
  return writePlan(true);
}

Result<PackReport> Packing::run() {
  if (liesWithin(out, root))
    return Error{Code::InvalidArgument, out + " lies in " + root + ": it would be a class"};
  if (Status status = list(); !status)
    return status.error();
  plan();
  total = images.size() * (options.verify ? 2 : 1);
  if (Status status = checkOut(); !status)
    return status.error();
  if (Status status = writeAll(); !status)
    return status.error();
  if (options.verify)
    if (Status status = forShards([&](size_t i) { return verifyShard(i); }); !status)
      return status.error();
  report.shards = shards.size();
  return report;
}

} // namespace

Result<PackReport> packData(FileSystem &files, const PackOptions &options,
                            const PrepareProgress &progress) {
  return Packing(files, options, progress).run();
}

} // namespace penstock::runtime
