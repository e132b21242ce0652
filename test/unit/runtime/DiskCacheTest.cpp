// SPDX-License-Identifier: Apache-2.0
//
// What is kept of far files: blocks at their places, a bound, and whatever happens to the folder.
#include "runtime/remote/DiskCache.h"

#include "test/unit/runtime/TempFolder.h"

#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <vector>

using namespace penstock::runtime;

namespace {

constexpr uint64_t block = DiskCache::blockBytes;

/// A file of a server that counts what it sends.
struct Far {
  explicit Far(size_t size, unsigned seed = 1) : bytes(size) {
    std::mt19937 numbers(seed);
    for (uint8_t &byte : bytes)
      byte = uint8_t(numbers());
    state = {"tag" + std::to_string(seed), "Sun, 06 Nov 1994 08:49:37 GMT", size};
  }
  DiskCache::Fetch fetch() {
    return [this](uint64_t offset, uint64_t count, Buffer &out) {
      ++requests;
      sent += count;
      EXPECT_LE(offset + count, bytes.size());
      EXPECT_TRUE(out.resize(count));
      std::memcpy(out.data(), bytes.data() + offset, count);
      return Status();
    };
  }
  std::vector<uint8_t> bytes;
  DiskCache::State state;
  std::atomic<uint64_t> requests{0}, sent{0};
};

class DiskCacheTest : public testing::Test {
protected:
  std::unique_ptr<DiskCache> open(uint64_t most = 0) {
    auto cache = DiskCache::open(folder.path(), most);
    EXPECT_TRUE(cache.ok()) << cache.error().message;
    return std::move(*cache);
  }
  void expectRead(DiskCache &cache, Far &far, uint64_t offset, uint64_t count) {
    Buffer out;
    const Status status = cache.read("http://h/far", far.state, offset, count, out, far.fetch());
    ASSERT_TRUE(status.ok());
    ASSERT_EQ(out.size(), count);
    EXPECT_EQ(std::memcmp(out.data(), far.bytes.data() + offset, count), 0)
        << offset << " " << count;
  }
  std::vector<std::filesystem::path> entries() const {
    std::vector<std::filesystem::path> paths;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(folder.path()))
      if (entry.is_regular_file() && entry.path().parent_path() != folder.path())
        paths.push_back(entry.path());
    return paths;
  }
  uint64_t onDisk() const {
    uint64_t bytes = 0;
    for (const auto &path : entries()) {
      struct stat info{};
      ::stat(path.c_str(), &info);
      bytes += uint64_t(info.st_blocks) * 512;
    }
    return bytes;
  }
  TempFolder folder;
};

} // namespace

TEST_F(DiskCacheTest, AllPartsOfAFile) {
  Far far(5 * block + 77);
  auto cache = open();
  EXPECT_FALSE(cache->find("http://h/far"));
  ASSERT_TRUE(cache->confirm("http://h/far", far.state));
  const auto found = cache->find("http://h/far");
  ASSERT_TRUE(found);
  EXPECT_TRUE(found->isChecked);
  EXPECT_EQ(found->state, far.state);
  std::mt19937 numbers(7);
  for (int i = 0; i < 300; ++i) {
    const uint64_t offset = numbers() % far.bytes.size();
    expectRead(*cache, far, offset, 1 + numbers() % (far.bytes.size() - offset));
  }
  EXPECT_LE(far.requests, 6u);
  const uint64_t sent = far.sent;
  expectRead(*cache, far, 0, far.bytes.size());
  EXPECT_EQ(far.sent, sent);
  expectRead(*open(), far, 0, far.bytes.size());
  EXPECT_EQ(far.sent, sent);
}

TEST_F(DiskCacheTest, OneRequestForWhatIsMissing) {
  Far far(8 * block);
  auto cache = open();
  cache->confirm("http://h/far", far.state);
  expectRead(*cache, far, block + 5, 1);
  expectRead(*cache, far, 6 * block, block);
  EXPECT_EQ(far.sent, 2 * block);
  expectRead(*cache, far, 3, 7 * block);
  EXPECT_EQ(far.requests, 3u);
  EXPECT_EQ(far.sent, 2 * block + 8 * block); // what lies between is sent again
  expectRead(*cache, far, 0, 8 * block);
  EXPECT_EQ(far.requests, 3u);
}

