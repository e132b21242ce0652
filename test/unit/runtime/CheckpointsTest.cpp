// SPDX-License-Identifier: Apache-2.0
//
// Sidecars: what is found in them, and what damage does.
#include "runtime/media/jpeg/Checkpoints.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/media/jpeg/JpegDecoder.h"
#include "runtime/prepare/IndexData.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

using namespace penstock::runtime;

namespace {

struct CheckpointsTest : testing::Test {
  std::mt19937 random{41};
  FakeFileSystem files;
  std::vector<std::vector<uint8_t>> jpegs;
  std::vector<std::string> warnings;
  const std::string path = "/data/.penstock-index";

  CheckpointsTest() {
    JpegRecipe recipe{.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}};
    for (int i = 0; i < 5; ++i)
      jpegs.push_back(randomJpeg(recipe, 100 + 300 * i, 90 + i, random));
    recipe.progressive = true;
    jpegs.push_back(randomJpeg(recipe, 50, 50, random));
    for (size_t i = 0; i < jpegs.size(); ++i)
      files.addFile("/data/a/" + std::to_string(i) + ".jpg", jpegs[i]);
    files.addFile("/data/b/note.png", "no picture");
    files.addFile("/data/b/note.txt", "a text");
  }

  Result<IndexReport> index() {
    auto listing = Listing::make(files, {.path = "/data"});
    if (!listing)
      return listing.error();
    return indexData(files, *listing, path, 2, {});
  }
  std::vector<uint8_t> sidecar() {
    Buffer bytes;
    EXPECT_TRUE(files.readFile(path, bytes).ok());
    return {bytes.data(), bytes.data() + bytes.size()};
  }
  std::unique_ptr<Checkpoints> open(const std::string &build = "") {
    CheckpointBuilder::Files found;
    openCheckpoints(files, path, found, warnings);
    return std::make_unique<Checkpoints>(files, std::move(found), build, warnings);
  }
};

TEST_F(CheckpointsTest, AreThoseOfTheFiles) {
  const auto report = index();
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->images, 7u);
  EXPECT_EQ(report->states[size_t(CheckpointState::Indexed)], 5u);
  EXPECT_EQ(report->states[size_t(CheckpointState::OtherCoding)], 1u);
  EXPECT_EQ(report->states[size_t(CheckpointState::OtherFormat)], 1u);
  EXPECT_EQ(report->others, 1u);
  EXPECT_EQ(report->earlier, 0u);
  EXPECT_EQ(report->indexBytes, sidecar().size());
  const std::vector<std::pair<std::string, std::string>> left = {
      {"a/5.jpg", "progressive or arithmetic coding"}, {"b/note.png", "not a JPEG file"}};
  EXPECT_EQ(report->leftOut, left);

  auto checkpoints = open();
  for (size_t i = 0; i < 5; ++i) {
    EntropyIndex found;
    ASSERT_TRUE(checkpoints->find(jpegs[i], found));
    EXPECT_EQ(found, *EntropyIndexer().build(jpegs[i]));
  }
  EntropyIndex none;
  EXPECT_FALSE(checkpoints->find(jpegs[5], none));
  EXPECT_TRUE(warnings.empty());
  const auto entries = CheckpointFile::parse(*files.mapFile(path))->entries();
  for (const CheckpointEntry &entry : entries)
    if (entry.fileSize == jpegs[1].size()) {
      EXPECT_EQ(entry.width, 400u);
      EXPECT_EQ(entry.height, 91u);
      EXPECT_EQ(entry.sampling, (std::array<uint8_t, 4>{0x22, 0x11, 0x11, 0}));
    }
}

TEST_F(CheckpointsTest, AFileThatChangedHasNone) {
  ASSERT_TRUE(index().ok());
  auto checkpoints = open();
  EntropyIndex found;
  auto changed = jpegs[0];
  for (size_t at = 0; at < changed.size(); at += 37) {
    changed[at] ^= 1;
    EXPECT_FALSE(checkpoints->find(changed, found)) << at;
    changed[at] ^= 1;
  }
  EXPECT_TRUE(checkpoints->find(changed, found));
  changed.push_back(0);
  EXPECT_FALSE(checkpoints->find(changed, found));
}

TEST_F(CheckpointsTest, OnlyWhatChangedIsReadAgain) {
  ASSERT_TRUE(index().ok());
  const auto before = sidecar();
  const uint64_t read = files.filesRead();
  auto again = index();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(files.filesRead(), read);
  EXPECT_EQ(again->earlier, 7u);
  EXPECT_EQ(sidecar(), before);
  files.addFile("/data/a/0.jpg", jpegs[4]);
  files.remove("/data/a/1.jpg");
  again = index();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(files.filesRead(), read + 2); // and the sidecar, above
  EXPECT_EQ(again->earlier, 5u);
  EntropyIndex found;
  EXPECT_FALSE(open()->find(jpegs[0], found));
  EXPECT_FALSE(open()->find(jpegs[1], found));
  EXPECT_TRUE(open()->find(jpegs[4], found));
}

