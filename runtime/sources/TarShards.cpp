// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/TarShards.h"

#include "runtime/core/Memory.h"
#include "runtime/core/TextValue.h"
#include "runtime/sources/ClassNames.h"
#include "runtime/sources/Csv.h"
#include "runtime/sources/IndexCache.h"
#include "runtime/sources/Tar.h"
#include "runtime/sources/TarIndex.h"

#include <algorithm>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>

namespace penstock::runtime {

using plan::DType;

namespace {

constexpr std::string_view keyColumn = "__key__";

/// Files that stay open, as many as a process may well have open; far ones take no descriptor.
class OpenShards {
public:
  OpenShards(FileSystem &files, const TarIndex &index)
      : files(files), index(index), open(index.shards().size()),
        most(!open.empty() && isUrl(index.shardPath(index.shards()[0])) ? 4096 : 128) {}

  Result<std::shared_ptr<OpenFile>> get(size_t number) {
    {
      std::unique_lock guard(lock);
      // One opens it, which may take long, and all take that.
      ended.wait(guard, [&] { return open[number] || !opening.contains(number); });
      if (open[number])
        return open[number];
      opening.insert(number);
    }
    const Opening mine{*this, number};
    auto file = openShard(number);
    if (!file)
      return file;
    std::lock_guard guard(lock);
    open[number] = *file;
    order.push_back(number);
    held += (*file)->bytesHeld();
    while (order.size() > most || (held > mostHeld && order.size() > 1))
      forgetOldest();
    return file;
  }

private:
  /// Whatever comes of it, others wait no longer.
  struct Opening {
    OpenShards &shards;
    size_t number;
    ~Opening() {
      std::lock_guard guard(shards.lock);
      shards.opening.erase(number);
      shards.ended.notify_all();
    }
  };
  Result<std::shared_ptr<OpenFile>> openShard(size_t number) {
    const TarIndex::Shard &shard = index.shards()[number];
    const std::string path = index.shardPath(shard);
    auto file = files.openFile(path);
    while (!file && file.error().code == Code::Exhausted && closeOldest())
      file = files.openFile(path);
    if (!file)
      return file.error();
    const FileInfo info = (*file)->info();
    if (info.size != shard.size || info.modifiedNs != shard.modifiedNs)
      return Error{Code::Io, path + " has changed since this run began"};
    return file;
  }
  void forgetOldest() { // those who read from it keep it
    held -= open[order.front()]->bytesHeld();
    open[order.front()].reset();
    order.pop_front();
  }
  /// False where there is none.
  bool closeOldest() {
    std::lock_guard guard(lock);
    if (order.empty())
      return false;
    forgetOldest();
    return true;
  }

  FileSystem &files;
  const TarIndex &index;
  std::mutex lock;
  std::condition_variable ended;
  std::set<size_t> opening;
  std::vector<std::shared_ptr<OpenFile>> open; // by shard
  const size_t most;
  static constexpr uint64_t mostHeld = uint64_t(256) << 20;
  uint64_t held = 0;        // bytes in their memory
  std::deque<size_t> order; // as they were opened
};

class TarShards final : public Source {
public:
  struct Column {
    std::string from;
    std::vector<uint32_t> extensions;
    bool isKey = false;
  };

  TarShards(FileSystem &files, TarIndex list, std::vector<ColumnInfo> table,
            std::vector<Column> given, uint64_t maxFileBytes)
      : Source(int64_t(list.rowCount()), std::move(table)), index(std::move(list)),
        given(std::move(given)), maxFileBytes(maxFileBytes), shards(files, index) {}

  std::string rowName(int64_t row) const override {
    const std::string path = index.shardPath(index.shardOf(uint64_t(row)));
    return path.substr(path.rfind('/') + 1) + ":" + std::string(index.rowName(uint64_t(row)));
  }

  Result<int64_t> scalar(int64_t row, int column) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isScalar())
      return noSuchField(column, "a scalar");
    TarIndex::Field field;
    if (Status status = find(row, column, field); !status)
      return status.error();
    if (field.size > TarIndex::smallBytes)
      return inMember(column, {Code::InvalidArgument, "it has " + std::to_string(field.size) +
                                                          " bytes, and should be a " +
                                                          (info.classes ? "class" : "number")});
    auto value = info.classes ? info.classes->numberOf(field.contents)
                              : parseValue(info.type, field.contents);
    return value ? value : inMember(column, value.error());
  }

