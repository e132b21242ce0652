// SPDX-License-Identifier: Apache-2.0
//
// Image folders as tar files.
#include "runtime/core/FakeFileSystem.h"
#include "runtime/prepare/PackData.h"
#include "runtime/prepare/TarWriter.h"
#include "runtime/sources/ImageFolder.h"
#include "runtime/sources/Tar.h"
#include "runtime/sources/TarShards.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <map>

using namespace penstock;
using namespace penstock::runtime;

namespace {

TEST(TarWriter, NamesOfAnyLengthComeBack) {
  for (size_t length : {1, 99, 100, 101, 155, 200, 255, 256, 257, 400, 995, 1200})
    for (size_t slash : {size_t(0), length / 3, length - 2}) {
      std::string name(length, 'n');
      if (slash && slash < length)
        name[slash] = '/';
      std::vector<uint8_t> tar = tarHeader(name, 5, 1'600'000'000);
      const std::string contents = "hello";
      tar.insert(tar.end(), contents.begin(), contents.end());
      for (const auto &part : {tarPadding(5), tarEnd()})
        tar.insert(tar.end(), part.begin(), part.end());
      EXPECT_EQ(tar.size() % 512, 0u);
      TarReader reader{std::span<const uint8_t>(tar)};
      TarMember member;
      auto more = reader.next(member);
      ASSERT_TRUE(more && *more) << length;
      EXPECT_EQ(member.name, name);
      EXPECT_EQ(
          std::string(tar.begin() + long(member.offset), tar.begin() + long(member.offset) + 5),
          contents);
      EXPECT_FALSE(*reader.next(member));
    }
}

struct PackTest : testing::Test {
  FakeFileSystem files;
  PackOptions options{.root = "/data", .out = "/out", .shardSize = 6000, .threads = 2};

  PackTest() {
    std::mt19937 random(51);
    const JpegRecipe recipe{.name = "444"};
    for (const char *name : {"ant/1.jpg", "ant/2.jpg", "ant/2.JPEG", "ant/a.b.jpg", "ant/a_b.jpg",
                             "ant/deep/1.jpg", "bee/.jpg", "bee/__3.jpg", "bee/4.jpg"})
      files.addFile(std::string("/data/") + name, randomJpeg(recipe, 40, 40, random));
    files.addFile("/data/bee/5.png", "not decoded here");
    files.addFile("/data/bee/read.me", "no image");
    files.addFolder("/out");
  }
  std::map<std::string, std::vector<uint8_t>> out() {
    std::map<std::string, std::vector<uint8_t>> all;
    const auto entries = files.listFolder("/out");
    for (const FolderEntry &entry : *entries) {
      Buffer bytes;
      EXPECT_TRUE(files.readFile("/out/" + entry.name, bytes).ok());
      all[entry.name] = {bytes.data(), bytes.data() + bytes.size()};
    }
    return all;
  }
};

TEST_F(PackTest, TarShardsReadsTheSameRows) {
  options.verify = true;
  const auto report = packData(files, options, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->images, 10u);
  EXPECT_EQ(report->renamed, 5u);
  EXPECT_TRUE(report->leftOut.empty());
  EXPECT_GT(report->shards, 1u);
  EXPECT_EQ(report->verified, report->outBytes);
  EXPECT_EQ(report->extensions, (std::vector<std::string>{"jpeg", "jpg", "png"}));
  auto folder = ImageFolder::open(files, "/data");
  ASSERT_TRUE(folder.ok());
  TarOptions tar;
  tar.path = "/out";
  auto shards = openTarShards(
      files, tar,
      {{"data", plan::DType::bytes, "JPEG;jpg;png"}, {"label", plan::DType::i64, "cls"}});
  ASSERT_TRUE(shards.ok()) << shards.error().message;
  ASSERT_EQ((*shards)->length(), (*folder)->length());
  for (int64_t row = 0; row < (*shards)->length(); ++row) {
    Buffer mine, theirs;
    ASSERT_TRUE((*shards)->fetch(row, 0, mine).ok());
    ASSERT_TRUE((*folder)->fetch(row, 0, theirs).ok());
    EXPECT_TRUE(std::ranges::equal(mine.span(), theirs.span())) << row;
    EXPECT_EQ(*(*shards)->scalar(row, 1), *(*folder)->scalar(row, 1));
  }
  EXPECT_EQ((*shards)->checkpointParts().size(), report->shards);
}

TEST_F(PackTest, LongNamesAreCountedAndRead) {
  std::mt19937 random(52);
  const JpegRecipe recipe{.name = "444"};
  const std::vector<uint8_t> picture = randomJpeg(recipe, 20, 20, random);
  const std::string folder(120, 'f');
  for (int i = 0; i < 90; ++i) // names of 4 to 362 bytes
    files.addFile("/long/" + (i % 3 ? folder + "/" : "c/") + std::string(size_t(i * 8 / 3), 'n') +
                      std::to_string(i) + ".jpg",
                  picture);
  options.root = "/long";
  options.verify = true;
  const auto report = packData(files, options, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->images, 90u);
  EXPECT_EQ(report->verified, report->outBytes);
  TarOptions tar;
  tar.path = "/out";
  auto shards = openTarShards(
      files, tar, {{"data", plan::DType::bytes, "jpg"}, {"label", plan::DType::i64, "cls"}});
  ASSERT_TRUE(shards.ok()) << shards.error().message;
  ASSERT_EQ((*shards)->length(), 90);
  for (int64_t row = 0; row < 90; ++row) {
    Buffer bytes;
    ASSERT_TRUE((*shards)->fetch(row, 0, bytes).ok());
    EXPECT_TRUE(std::ranges::equal(bytes.span(), picture)) << row;
    EXPECT_EQ(*(*shards)->scalar(row, 1), row >= 30) << row;
  }
}

TEST_F(PackTest, AShardThatLacksImagesIsNotTaken) {
  ASSERT_TRUE(packData(files, options, {}).ok());
  files.addFile("/out/000000.tar", std::vector<uint8_t>(1024));
  EXPECT_EQ(packData(files, options, {}).error().message,
            "/out/000000.tar holds 0 images of 1; remove it, and it is written again");
}

TEST_F(PackTest, WhatIsThereIsNotWrittenAgain) {
  ASSERT_TRUE(packData(files, options, {}).ok());
  const auto whole = out();
  // As a killed process leaves it: some shards, and the beginning of the plan.
  files.remove("/out/000001.tar");
  files.addFile("/out/penstock-pack.txt",
                std::string(whole.at("penstock-pack.txt").begin(),
                            std::find(whole.at("penstock-pack.txt").begin(),
                                      whole.at("penstock-pack.txt").end(), '\n') +
                                1));
  const auto again = packData(files, options, {});
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again->earlier, again->shards - 1);
  EXPECT_EQ(again->images, 10u);
  EXPECT_EQ(out(), whole);
}

TEST_F(PackTest, VerifyingSeesEveryByte) {
  ASSERT_TRUE(packData(files, options, {}).ok());
  options.verify = true;
  const auto whole = out().at("000000.tar");
  for (size_t at = 3; at < whole.size(); at += 997) {
    auto flipped = whole;
    flipped[at] ^= 0x10;
    files.addFile("/out/000000.tar", flipped);
    const auto report = packData(files, options, {});
    if (report.ok() || report.error().code != Code::Corrupt)
      ADD_FAILURE() << "byte " << at << " was not noticed";
  }
  auto longer = whole;
  longer.resize(longer.size() + 512);
  files.addFile("/out/000000.tar", longer);
  EXPECT_FALSE(packData(files, options, {}).ok());
  files.addFile("/out/000000.tar", whole);
  EXPECT_TRUE(packData(files, options, {}).ok());
}

TEST_F(PackTest, SkipsAreCountedAndNamed) {
  FakeFileSystem::Faults broken;
  broken.readErrno = EIO;
  files.setFaults("/data/ant/2.jpg", broken);
  files.addLink("/data/bee/6.jpg", "/data/bee/nowhere.jpg");
  const auto report = packData(files, options, {});
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->images, 9u);
  ASSERT_EQ(report->leftOut.size(), 2u);
  EXPECT_EQ(report->leftOut[0].first, "ant/2.jpg");
  EXPECT_EQ(report->leftOut[0].second, "cannot read /data/ant/2.jpg: Input/output error");
  EXPECT_EQ(report->leftOut[1].first, "bee/6.jpg");
  const auto again = packData(files, options, {});
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->leftOut, report->leftOut);
}

