// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/ListedFiles.h"

namespace penstock::runtime {

std::string folderOfList(std::string_view list, std::string_view root) {
  if (!root.empty())
    return absolutePath(root);
  return folderOf(absolutePath(list));
}

Result<std::string> ListedFiles::pathOf(const std::string &name) const {
  std::string path = resolvePath(name, root);
  // Which folders are open, `files` knows.
  if (!isAbsolutePath(name) && !liesWithin(path, root))
    return Error{Code::OutsideRoot, "file " + name + " lies outside of " + root};
  return path;
}

Status ListedFiles::fetch(const std::string &name, Buffer &out) const {
  auto path = pathOf(name);
  return path ? files.readFile(*path, out, maxBytes) : Status(path.error());
}

Result<MediaPlace> ListedFiles::place(const std::string &name) const {
  auto path = pathOf(name);
  if (!path)
    return path.error();
  return placeOfFile(files, std::move(*path));
}

} // namespace penstock::runtime
