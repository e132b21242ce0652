// SPDX-License-Identifier: Apache-2.0
//
// The index of a folder of videos as a file of the cache. What is in real videos
// is test/parity/video.py's and test/e2e/video.py's matter.
#include "runtime/sources/VideoIndex.h"
#include "runtime/core/FakeFileSystem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

using namespace penstock::runtime;

namespace {

struct VideoFolder {
  FakeFileSystem files;
  int kept = 0;

  VideoFolder() {
    files.addFile("/data/a/one.mp4", "no video");
    files.addFile("/data/a/notes.txt", "no name of a video");
    files.addFile("/data/b/two.MKV", "neither");
  }
  VideoIndex index(const VideoIndex *earlier = nullptr) {
    auto folder = FolderIndex::scan(
        files, "/data", nullptr, [](const FolderIndex &) {}, FolderContents::Videos);
    EXPECT_TRUE(folder.ok()) << folder.error().message;
    auto index = VideoIndex::make(files, *folder, earlier, [&](const VideoIndex &) { ++kept; });
    EXPECT_TRUE(index.ok());
    return std::move(*index);
  }
};

Mapping copyOf(std::span<const uint8_t> bytes) {
  auto owner = std::make_shared<std::vector<uint8_t>>(bytes.begin(), bytes.end());
  return {*owner, owner};
}

TEST(VideoIndex, FilesThatAreNoVideosHaveAReason) {
  VideoFolder folder;
  const VideoIndex index = folder.index();
  ASSERT_EQ(index.size(), 2u);
  EXPECT_EQ(index.path(0), "a/one.mp4");
  EXPECT_EQ(index.path(1), "b/two.MKV");
  for (uint64_t i = 0; i < 2; ++i) {
    EXPECT_FALSE(index.problem(i).empty());
    EXPECT_EQ(index.frames(i), 0);
    EXPECT_TRUE(index.index(i).empty());
  }
}

TEST(VideoIndex, OnlyWhatHasChangedIsReadAgain) {
  VideoFolder folder;
  const VideoIndex first = folder.index();
  EXPECT_EQ(first.made(), 2u);
  const VideoIndex same = folder.index(&first);
  EXPECT_EQ(same.made(), 0u);
  EXPECT_TRUE(std::ranges::equal(first.bytes(), same.bytes()));
  folder.files.addFile("/data/b/two.MKV", "changed");
  EXPECT_FALSE(first.isOf(1, *folder.files.stat("/data/b/two.MKV")));
  EXPECT_TRUE(first.isOf(0, *folder.files.stat("/data/a/one.mp4")));
  const VideoIndex third = folder.index(&first);
  EXPECT_EQ(third.made(), 1u);
  EXPECT_EQ(third.problem(0), first.problem(0));
}

TEST(VideoIndex, CacheFilesAreWholeOrRefused) {
  VideoFolder folder;
  const VideoIndex index = folder.index();
  auto again = VideoIndex::parse(copyOf(index.bytes()));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->problem(1), index.problem(1));
  for (size_t size = 0; size < index.bytes().size(); ++size)
    EXPECT_FALSE(VideoIndex::parse(copyOf(index.bytes().first(size))).ok()) << size;
  for (size_t at = 0; at < index.bytes().size(); ++at) {
    Mapping damaged = copyOf(index.bytes());
    const_cast<uint8_t &>(damaged.bytes[at]) ^= 4;
    EXPECT_FALSE(VideoIndex::parse(damaged).ok()) << at;
  }
}

TEST(VideoIndex, LongStartsKeepWhatTheyHave) {
  FakeFileSystem files;
  for (int i = 0; i < 2600; ++i)
    files.addFile("/data/a/" + std::to_string(10000 + i) + ".mp4", "x");
  auto folder = FolderIndex::scan(
      files, "/data", nullptr, [](const FolderIndex &) {}, FolderContents::Videos);
  ASSERT_TRUE(folder.ok());
  std::vector<uint64_t> kept;
  std::vector<uint8_t> bytes;
  auto index = VideoIndex::make(files, *folder, nullptr, [&](const VideoIndex &part) {
    kept.push_back(part.size());
    bytes.assign(part.bytes().begin(), part.bytes().end());
  });
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(kept, (std::vector<uint64_t>{1024, 1536, 2304}));
  auto part = VideoIndex::parse(copyOf(bytes));
  ASSERT_TRUE(part.ok());
  auto rest = VideoIndex::make(files, *folder, &*part, [](const VideoIndex &) {});
  ASSERT_TRUE(rest.ok());
  EXPECT_EQ(rest->made(), 2600u - 2304u);
  EXPECT_TRUE(std::ranges::equal(rest->bytes(), index->bytes()));
}

TEST(VideoIndex, FoldersWithoutVideosSayWhatTheyLack) {
  FakeFileSystem files;
  files.addFile("/data/a/one.jpg", "x");
  auto folder = FolderIndex::scan(
      files, "/data", nullptr, [](const FolderIndex &) {}, FolderContents::Videos);
  ASSERT_FALSE(folder.ok());
  EXPECT_EQ(folder.error().message,
            "folder /data has no videos in its 1 class folders (names end in .mp4, .m4v, .mov, "
            ".mkv, .webm, .avi, .ts, .mts, .m2ts, .mpg, .mpeg, .flv, .wmv, .ogv or .3gp)");
}

} // namespace
