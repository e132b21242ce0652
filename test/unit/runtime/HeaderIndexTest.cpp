// SPDX-License-Identifier: Apache-2.0
//
// Which numbers are found again, and what of a damaged index is. When they are asked for is
// LengthTest.cpp's matter.
#include "runtime/sources/HeaderIndex.h"
#include "runtime/core/FakeFileSystem.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace penstock::runtime;

namespace {

using Key = HeaderIndex::Key;

MediaPlace mediaPlace(std::string name, uint64_t offset, uint64_t size, int64_t modifiedNs) {
  return {nullptr, offset, size, modifiedNs, std::move(name)};
}

/// Row r has the numbers 10 r and 10 r + 1.
struct KeptRows {
  explicit KeptRows(int count) {
    for (int r = 0; r < count; ++r) {
      const MediaPlace file = mediaPlace("/data/" + std::to_string(r), 0, 100, 7);
      keys.push_back(HeaderIndex::keyOf({&file, 1}));
      numbers.push_back(10 * r);
      numbers.push_back(10 * r + 1);
    }
  }
  std::vector<Key> keys;
  std::vector<int64_t> numbers;
};

/// The first of the numbers that are kept; -1: none.
int64_t firstOf(const HeaderIndex &index, const Key &key) {
  const int64_t *numbers = index.find(key);
  if (numbers)
    EXPECT_EQ(numbers[1], numbers[0] + 1);
  return numbers ? numbers[0] : -1;
}

std::string pathOfIndex(FakeFileSystem &files) {
  const auto entries = files.listFolder("/cache/headers");
  for (const FolderEntry &entry : *entries)
    if (entry.name.starts_with("headers-") && entry.name.ends_with(".index"))
      return "/cache/headers/" + entry.name;
  return "";
}

TEST(HeaderIndex, AKeyIsAllThatMayChange) {
  const MediaPlace file = mediaPlace("/data/a", 5, 100, 7);
  const Key key = HeaderIndex::keyOf({&file, 1});
  EXPECT_NE(key, Key());
  for (const MediaPlace &other :
       {mediaPlace("/data/b", 5, 100, 7), mediaPlace("/data/a", 6, 100, 7),
        mediaPlace("/data/a", 5, 101, 7), mediaPlace("/data/a", 5, 100, 8)})
    EXPECT_NE(HeaderIndex::keyOf({&other, 1}), key);
  const MediaPlace same = mediaPlace("/data/x/../a", 5, 100, 7);
  EXPECT_EQ(HeaderIndex::keyOf({&same, 1}), key);
  const MediaPlace both[] = {file, file};
  EXPECT_NE(HeaderIndex::keyOf(both), key);
  EXPECT_NE(HeaderIndex::keyOf({&file, 1}, 1), key); // FFmpeg's version
}

TEST(HeaderIndex, WhatIsKeptIsFoundByItsFileAlone) {
  FakeFileSystem files;
  for (int count : {1, 2, 3, 100}) {
    KeptRows rows(count);
    const std::string name = "table " + std::to_string(count);
    HeaderIndex(files, "/cache", name, 2).keep(rows.keys, rows.numbers);
    const HeaderIndex index(files, "/cache", name, 2);
    for (int r = count; r-- > 0;)
      EXPECT_EQ(firstOf(index, rows.keys[size_t(r)]), 10 * r);
    EXPECT_EQ(firstOf(index, KeptRows(count + 1).keys.back()), -1);
    EXPECT_EQ(firstOf(HeaderIndex(files, "/cache", name + " another", 2), rows.keys[0]), -1);
    EXPECT_EQ(firstOf(HeaderIndex(files, "/cache", name, 1), rows.keys[0]), -1);
  }
}

TEST(HeaderIndex, RowsWithoutAKeyAreLeftOut) {
  FakeFileSystem files;
  KeptRows rows(4);
  rows.keys[2] = Key();
  HeaderIndex(files, "/cache", "table", 2).keep(rows.keys, rows.numbers);
  const HeaderIndex index(files, "/cache", "table", 2);
  EXPECT_EQ(firstOf(index, Key()), -1);
  EXPECT_EQ(firstOf(index, rows.keys[3]), 30);
  EXPECT_EQ(firstOf(index, KeptRows(4).keys[2]), -1);
}

TEST(HeaderIndex, OfADamagedOneNothingIsBelieved) {
  FakeFileSystem files;
  const KeptRows rows(5);
  HeaderIndex(files, "/cache", "table", 2).keep(rows.keys, rows.numbers);
  const std::string path = pathOfIndex(files);
  Buffer bytes;
  ASSERT_TRUE(files.readFile(path, bytes));
  const std::vector<uint8_t> good(bytes.data(), bytes.data() + bytes.size());
  auto knows = [&](const std::vector<uint8_t> &changed) {
    files.addFile(path, changed);
    return HeaderIndex(files, "/cache", "table", 2).find(rows.keys[3]) != nullptr;
  };
  EXPECT_TRUE(knows(good));
  for (size_t i = 0; i < good.size(); ++i) {
    std::vector<uint8_t> changed = good;
    changed[i] ^= 0x10;
    EXPECT_FALSE(knows(changed)) << "byte " << i;
    EXPECT_FALSE(knows({good.begin(), good.begin() + ptrdiff_t(i)})) << "cut off at " << i;
  }
}

TEST(HeaderIndex, WithoutAFolderNothingIsKept) {
  FakeFileSystem files;
  const KeptRows rows(2);
  HeaderIndex(files, CacheFolder(), "table", 2).keep(rows.keys, rows.numbers);
  EXPECT_EQ(firstOf(HeaderIndex(files, CacheFolder(), "table", 2), rows.keys[0]), -1);
}

} // namespace
