// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/ListedFiles.h"

namespace penstock::runtime {

Result<std::string> ListedFiles::pathOf(const std::string &name, int64_t row) const {
  if (name.empty())
    return Error{Code::NotFound, list + " names no file in row " + std::to_string(row)};
  std::string path = normalizePath(name, root);
  if (!liesWithin(path, root))
    return Error{Code::OutsideRoot, "file " + name + " lies outside of " + root};
  return path;
}

Status ListedFiles::fetch(const std::string &name, int64_t row, Buffer &out) const {
  auto path = pathOf(name, row);
  return path ? files.readFile(*path, out, maxBytes) : Status(path.error());
}

Result<MediaPlace> ListedFiles::place(const std::string &name, int64_t row) const {
  auto path = pathOf(name, row);
  if (!path)
    return path.error();
  auto file = files.openFile(*path);
  if (!file)
    return file.error();
  const FileInfo info = (*file)->info();
  return MediaPlace{std::move(*file), 0, info.size, info.modifiedNs, std::move(*path)};
}

} // namespace penstock::runtime