TEST_F(CheckpointsTest, DamageIsSeen) {
  ASSERT_TRUE(index().ok());
  const auto whole = sidecar();
  const auto refused = [&](std::vector<uint8_t> bytes) {
    auto block = std::make_shared<std::vector<uint8_t>>(std::move(bytes));
    auto file = CheckpointFile::parse({{block->data(), block->size()}, block});
    return file ? std::string() : file.error().message;
  };
  EXPECT_EQ(refused(whole), "");
  for (size_t size = 0; size < whole.size(); size += 5)
    EXPECT_EQ(refused({whole.begin(), whole.begin() + long(size)}), "it is cut off");
  const size_t points = 32 + 7 * sizeof(CheckpointEntry);
  for (size_t at = 8; at < points; ++at) {
    auto damaged = whole;
    damaged[at] ^= 4;
    EXPECT_TRUE(refused(damaged) == "it is damaged" || refused(damaged) == "it is cut off") << at;
  }
  auto other = whole;
  other[7] = '9';
  EXPECT_EQ(refused(other), "it is of another version of Penstock");
  other[0] = 'x';
  EXPECT_EQ(refused(other), "it is no file of checkpoints");

  // Checkpoints have a checksum per file: damage takes those of one away.
  for (size_t at = points; at < whole.size(); at += 11) {
    auto damaged = whole;
    damaged[at] ^= 4;
    files.addFile(path, damaged);
    auto checkpoints = open();
    int lost = 0;
    for (size_t i = 0; i < 5; ++i) {
      EntropyIndex found;
      if (!checkpoints->find(jpegs[i], found))
        ++lost;
      else
        EXPECT_EQ(found, *EntropyIndexer().build(jpegs[i]));
    }
    EXPECT_EQ(lost, 1) << at;
  }
  EXPECT_TRUE(warnings.empty());
  files.addFile(path, std::vector<uint8_t>(whole.begin(), whole.end() - 1));
  EXPECT_TRUE(open()->isEmpty());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0], "the checkpoints in " + path + " are not used: it is cut off");
}

TEST_F(CheckpointsTest, WhatAKilledProcessDidIsKept) {
  CheckpointMaker maker;
  {
    CheckpointBuilder killed(files, path, warnings, std::chrono::milliseconds(0));
    for (size_t i = 0; i < 3; ++i)
      ASSERT_TRUE(killed.add(maker.make(jpegs[i], 10 + i)).ok());
  }
  EXPECT_FALSE(files.stat(path).ok());
  CheckpointBuilder next(files, path, warnings, std::chrono::hours(1));
  EXPECT_EQ(next.known()->size(), 1u);
  ASSERT_TRUE(next.add(maker.make(jpegs[3], 13)).ok());
  ASSERT_TRUE(next.finish().ok());
  EXPECT_FALSE(files.stat(path + ".part1").ok());
  auto checkpoints = open();
  EntropyIndex found;
  for (size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(checkpoints->find(jpegs[i], found));
  EXPECT_FALSE(checkpoints->find(jpegs[4], found));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(CheckpointsTest, AreMadeWhereAsked) {
  {
    auto checkpoints = open(path);
    EntropyIndex found;
    for (const auto &jpeg : jpegs)
      EXPECT_EQ(checkpoints->find(jpeg, found), &jpeg != &jpegs[5]);
    EXPECT_EQ(found.points.size(), EntropyIndexer().build(jpegs[4])->points.size());
    checkpoints->save();
  }
  auto checkpoints = open();
  EntropyIndex found;
  for (size_t i = 0; i < 5; ++i)
    EXPECT_TRUE(checkpoints->find(jpegs[i], found));
  // A full disk is no reason to stop.
  FakeFileSystem::Faults full;
  full.writeErrno = ENOSPC;
  files.setFaults("/data/other", full);
  Checkpoints broken(files, {}, "/data/other", warnings);
  EXPECT_TRUE(broken.find(jpegs[0], found));
  broken.save();
  EXPECT_FALSE(broken.find(jpegs[1], found));
}

TEST_F(CheckpointsTest, SeveralSidecarsAreOne) {
  CheckpointMaker maker;
  CheckpointBuilder::Files found;
  for (size_t i = 0; i < 5; ++i) {
    const auto record = maker.make(jpegs[i], 0);
    const std::string one = "/data/" + std::to_string(i);
    ASSERT_TRUE(writeCheckpoints(files, one, {{record.entry, record.points}}).ok());
    openCheckpoints(files, one, found, warnings);
  }
  Checkpoints checkpoints(files, std::move(found), "", warnings);
  EntropyIndex index;
  for (size_t i = 0; i < 5; ++i) {
    ASSERT_TRUE(checkpoints.find(jpegs[i], index));
    EXPECT_EQ(index, *EntropyIndexer().build(jpegs[i]));
  }
  EXPECT_FALSE(checkpoints.find(jpegs[5], index));
}

TEST_F(CheckpointsTest, ListsNameTheirFiles) {
  files.addFile("/lists/files.txt", "a/0.jpg\na/1.jpg\n\nb/missing.jpg\n");
  files.addFile("/lists/table.csv", "label,file\n1,a/2.jpg\n0,a/3.jpg\n");
  auto listing = Listing::make(files, {.path = "/lists/files.txt", .root = "/data"});
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  EXPECT_EQ(listing->count(), 3u);
  auto report = indexData(files, *listing, path, 1, {});
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->states[0], 2u);
  EXPECT_EQ(report->unreadable, 1u);
  listing = Listing::make(files, {.path = "/lists/table.csv", .root = "/data", .column = "file"});
  ASSERT_TRUE(listing.ok()) << listing.error().message;
  ASSERT_EQ(listing->count(), 2u);
  EXPECT_EQ(listing->name(1), "a/3.jpg");
  EXPECT_EQ(Listing::make(files, {.path = "/lists"}).error().message,
            "/lists has no images (2 other files)");
}

TEST_F(CheckpointsTest, StoppingKeepsWhatIsDone) {
  auto listing = Listing::make(files, {.path = "/data"});
  auto stopped = indexData(files, *listing, path, 1, [](uint64_t, uint64_t) { return false; });
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, Code::Cancelled);
  auto report = index();
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->earlier, 7u);
}

} // namespace
