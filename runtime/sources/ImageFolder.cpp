#include "runtime/sources/ImageFolder.h"

#include "runtime/sources/IndexCache.h"

#include <optional>

namespace penstock::runtime {

ImageFolder::ImageFolder(FileSystem &files, FolderIndex index, bool cached, const Options &options)
    : Source(int64_t(index.fileCount()), {{"data", plan::DType::bytes, {}},
                                          {"label", plan::DType::i64, {}},
                                          {"name", plan::DType::text, {}}}),
      files(files), list(std::move(index)), cached(cached), options(options) {}

Result<std::unique_ptr<ImageFolder>> ImageFolder::open(FileSystem &files, std::string_view path,
                                                       const Options &options) {
  std::string root = absolutePath(path);
  auto make = [&](FolderIndex index, bool cached) {
    return std::unique_ptr<ImageFolder>(new ImageFolder(files, std::move(index), cached, options));
  };
  const IndexCache cache(files, options.cacheFolder, "image-folder", root);
  std::optional<FolderIndex> earlier;
  if (Result<Mapping> kept = cache.load())
    if (Result<FolderIndex> index = FolderIndex::parse(std::move(*kept), root))
      earlier = std::move(*index);
  if (earlier && earlier->isCurrent(files))
    return make(std::move(*earlier), true);
  auto keep = [&](const FolderIndex &index) { cache.keep(index.bytes(), index.lastChangeNs()); };
  Result<FolderIndex> index = FolderIndex::scan(files, root, earlier ? &*earlier : nullptr, keep);
  if (!index)
    return index.error();
  keep(*index);
  return make(std::move(*index), false);
}

std::string ImageFolder::rowName(int64_t row) const { return list.relativePath(uint64_t(row)); }

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
