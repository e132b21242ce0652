// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/ImageFolder.h"

namespace penstock::runtime {

ImageFolder::ImageFolder(FileSystem &files, FolderIndex index, bool cached, const Options &options)
    : Source(int64_t(index.fileCount()), {{"data", plan::DType::bytes, {}},
                                          {"label", plan::DType::i64, {}},
                                          {"name", plan::DType::text, {}}}),
      files(files), list(std::move(index)), cached(cached), options(options) {}

Result<std::unique_ptr<ImageFolder>> ImageFolder::open(FileSystem &files, std::string_view path,
                                                       const Options &options) {
  bool cached = false;
  Result<FolderIndex> index =
      FolderIndex::open(files, path, options.cacheFolder, options.contents, &cached);
  if (!index)
    return index.error();
  return std::unique_ptr<ImageFolder>(new ImageFolder(files, std::move(*index), cached, options));
}

std::string ImageFolder::rowName(int64_t row) const { return list.relativePath(uint64_t(row)); }

Result<int64_t> ImageFolder::scalar(int64_t row, int column) const {
  if (column != Label)
    return noSuchField(column, "a scalar");
  return int64_t(list.label(uint64_t(row)));
}

std::vector<std::string> ImageFolder::classNames() const { return list.classNames(); }

Result<std::string> ImageFolder::text(int64_t row, int column) const {
  if (column != Name)
    return noSuchField(column, "text");
  return list.relativePath(uint64_t(row));
}

std::string ImageFolder::path(int64_t row) const {
  std::string path(list.root());
  if (path.back() != '/')
    path += '/';
  return path += list.relativePath(uint64_t(row));
}

Status ImageFolder::fetch(int64_t row, int column, Buffer &out) const {
  if (column != Data)
    return noSuchField(column, "bytes");
  return files.readFile(path(row), out, options.maxFileBytes);
}

Result<MediaPlace> ImageFolder::place(int64_t row, int column) const {
  if (column != Data)
    return noSuchField(column, "bytes");
  return placeOfFile(files, path(row));
}

} // namespace penstock::runtime
