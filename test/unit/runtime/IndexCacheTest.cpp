// SPDX-License-Identifier: Apache-2.0
//
// Indexes in the cache, where uses are noted and what is old goes, and in folders that
// pipelines name, where nothing else happens.
#include "runtime/sources/IndexCache.h"
#include "runtime/core/FakeFileSystem.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace penstock::runtime;

namespace {

constexpr int64_t day = int64_t(24) * 3600 * 1'000'000'000;

struct AgedCache {
  explicit AgedCache(uint64_t mostBytes) : cache(files, {"/cache", mostBytes}, "video", "key") {
    files.addFile(old, "old");
    files.setModified(old, -100 * day);
    cache.keep(std::vector<uint8_t>(10), 0);
    const auto entries = files.listFolder("/cache");
    for (const FolderEntry &entry : *entries)
      if (entry.name.ends_with(".index") && "/cache/" + entry.name != old)
        kept = "/cache/" + entry.name;
  }

  FakeFileSystem files;
  IndexCache cache;
  const std::string old = "/cache/video-0000000000000000.index";
  std::string kept;
};

TEST(IndexCache, AnIndexThatIsAddedMakesRoom) {
  AgedCache limited(1000), named(0);
  EXPECT_FALSE(limited.files.stat(limited.old).ok());
  EXPECT_TRUE(named.files.stat(named.old).ok());
}

TEST(IndexCache, UsesAreNoted) {
  AgedCache limited(1000), named(0);
  for (AgedCache *folder : {&limited, &named})
    for (const bool maps : {true, false}) {
      folder->files.setModified(folder->kept, -5 * day);
      Buffer bytes;
      const bool isThere = maps ? folder->cache.map().ok() : folder->cache.read(bytes).ok();
      EXPECT_TRUE(isThere);
      EXPECT_EQ(folder->files.stat(folder->kept)->modifiedNs > 0, folder == &limited);
    }
}

TEST(IndexCache, NoFolderKeepsNothing) {
  FakeFileSystem files;
  const IndexCache cache(files, {}, "video", "key");
  cache.keep(std::vector<uint8_t>(10), 0);
  Buffer bytes;
  EXPECT_FALSE(cache.map().ok());
  EXPECT_FALSE(cache.read(bytes).ok());
}

} // namespace
