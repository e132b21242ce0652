// SPDX-License-Identifier: Apache-2.0
//
// Cleaning of a cache folder: the files that are removed, and those that stay.
#include "runtime/core/CacheFolder.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/core/RealFileSystem.h"
#include "test/unit/runtime/TempFolder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

using namespace penstock::runtime;

namespace {

constexpr int64_t hour = int64_t(3600) * 1'000'000'000, day = 24 * hour;

int64_t now() {
  using namespace std::chrono;
  return duration_cast<nanoseconds>(system_clock::now().time_since_epoch()).count();
}

/// `0000000000000007`, as in names of files.
std::string number(int i, int digits = 16) {
  std::string text = std::to_string(i);
  return std::string(size_t(digits) - text.size(), '0') + text;
}
std::string video(int i) { return "video-" + number(i) + ".index"; }

/// Its clock stands near 0, so that a file's age is its time with a minus.
struct Cache {
  FakeFileSystem files;
  Cache() { files.addFolder("/cache"); }

  void add(const std::string &name, int64_t age, size_t bytes = 10) {
    files.addFile("/cache/" + name, std::string(bytes, 'x'));
    files.setModified("/cache/" + name, -age);
  }
  std::set<std::string> names() {
    std::set<std::string> found;
    const auto entries = files.listFolder("/cache");
    for (const FolderEntry &entry : *entries)
      if (entry.name != "last-cleaned")
        found.insert(entry.name);
    return found;
  }
  std::set<std::string> limited(uint64_t most = 1000) {
    limitCache(files, {"/cache", most});
    return names();
  }
};

TEST(CacheKind, IsInTheName) {
  const std::string key = number(1, 32), index = number(1) + ".index";
  auto check = [](CacheKind kind, const std::vector<std::string> &names) {
    for (const std::string &name : names)
      EXPECT_EQ(cacheKindOf(name), kind) << name;
  };
  check(CacheKind::Read,
        {key + ".program", key + ".parameters", video(1), "sound-" + index, "headers-" + index});
  check(CacheKind::Mapped, {"image-folder-" + index, "tar-shards-" + index, "video-clips-" + index,
                            "checkpoints-" + number(1) + ".penstock-index",
                            "checkpoints-" + number(1) + "-17.penstock-index",
                            "." + video(1) + ".part", "." + key + ".program.part"});
  check(CacheKind::Unknown,
        {"", "last-cleaned", "notes.txt", ".penstock-index", "train.penstock-index", "my.index",
         "video-" + number(1, 15) + ".index", index, "-" + index, key.substr(1) + ".program",
         "G" + key.substr(1) + ".program", key + ".program.", key + ".program.4711",
         video(1) + ".4711", ".notes.part", "Video-" + index, video(1) + ".old"});
}

TEST(LimitCache, WhatWasNotUsedForLongGoes) {
  Cache cache;
  const std::string old[] = {video(1), "tar-shards-" + number(1) + ".index",
                             "checkpoints-" + number(1) + ".penstock-index",
                             number(1, 32) + ".program", "." + video(3) + ".part"};
  const std::string young = video(2);
  for (const std::string &name : old)
    cache.add(name, 91 * day);
  cache.add(young, 89 * day);
  EXPECT_EQ(cache.limited(), std::set<std::string>{young});
}

TEST(LimitCache, WhatNobodyKnowsStays) {
  Cache cache;
  cache.add("notes.txt", 1000 * day, 5000);
  cache.add("train.penstock-index", 1000 * day, 5000);
  cache.files.addFolder("/cache/" + video(1));
  EXPECT_EQ(cache.limited(),
            (std::set<std::string>{"notes.txt", "train.penstock-index", video(1)}));
}

TEST(LimitCache, TheLastUsedOnesFillTheLimit) {
  Cache cache;
  for (int i = 2; i < 12; ++i)
    cache.add(video(i), i * day, 100);
  EXPECT_EQ(cache.limited(1000).size(), 10u);
  cache.add(video(20), 0, 150);
  cache.files.remove("/cache/last-cleaned");
  const auto left = cache.limited(1000);
  EXPECT_EQ(left.size(), 9u); // two of 100 bytes went for 150
  EXPECT_FALSE(left.contains(video(11)));
  EXPECT_FALSE(left.contains(video(10)));
}

TEST(LimitCache, WhatIsMappedNeitherCountsNorGoes) {
  Cache cache;
  const std::string mapped = "image-folder-" + number(1) + ".index";
  cache.add(mapped, 80 * day, 100000);
  cache.add(video(1), 5 * day, 600);
  EXPECT_EQ(cache.limited(1000), (std::set<std::string>{mapped, video(1)}));
}

/// A folder in which somebody uses a file between two looks at it.
class Shared final : public FileSystem {
public:
  Shared(FakeFileSystem &files, std::string used) : files(files), used(std::move(used)) {}

  uint64_t rootsKey() const override { return files.rootsKey(); }

