#include "runtime/sources/ImageFolder.h"

#include <chrono>
#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

namespace {

std::string cachePath(const std::string &folder, const std::string &root) {
  char name[48];
  std::snprintf(name, sizeof name, "/image-folder-%016llx.index",
                static_cast<unsigned long long>(XXH3_64bits(root.data(), root.size())));
  return folder + name;
}

/// A folder's time has the grain of the system's clock tick: one that was
/// changed just now may change again without showing it.
bool isSettled(const FolderIndex &index) {
  using namespace std::chrono;
  int64_t now =
      duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  return index.lastChangeNs() < now - 2'000'000'000;
}

} // namespace

ImageFolder::ImageFolder(FileSystem &files, FolderIndex index, bool cached,
                         const Options &options)
    : Source(int64_t(index.fileCount()),
             {{"data", plan::DType::bytes, {}},
              {"label", plan::DType::i64, {}},
              {"name", plan::DType::text, {}}}),
      files(files), list(std::move(index)), cached(cached), options(options) {}

Result<std::unique_ptr<ImageFolder>> ImageFolder::open(FileSystem &files,
                                                       std::string_view path,
                                                       const Options &options) {
  std::string root = absolutePath(path);
  auto make = [&](FolderIndex index, bool cached) {
    return std::unique_ptr<ImageFolder>(
        new ImageFolder(files, std::move(index), cached, options));
  };
  std::string cache;
  if (!options.cacheFolder.empty() && files.makePrivateFolder(options.cacheFolder)) {
    cache = cachePath(options.cacheFolder, root);
    if (Result<Mapping> mapping = files.mapFile(cache))
      if (Result<FolderIndex> index = FolderIndex::parse(std::move(*mapping), root))
        if (index->isCurrent(files))
          return make(std::move(*index), true);
  }
  Result<FolderIndex> index = FolderIndex::scan(files, root);
  if (!index)
    return index.error();
  if (!cache.empty() && isSettled(*index)) {
    // A full disk costs the next start some time, not this one its life.
    Status ignored = files.writeFileAtomically(cache, index->bytes());
    (void)ignored;
  }
  return make(std::move(*index), false);
}

std::string ImageFolder::rowName(int64_t row) const {
  return list.relativePath(uint64_t(row));
}

Result<int64_t> ImageFolder::scalar(int64_t row, int column) const {
  if (column != Label)
    return noSuchField(column, "a scalar");
  return int64_t(list.label(uint64_t(row)));
}

Result<std::string> ImageFolder::text(int64_t row, int column) const {
  if (column != Name)
    return noSuchField(column, "text");
  return list.relativePath(uint64_t(row));
}

Status ImageFolder::fetch(int64_t row, int column, Buffer &out) const {
  if (column != Data)
    return noSuchField(column, "bytes");
  std::string path(list.root());
  if (path.back() != '/')
    path += '/';
  path += list.relativePath(uint64_t(row));
  return files.readFile(path, out, options.maxFileBytes);
}

} // namespace penstock::runtime
