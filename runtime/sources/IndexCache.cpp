// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/IndexCache.h"

#include "runtime/core/Clock.h"

#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

IndexCache::IndexCache(FileSystem &files, const CacheFolder &given, std::string_view kind,
                       std::string_view key)
    : files(files), folder(given) {
  if (folder.path.empty() || !files.makePrivateFolder(folder.path))
    return;
  char number[24];
  std::snprintf(number, sizeof number, "-%016llx",
                static_cast<unsigned long long>(XXH3_64bits(key.data(), key.size())));
  path = folder.path + "/" + std::string(kind) + number + ".index";
}

void IndexCache::note() const {
  if (folder.mostBytes)
    noteUse(files, path);
}

Result<Mapping> IndexCache::map() const {
  if (path.empty())
    return Error{Code::NotFound, "no index is kept"};
  note(); // before, so that nobody removes what is about to be mapped
  return files.mapFile(path);
}

Status IndexCache::read(Buffer &out) const {
  if (path.empty())
    return Error{Code::NotFound, "no index is kept"};
  note();
  return files.readFile(path, out);
}

void IndexCache::keep(std::span<const uint8_t> bytes, int64_t lastChangeNs) const {
  if (path.empty() || lastChangeNs >= timeNow() - 2'000'000'000)
    return;
  if (files.writeFileAtomically(path, bytes))
    limitCache(files, folder);
}

} // namespace penstock::runtime