  Result<FileInfo> stat(std::string_view path) override {
    auto info = files.stat(path);
    if (path == used)
      (void)files.touchFile(path);
    return info;
  }
  Status readFile(std::string_view path, Buffer &out, uint64_t most) override {
    return files.readFile(path, out, most);
  }
  Result<std::shared_ptr<OpenFile>> openFile(std::string_view path) override {
    return files.openFile(path);
  }
  Result<std::vector<FolderEntry>> listFolder(std::string_view path) override {
    return files.listFolder(path);
  }
  Result<Mapping> mapFile(std::string_view path) override { return files.mapFile(path); }
  Result<std::unique_ptr<NewFile>> createFile(std::string_view path) override {
    return files.createFile(path);
  }
  Status removeFile(std::string_view path) override { return files.removeFile(path); }
  Status touchFile(std::string_view path) override { return files.touchFile(path); }
  Status makePrivateFolder(std::string_view path) override { return files.makePrivateFolder(path); }

private:
  FakeFileSystem &files;
  std::string used;
};

TEST(LimitCache, WhatIsUsedMeanwhileStays) {
  Cache cache;
  cache.add(video(1), 100 * day);
  cache.add(video(2), 100 * day);
  Shared files(cache.files, "/cache/" + video(1));
  limitCache(files, {"/cache", 1000});
  EXPECT_EQ(cache.names(), std::set<std::string>{video(1)});
}

TEST(LimitCache, WhatWasUsedWithinADayStays) {
  Cache cache;
  for (int i = 0; i < 10; ++i)
    cache.add(video(i), 24 * hour, 1000);
  EXPECT_EQ(cache.limited(1000).size(), 10u);
}

TEST(LimitCache, ANamedFolderIsLeftAlone) {
  Cache cache;
  cache.add(video(1), 1000 * day, 5000);
  EXPECT_EQ(cache.limited(0), std::set<std::string>{video(1)});
  EXPECT_EQ(cache.files.foldersListed(), 1u); // by this test
}

TEST(LimitCache, LooksOnceADay) {
  Cache cache;
  cache.limited();
  cache.add(video(1), 100 * day);
  cache.files.setModified("/cache/last-cleaned", now() - 23 * hour);
  EXPECT_EQ(cache.limited().size(), 1u);
  cache.files.setModified("/cache/last-cleaned", now() - 25 * hour);
  limitCache(cache.files, {"/cache", 1000});
  // The clock of the disk is what counts, wherever the machine's stands.
  EXPECT_EQ(cache.names().size(), 0u);
}

TEST(LimitCache, AFolderThatCannotBeWrittenIsLeftAlone) {
  Cache cache;
  cache.add(video(1), 100 * day);
  cache.files.setFaults("/cache/last-cleaned", {.writeErrno = EROFS});
  EXPECT_EQ(cache.limited().size(), 1u);
}

TEST(NoteUse, IsWrittenOnceAnHour) {
  FakeFileSystem files;
  files.addFile("/cache/a", "x");
  auto modified = [&] { return files.stat("/cache/a")->modifiedNs; };
  const int64_t recent = now() - 50 * int64_t(60) * 1'000'000'000;
  files.setModified("/cache/a", recent);
  noteUse(files, "/cache/a");
  EXPECT_EQ(modified(), recent);
  files.setModified("/cache/a", now() - 2 * hour);
  noteUse(files, "/cache/a");
  EXPECT_LT(modified(), hour); // the fake's own now
  noteUse(files, "/cache/gone");
  EXPECT_FALSE(files.stat("/cache/gone").ok());
}

/// Processes that use, make and remove at once: whoever reads a file reads it whole.
TEST(LimitCache, ReadersNeverSeeHalfAFile) {
  TempFolder temp;
  auto open = [&] { return std::move(*RealFileSystem::create({{temp.path(), true}})); };
  const std::vector<uint8_t> bytes(100'000, 7);
  std::vector<std::thread> threads;
  std::atomic<bool> done{false};
  std::atomic<int> removed{0};
  for (int thread = 0; thread < 3; ++thread)
    threads.emplace_back([&, thread] {
      auto files = open();
      for (int i = 0; !done; ++i) {
        const std::string path = temp.path() + "/" + video((i + thread) % 5);
        Buffer read;
        if (Status status = files->readFile(path, read); status) {
          ASSERT_EQ(read.size(), bytes.size());
        } else {
          ASSERT_EQ(status.error().code, Code::NotFound) << status.error().message;
          ++removed;
          (void)files->writeFileAtomically(path, bytes); // another may be writing it
        }
        noteUse(*files, path);
      }
    });
  auto files = open();
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < 5; ++i) {
      std::error_code ignored; // it may be gone
      std::filesystem::last_write_time(
          temp.path() + "/" + video(i),
          std::filesystem::file_time_type::clock::now() - std::chrono::hours(48), ignored);
    }
    (void)files->removeFile(temp.path() + "/last-cleaned");
    limitCache(*files, {temp.path(), 250'000});
  }
  done = true;
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GT(removed, 5);
}

} // namespace