  Result<std::string> text(int64_t row, int column) const override {
    if (!columns()[size_t(column)].isText())
      return noSuchField(column, "text");
    if (given[size_t(column)].isKey)
      return std::string(index.rowName(uint64_t(row)));
    Buffer bytes;
    if (Status status = read(row, column, bytes); !status)
      return status.error();
    return std::string(bytes.data(), bytes.data() + bytes.size());
  }

  Status fetch(int64_t row, int column, Buffer &out) const override {
    if (!columns()[size_t(column)].isBlob())
      return noSuchField(column, "bytes");
    return read(row, column, out);
  }

  Result<MediaPlace> place(int64_t row, int column) const override {
    if (!columns()[size_t(column)].isBlob())
      return noSuchField(column, "bytes");
    TarIndex::Field field;
    if (Status status = find(row, column, field); !status)
      return status.error();
    if (field.size <= TarIndex::smallBytes)
      return Source::place(row, column); // its bytes are in the index
    const TarIndex::Shard &shard = index.shardOf(uint64_t(row));
    auto file = shards.get(size_t(&shard - index.shards().data()));
    if (!file)
      return file.error();
    if (shard.isTold) {
      Buffer header;
      if (Status status = readTold(**file, uint64_t(row), field, 0, header); !status)
        return status.error();
    }
    return MediaPlace{std::move(*file), field.offset, field.size, shard.modifiedNs,
                      index.shardPath(shard) + ":" + std::to_string(field.offset)};
  }

  std::vector<FilePart> checkpointParts() const override {
    std::vector<FilePart> parts;
    for (const TarIndex::Shard &shard : index.shards())
      if (shard.checkpointsSize)
        parts.push_back({index.shardPath(shard), shard.checkpoints, shard.checkpointsSize});
    return parts;
  }

private:
  Error inMember(int column, const Error &error) const {
    return {error.code, "member ." + given[size_t(column)].from + ": " + error.message};
  }

  Status find(int64_t row, int column, TarIndex::Field &field) const {
    if (index.find(uint64_t(row), given[size_t(column)].extensions, field))
      return {};
    return Error{Code::NotFound, "there is no member ." + given[size_t(column)].from};
  }

  Status read(int64_t row, int column, Buffer &out) const {
    TarIndex::Field field;
    if (Status status = find(row, column, field); !status)
      return status;
    if (field.size <= TarIndex::smallBytes) {
      if (!out.resize(field.contents.size()))
        return noMemory("for a member of a tar file");
      std::copy(field.contents.begin(), field.contents.end(), out.data());
      return {};
    }
    if (field.size > maxFileBytes)
      return inMember(column,
                      {Code::Limit, "it has " + std::to_string(field.size) +
                                        " bytes, the limit is " + std::to_string(maxFileBytes)});
    const TarIndex::Shard &shard = index.shardOf(uint64_t(row));
    auto file = shards.get(size_t(&shard - index.shards().data()));
    if (!file)
      return file.error();
    if (shard.isTold)
      return readTold(**file, uint64_t(row), field, field.size, out);
    if (Status status = (*file)->read(field.offset, size_t(field.size), out); !status)
      return status;
    // Behind the read: what was written before it shows now.
    if (Status status = (*file)->checkUnchanged(); !status)
      return status;
    if (out.size() < field.size)
      return inMember(column, {Code::Truncated, "the file ends inside of it"});
    return {};
  }