TEST_F(DiskCacheTest, HeadsAreKeptByWholeBlocks) {
  Far large(2 * block), small(block / 2, 2);
  auto cache = open();
  cache->confirm("http://h/far", large.state);
  cache->keepHead("http://h/far", large.state, std::span(large.bytes).first(block + 9));
  expectRead(*cache, large, 0, block);
  EXPECT_EQ(large.requests, 0u);
  expectRead(*cache, large, 0, block + 9);
  EXPECT_EQ(large.sent, block);
  cache->confirm("http://h/far", small.state);
  cache->keepHead("http://h/far", small.state, small.bytes);
  expectRead(*cache, small, 1, small.bytes.size() - 1);
  EXPECT_EQ(small.requests, 0u);
}

TEST_F(DiskCacheTest, AnotherVersionTakesThePlaceOfTheFirst) {
  Far before(2 * block), after(2 * block, 2);
  auto cache = open();
  cache->confirm("http://h/far", before.state);
  expectRead(*cache, before, 0, block);
  cache->confirm("http://h/far", after.state);
  expectRead(*cache, after, 0, 2 * block);
  EXPECT_EQ(after.sent, 2 * block);
  EXPECT_EQ(entries().size(), 1u);
  // Who still has the first one open is not told bytes of the second.
  const uint64_t sent = before.sent;
  expectRead(*cache, before, 5, block);
  EXPECT_EQ(before.sent, sent + block);
  cache->forget("http://h/far");
  EXPECT_FALSE(cache->find("http://h/far"));
}

TEST_F(DiskCacheTest, WhatIsChangedOnTheDiskIsReadAgain) {
  Far far(3 * block + 1000);
  std::mt19937 numbers(3);
  for (int round = 0; round < 60; ++round) {
    auto cache = open();
    ASSERT_TRUE(cache->confirm("http://h/far", far.state));
    expectRead(*cache, far, 0, far.bytes.size());
    ASSERT_EQ(entries().size(), 1u);
    const std::string path = entries()[0];
    const uint64_t size = std::filesystem::file_size(path);
    if (round % 3 == 0) {
      std::filesystem::resize_file(path, numbers() % size);
    } else {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      file.seekp(std::streamoff(numbers() % (round % 2 ? 200 : size)));
      file.put(char(numbers()));
    }
    expectRead(*cache, far, 0, far.bytes.size());
    expectRead(*cache, far, block + 1, block);
  }
}

TEST_F(DiskCacheTest, ABlockWithoutItsChecksumIsNotThere) {
  Far far(block);
  auto cache = open();
  cache->confirm("http://h/far", far.state);
  expectRead(*cache, far, 0, block);
  // As after a stop of the machine: the file has its size, and zeros for all that was not written.
  const std::string path = entries()[0];
  const uint64_t size = std::filesystem::file_size(path);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(std::streamoff(size - block));
  file << std::string(block, '\0');
  file.close();
  expectRead(*cache, far, 0, block);
  EXPECT_EQ(far.requests, 2u);
}

TEST_F(DiskCacheTest, ItKeepsItsBoundAndWhatItHas) {
  const uint64_t most = 40 * block;
  std::vector<std::unique_ptr<Far>> files;
  for (unsigned i = 0; i < 100; ++i)
    files.push_back(std::make_unique<Far>(block, i));
  const auto url = [](size_t i) { return "http://h/" + std::to_string(i); };
  auto cache = open(most);
  const auto readAll = [&] {
    uint64_t requests = 0;
    for (size_t i = 0; i < files.size(); ++i) {
      Far &far = *files[i];
      cache->confirm(url(i), far.state);
      Buffer out;
      far.requests = 0;
      EXPECT_TRUE(cache->read(url(i), far.state, 0, block, out, far.fetch()).ok());
      EXPECT_EQ(std::memcmp(out.data(), far.bytes.data(), block), 0);
      EXPECT_LE(onDisk(), most);
      requests += far.requests;
    }
    return requests;
  };
  EXPECT_EQ(readAll(), 100u);
  EXPECT_GT(onDisk(), most * 7 / 8);
  for (int turn = 0; turn < 3; ++turn)
    EXPECT_LE(readAll(), 68u); // a third is here, each time
}

