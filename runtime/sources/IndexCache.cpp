#include "runtime/sources/IndexCache.h"

#include <chrono>
#include <cstdio>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace penstock::runtime {

IndexCache::IndexCache(FileSystem &files, const std::string &folder, std::string_view kind,
                       std::string_view key)
    : files(files) {
  if (folder.empty() || !files.makePrivateFolder(folder))
    return;
  char number[24];
  std::snprintf(number, sizeof number, "-%016llx",
                static_cast<unsigned long long>(XXH3_64bits(key.data(), key.size())));
  path = folder + "/" + std::string(kind) + number + ".index";
}

Result<Mapping> IndexCache::load() const {
  if (path.empty())
    return Error{Code::NotFound, "no index is kept"};
  return files.mapFile(path);
}

void IndexCache::keep(std::span<const uint8_t> bytes, int64_t lastChangeNs) const {
  using namespace std::chrono;
  const int64_t now = duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
  if (path.empty() || lastChangeNs >= now - 2'000'000'000)
    return;
  Status ignored = files.writeFileAtomically(path, bytes);
  (void)ignored;
}

} // namespace penstock::runtime