  /// Reads the first `count` bytes of a member of a shard whose index lay beside it, with its
  /// header, which has to be the one that the index means.
  Status readTold(OpenFile &file, uint64_t row, const TarIndex::Field &field, uint64_t count,
                  Buffer &out) const {
    if (field.offset >= tarBlock)
      if (Status status = file.read(field.offset - tarBlock, size_t(count + tarBlock), out);
          !status)
        return status;
    const std::string name = std::string(index.rowName(row)) + ".";
    if (field.offset < tarBlock || out.size() < count + tarBlock ||
        !isHeaderOf(out.span().first(tarBlock), name, field.size))
      return Error{Code::Io, "the shard is another than the one that its index was made of; make " +
                                 TarIndex::pathBeside(index.shardPath(index.shardOf(row))) +
                                 " again (`penstock index --rows`), or remove it"};
    std::memmove(out.data(), out.data() + tarBlock, size_t(count));
    return out.resize(size_t(count)) ? Status() : noMemory("for a member of a tar file");
  }

  TarIndex index;
  std::vector<Column> given;
  uint64_t maxFileBytes;
  mutable OpenShards shards; // a cache, with a lock of its own
};

bool isTar(std::string_view name) {
  constexpr std::string_view end = ".tar";
  return name.size() >= end.size() &&
         std::equal(end.begin(), end.end(), name.end() - end.size(),
                    [](char wanted, char c) { return wanted == (c | 0x20) || wanted == c; });
}

bool isCompressedTar(std::string_view name) {
  constexpr std::string_view ends[] = {".tar.gz", ".tgz", ".tar.zst", ".tar.xz", ".tar.bz2"};
  return std::any_of(std::begin(ends), std::end(ends),
                     [&](std::string_view end) { return name.ends_with(end); });
}

Result<std::vector<std::string>> shardsIn(FileSystem &files, const std::string &folder) {
  auto entries = files.listFolder(folder);
  if (!entries)
    return entries.error();
  std::vector<std::string> paths;
  size_t compressed = 0;
  for (const FolderEntry &entry : *entries) {
    // Where a link cannot be followed, opening the file says why.
    const bool isFile = entry.kind == FileKind::File || entry.link == Link::Broken;
    if (isFile && isTar(entry.name))
      paths.push_back(folder + "/" + entry.name);
    compressed += isCompressedTar(entry.name);
  }
  if (paths.empty() && compressed)
    return Error{Code::Unsupported, "folder " + folder + " has no .tar files, and " +
                                        std::to_string(compressed) +
                                        " compressed ones, which have no random access"};
  if (paths.empty())
    return Error{Code::NotFound, "folder " + folder + " has no .tar files"};
  return paths;
}

Result<std::vector<std::string>> shardsListed(FileSystem &files, const std::string &list) {
  auto mapping = readList(files, list);
  if (!mapping)
    return mapping.error();
  const std::string_view text(reinterpret_cast<const char *>(mapping->bytes.data()),
                              mapping->bytes.size());
  if (text.substr(0, 512).find('\0') != std::string_view::npos)
    return Error{Code::Unsupported,
                 list + " is no list of tar files; the name of a tar file ends in .tar"};
  CsvReader lines(text, '\0');
  std::vector<std::string> paths;
  std::vector<CsvCell> line;
  for (auto more = lines.next(line); more && *more; more = lines.next(line))
    paths.push_back(resolvePath(line[0].text(), folderOf(list)));
  if (paths.empty())
    return Error{Code::NotFound, list + " names no tar file"};
  return paths;
}

/// The paths that `train-{000..146}.tar` stands for: as many digits as the first number has, at
/// least. Empty where nothing is between braces.
Result<std::vector<std::string>> shardsBetween(const std::string &path) {
  constexpr uint64_t most = 1'000'000;
  const size_t begin = path.find('{'), dots = path.find("..", begin), end = path.find('}', begin);
  uint64_t first = 0, last = 0;
  auto reads = [&](size_t from, size_t to, uint64_t &number) {
    const char *stop = path.data() + to;
    const auto [at, error] = std::from_chars(path.data() + from, stop, number);
    return from < to && error == std::errc() && at == stop;
  };
  if (begin == std::string::npos || end == std::string::npos || dots >= end ||
      !reads(begin + 1, dots, first) || !reads(dots + 2, end, last))
    return std::vector<std::string>();
  if (path.find('{', end) != std::string::npos)
    return Error{Code::InvalidArgument,
                 path + ": one range of numbers is taken, and here are several braces; list the "
                        "paths in a text file"};
  if (last < first || last - first >= most)
    return Error{Code::InvalidArgument, path +
                                            ": the numbers between braces go from the least to "
                                            "the largest, both included, and are " +
                                            std::to_string(most) + " at most"};
  std::vector<std::string> paths;
  for (uint64_t more = 0; more <= last - first; ++more) {
    std::string digits = std::to_string(first + more);
    if (const size_t width = dots - begin - 1; digits.size() < width)
      digits.insert(0, width - digits.size(), '0');
    paths.push_back(path.substr(0, begin) + digits + path.substr(end + 1));
  }
  return paths;
}

