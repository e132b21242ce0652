// SPDX-License-Identifier: Apache-2.0
//
// Which indexes are made and which are found again. What is in real videos is
// test/parity/video.py's and test/e2e/video.py's matter.
#include "runtime/core/FakeFileSystem.h"
#include "runtime/sources/TrackStore.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <thread>
#include <vector>

using namespace penstock::runtime;

namespace {

struct Videos {
  FakeFileSystem files;
  VideoStore store{files, "/cache", 2000};

  MediaPlace place(const std::string &path) {
    auto file = files.openFile(path);
    EXPECT_TRUE(file.ok());
    const FileInfo info = (*file)->info();
    return {*file, 0, info.size, info.modifiedNs, path};
  }
};

TEST(VideoStore, WhatIsNoVideoIsReadOnce) {
  Videos videos;
  videos.files.addFile("/data/a.mp4", "no video");
  const auto first = videos.store.find(videos.place("/data/a.mp4"));
  ASSERT_FALSE(first.ok());
  const uint64_t read = videos.store.bytesRead();
  const auto second = videos.store.find(videos.place("/data/a.mp4"));
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(first.error().message, second.error().message);
  EXPECT_EQ(videos.store.made(), 1u);
  EXPECT_EQ(videos.store.bytesRead(), read);
}

TEST(VideoStore, AChangedFileIsAnother) {
  Videos videos;
  videos.files.addFile("/data/a.mp4", "no video");
  EXPECT_FALSE(videos.store.find(videos.place("/data/a.mp4")).ok());
  videos.files.addFile("/data/a.mp4", "no movie"); // the same size
  EXPECT_FALSE(videos.store.find(videos.place("/data/a.mp4")).ok());
  EXPECT_EQ(videos.store.made(), 2u);
}

TEST(VideoStore, MemoryIsBounded) {
  Videos videos;
  for (int i = 0; i < 100; ++i) {
    const std::string path = "/data/" + std::to_string(i) + ".mp4";
    videos.files.addFile(path, "no video");
    EXPECT_FALSE(videos.store.find(videos.place(path)).ok());
    EXPECT_LE(videos.store.memory(), 2000u);
    EXPECT_GT(videos.store.memory(), 0u);
  }
  // The last one is there, the first one is forgotten.
  EXPECT_FALSE(videos.store.find(videos.place("/data/99.mp4")).ok());
  EXPECT_EQ(videos.store.made(), 100u);
  EXPECT_FALSE(videos.store.find(videos.place("/data/0.mp4")).ok());
  EXPECT_EQ(videos.store.made(), 101u);
}

TEST(VideoStore, ManyWhoWantOneFileWaitForOneIndex) {
  Videos videos;
  videos.files.addFile("/data/a.mp4", "no video");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] { (void)videos.store.find(videos.place("/data/a.mp4")); });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(videos.store.made(), 1u);
}

TEST(MediaFile, FetchedPartsAreNotReadAgain) {
  FakeFileSystem files;
  std::vector<uint8_t> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i * 7);
  files.addFile("/x", bytes);
  MediaFile file(*files.openFile("/x"), 100, 800); // a member of a larger file
  const std::vector<ByteRange> parts = {{10, 20}, {30, 5}, {40, 10}, {500, 100}};
  ASSERT_TRUE(file.fetch(parts, 5).ok());
  EXPECT_EQ(file.bytesRead(), 40u + 100u); // 10 to 50, with the gap, and 500 to 600
  EXPECT_EQ(file.bytesHeld(), file.bytesRead());
  auto check = [&](uint64_t offset, size_t count) {
    std::vector<uint8_t> out(count);
    ASSERT_TRUE(file.read(offset, out).ok());
    EXPECT_EQ(out, std::vector<uint8_t>(bytes.begin() + ptrdiff_t(100 + offset),
                                        bytes.begin() + ptrdiff_t(100 + offset + count)));
  };
  check(10, 40);
  check(40, 10);
  check(599, 1);
  EXPECT_EQ(file.bytesRead(), 140u);
  check(590, 20); // goes beyond a part: the rest of the file is read
  EXPECT_EQ(file.bytesRead(), 140u + 210u);
  check(700, 100);
  EXPECT_EQ(file.bytesRead(), 350u);
}

TEST(MediaFile, WindowsThatAreKeptAreNotReadAgain) {
  FakeFileSystem files;
  std::vector<uint8_t> bytes(1000);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = uint8_t(i * 7);
  files.addFile("/x", bytes);
  MediaFile file(*files.openFile("/x"), 0, 1000, 50);
  std::vector<uint8_t> room;
  auto check = [&](uint64_t offset, size_t count, uint64_t read) {
    const auto found = file.view(offset, count, room);
    ASSERT_TRUE(found.ok());
    EXPECT_TRUE(std::equal(*found, *found + count, bytes.begin() + ptrdiff_t(offset)));
    EXPECT_EQ(file.bytesRead(), read);
    EXPECT_EQ(file.bytesHeld(), read); // as they are kept
  };
  check(500, 10, 50);
  check(540, 10, 50);
  check(100, 60, 110);
  check(545, 10, 160); // goes beyond a window
  check(510, 20, 160);
  check(100, 60, 160);
  check(990, 10, 170);
  const std::vector<ByteRange> parts = {{100, 60}, {300, 20}};
  ASSERT_TRUE(file.fetch(parts, 0).ok());
  EXPECT_EQ(file.bytesRead(), 190u); // one of them was there
  check(300, 20, 190);
}

TEST(MediaFile, AFileThatIsChangedGivesNoMoreBytes) {
  FakeFileSystem files;
  files.addFile("/x", std::string(100, 'a'));
  const std::vector<ByteRange> first = {{0, 10}}, second = {{50, 10}};
  std::vector<uint8_t> out(10);
  MediaFile file(*files.openFile("/x"), 0, 100);
  ASSERT_TRUE(file.fetch(first).ok());
  files.overwriteFile("/x", std::string(100, 'b'));
  const Status status = file.fetch(second);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Io);
  EXPECT_EQ(status.error().message, "the file was changed while it was read");
  EXPECT_FALSE(file.read(70, out).ok()); // when a decoder begins again
  ASSERT_TRUE(file.read(0, out).ok());
  EXPECT_EQ(out, std::vector<uint8_t>(10, 'a'));

  // Another file under the name is another file.
  MediaFile open(*files.openFile("/x"), 0, 100);
  files.addFile("/x", std::string(100, 'c'));
  ASSERT_TRUE(open.fetch(second).ok());
  ASSERT_TRUE(open.read(50, out).ok());
  EXPECT_EQ(out, std::vector<uint8_t>(10, 'b'));
}

TEST(MediaFile, AFileThatHasShrunkSaysSo) {
  FakeFileSystem files;
  files.addFile("/x", std::string(100, 'x'));
  MediaFile file(*files.openFile("/x"), 0, 200);
  const std::vector<ByteRange> parts = {{150, 20}};
  const Status status = file.fetch(parts);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, Code::Truncated);
  EXPECT_EQ(status.error().message,
            "the file has become shorter than the 200 bytes that it had when it was opened");
}

} // namespace