TEST_F(DiskCacheTest, WhatIsWrittenTwiceIsCountedOnce) {
  std::vector<std::unique_ptr<Far>> files;
  for (unsigned i = 0; i < 30; ++i)
    files.push_back(std::make_unique<Far>(block, i));
  auto cache = open(40 * block);
  const auto read = [&](size_t begin, size_t end) {
    uint64_t requests = 0;
    for (size_t i = begin; i < end; ++i) {
      const std::string url = "http://h/" + std::to_string(i);
      files[i]->requests = 0;
      cache->confirm(url, files[i]->state);
      Buffer out;
      EXPECT_TRUE(cache->read(url, files[i]->state, 0, block, out, files[i]->fetch()).ok());
      requests += files[i]->requests;
    }
    return requests;
  };
  for (int turn = 0; turn < 8; ++turn) {
    EXPECT_EQ(read(0, 10), 10u);
    for (const auto &path : entries()) // as after a power cut
      std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(-9, std::ios::end)
          << "x\ny";
  }
  EXPECT_EQ(read(0, 30), 30u);
  EXPECT_EQ(read(0, 30), 0u); // there is room for all
}

TEST_F(DiskCacheTest, WhatIsInFlightIsCounted) {
  const uint64_t most = 40 * block;
  auto cache = open(most);
  const auto read = [&](const std::string &url, Far &far, const DiskCache::Fetch &fetch) {
    cache->confirm(url, far.state);
    Buffer out;
    EXPECT_TRUE(cache->read(url, far.state, 0, far.bytes.size(), out, fetch).ok());
  };
  Far large(16 * block, 1);
  // While its bytes are on their way, others fill the folder, so that it is measured.
  read("http://h/large", large, [&](uint64_t offset, uint64_t count, Buffer &out) {
    for (unsigned i = 0; i < 60; ++i) {
      Far far(block, i + 2);
      read("http://h/" + std::to_string(i), far, far.fetch());
    }
    return large.fetch()(offset, count, out);
  });
  EXPECT_LE(onDisk(), most);
  EXPECT_GT(onDisk(), most * 7 / 8);
}

TEST_F(DiskCacheTest, WhatWasNotUsedForLongestGoesFirst) {
  Far one(8 * block, 1), two(8 * block, 2), three(8 * block, 3);
  const uint64_t most = 20 * block;
  auto cache = open(most);
  const auto read = [&](const std::string &url, Far &far) {
    cache->confirm(url, far.state);
    Buffer out;
    EXPECT_TRUE(cache->read(url, far.state, 0, 8 * block, out, far.fetch()).ok());
  };
  read("one", one);
  read("two", two);
  for (const auto &path : entries()) { // of yesterday, but for `one`, which was used
    const timespec times[2] = {{0, UTIME_OMIT}, {time(nullptr) - 86400, 0}};
    ::utimensat(AT_FDCWD, path.c_str(), times, 0);
  }
  cache.reset();
  cache = open(most);
  read("one", one);
  EXPECT_EQ(one.requests, 1u);
  read("three", three);
  EXPECT_TRUE(cache->find("one"));
  EXPECT_FALSE(cache->find("two"));
  EXPECT_TRUE(cache->find("three"));
  EXPECT_LE(onDisk(), most);
}

TEST_F(DiskCacheTest, ManyThreadsAndFoldersThatGo) {
  Far far(40 * block + 5);
  auto cache = open(), other = open();
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (unsigned seed = 0; seed < 6; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937 numbers(seed);
      DiskCache &mine = seed % 2 ? *cache : *other;
      while (!done) {
        mine.confirm("http://h/far", far.state);
        const uint64_t offset = numbers() % far.bytes.size();
        expectRead(mine, far, offset,
                   1 + numbers() % std::min<uint64_t>(3 * block, far.bytes.size() - offset));
      }
    });
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (const auto &path : entries()) {
      std::error_code ignored;
      std::filesystem::remove_all(path.parent_path(), ignored);
    }
  }
  done = true;
  for (std::thread &thread : threads)
    thread.join();
}

TEST_F(DiskCacheTest, FilesThatCannotBeKept) {
  auto cache = open();
  Far far(10);
  far.state.version.clear(); // nothing would tell it from another
  EXPECT_FALSE(cache->confirm("http://h/far", far.state));
  expectRead(*cache, far, 2, 3);
  EXPECT_EQ(far.sent, 3u);
  EXPECT_FALSE(DiskCache::open(folder.path() + "/none", 0).ok());
}