Result<TarIndex> indexOf(FileSystem &files, const TarOptions &options) {
  auto paths = tarShardsAt(files, options.path);
  if (!paths)
    return paths.error();
  std::string key;
  for (const std::string &path : *paths)
    (key += path) += '\n';
  const IndexCache cache(files, options.cacheFolder, "tar-shards", key);
  if (auto kept = cache.map())
    if (auto index = TarIndex::parse(std::move(*kept), *paths); index && index->isCurrent(files))
      return index;
  auto index = TarIndex::scan(files, *paths);
  if (index)
    cache.keep(index->bytes(), index->lastChangeNs());
  return index;
}

/// The numbers of the extensions in "jpg;png", in this order.
Result<std::vector<uint32_t>> extensionsOf(const TarColumn &column,
                                           const std::vector<std::string> &known) {
  std::vector<uint32_t> numbers;
  for (size_t at = 0; at <= column.from.size();) {
    const size_t end = std::min(column.from.find(';', at), column.from.size());
    auto found = std::find(known.begin(), known.end(),
                           TarIndex::extensionOf(column.from.substr(at, end - at)));
    if (found != known.end())
      numbers.push_back(uint32_t(found - known.begin()));
    at = end + 1;
  }
  if (!numbers.empty())
    return numbers;
  std::string all;
  for (size_t i = 0; i < std::min<size_t>(known.size(), 10); ++i)
    all += (i ? " ." : ".") + known[i];
  return Error{Code::NotFound, "column `" + column.name + "`: no row has a member ." + column.from +
                                   "; there are " + all + (known.size() > 10 ? " ..." : "")};
}

} // namespace

Result<std::vector<std::string>> tarShardsAt(FileSystem &files, const std::string &given) {
  const std::string path = absolutePath(given);
  if (auto between = shardsBetween(path); !between || !between->empty())
    return between;
  const std::string_view name = withoutQuery(path);
  const bool isShard = isTar(name) || isCompressedTar(name);
  // Servers of HTTP have no folders, and need not say how long a list is.
  if (!path.starts_with("http") || !isUrl(path)) {
    auto info = files.stat(path);
    if (!info)
      return info.error();
    if (info->kind == FileKind::Folder)
      return shardsIn(files, path);
  }
  if (isShard)
    return std::vector<std::string>{path};
  return shardsListed(files, path);
}

Result<std::unique_ptr<Source>> openTarShards(FileSystem &files, const TarOptions &options,
                                              const std::vector<TarColumn> &columns) {
  auto index = indexOf(files, options);
  if (!index)
    return index.error();
  if (index->rowCount() == 0)
    return Error{Code::NotFound,
                 options.path + " has no rows: no member has a name such as `0001.jpg`"};
  const std::vector<std::string> known = index->extensions();
  std::vector<ColumnInfo> table;
  std::vector<TarShards::Column> given;
  for (const TarColumn &column : columns) {
    table.push_back({column.name, column.type, {}, column.classes});
    TarShards::Column &mine = given.emplace_back();
    mine.from = column.from;
    mine.isKey = column.from == keyColumn;
    if (mine.isKey && column.type != DType::text)
      return Error{Code::InvalidArgument, "column `" + column.name + "`: __key__ is text"};
    if (mine.isKey)
      continue;
    auto extensions = extensionsOf(column, known);
    if (!extensions)
      return extensions.error();
    mine.extensions = std::move(*extensions);
  }
  return std::unique_ptr<Source>(new TarShards(files, std::move(*index), std::move(table),
                                               std::move(given), options.maxFileBytes));
}

} // namespace penstock::runtime