TEST_F(PackTest, SkipsHaveNamesOfAnyBytes) {
  FakeFileSystem::Faults broken;
  broken.readErrno = EIO;
  const std::string names[] = {"ant/x\ny\tz.jpg", "bee/back\\n.jpg"};
  for (const std::string &name : names) {
    files.addFile("/data/" + name, "unreadable");
    files.setFaults("/data/" + name, broken);
  }
  for (int run = 0; run < 2; ++run) {
    const auto report = packData(files, options, {});
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->images, 10u);
    ASSERT_EQ(report->leftOut.size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(report->leftOut[i].first, names[i]);
      EXPECT_EQ(report->leftOut[i].second,
                "cannot read /data/" + names[i] + ": Input/output error");
    }
  }
}

TEST_F(PackTest, KeepsOutOfOtherFolders) {
  ASSERT_TRUE(packData(files, options, {}).ok());
  options.shardSize = 9000;
  EXPECT_EQ(packData(files, options, {}).error().message,
            "/out holds a pack of other data, of another shard size, or of data that have changed "
            "since; take an empty folder");
  options.out = "/data/bee";
  EXPECT_EQ(packData(files, options, {}).error().message,
            "/data/bee lies in /data: it would be a class");
  files.addFile("/full/mine.txt", "x");
  options.out = "/full";
  EXPECT_EQ(packData(files, options, {}).error().message,
            "/full is not empty: `mine.txt` is in it");
}

} // namespace
