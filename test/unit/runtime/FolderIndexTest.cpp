// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/FolderIndex.h"
#include "runtime/core/FakeFileSystem.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <cstdio>

using namespace penstock::runtime;

namespace {

/// Folders of any size whose entries are computed: /data/c000000/000000.jpg.
class ManyFiles final : public FileSystem {
public:
  ManyFiles(int classes, int perClass) : classes(classes), perClass(perClass) {}

  /// Listing this class and those behind it fails; -1: none.
  int brokenFrom = -1;
  std::atomic<int> listed{0};
  std::atomic<int> changed{-1}; ///< a class of another time, or as `change` says
  void (*change)(FileInfo &) = [](FileInfo &info) { info.modifiedNs = 2; };

  uint64_t rootsKey() const override { return 0; }
  Result<FileInfo> stat(std::string_view path) override {
    const int number = classOf(path);
    FileInfo info{FileKind::Folder, 0, 1, 1, 1, uint64_t(number + 1)};
    if (number >= 0 && number == changed)
      change(info);
    return info;
  }
  Result<std::vector<FolderEntry>> listFolder(std::string_view path) override {
    const int number = classOf(path);
    std::vector<FolderEntry> entries;
    if (number >= 0) {
      ++listed;
      if (brokenFrom >= 0 && number >= brokenFrom)
        return systemError(EIO, "list", path);
    }
    const int count = number < 0 ? classes : perClass;
    entries.reserve(size_t(count));
    for (int i = 0; i < count; ++i) {
      char name[16];
      std::snprintf(name, sizeof name, number < 0 ? "c%06d" : "%06d.jpg", i);
      entries.push_back({name, number < 0 ? FileKind::Folder : FileKind::File});
    }
    return entries;
  }

  Status readFile(std::string_view, Buffer &, uint64_t) override { return none; }
  Result<std::shared_ptr<OpenFile>> openFile(std::string_view) override { return none; }
  Result<Mapping> mapFile(std::string_view) override { return none; }
  Result<std::unique_ptr<NewFile>> createFile(std::string_view) override { return none; }
  Status removeFile(std::string_view) override { return none; }
  Status touchFile(std::string_view) override { return none; }
  Status makePrivateFolder(std::string_view) override { return none; }

private:
  static int classOf(std::string_view path) {
    return path.size() > 7 ? std::atoi(std::string(path.substr(7)).c_str()) : -1;
  }

  int classes, perClass;
  Error none{Code::Unsupported, "there are folders only"};
};

FolderIndex copyOf(const FolderIndex &index) {
  auto bytes = std::make_shared<std::vector<uint8_t>>(index.bytes().begin(), index.bytes().end());
  auto copy = FolderIndex::parse({{bytes->data(), bytes->size()}, bytes}, "/data");
  EXPECT_TRUE(copy.ok()) << copy.error().message;
  return std::move(*copy);
}

TEST(FolderIndex, MillionsOfFiles) {
  ManyFiles files(1200, 2500);
  auto index = FolderIndex::scan(files, "/data");
  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_EQ(index->fileCount(), 3'000'000u);
  EXPECT_EQ(index->classCount(), 1200u);
  EXPECT_EQ(index->relativePath(2'999'999), "c001199/002499.jpg");
  EXPECT_EQ(index->relativePath(2500), "c000001/000000.jpg");
  EXPECT_EQ(index->label(2'999'999), 1199u);
  EXPECT_LT(index->bytes().size(), 20u * index->fileCount());
}

TEST(FolderIndex, AnInterruptedScanGoesOnWhereItWas) {
  ManyFiles files(1200, 2500);
  files.brokenFrom = 900;
  std::vector<FolderIndex> kept;
  auto keep = [&](const FolderIndex &index) { kept.push_back(copyOf(index)); };
  auto failed = FolderIndex::scan(files, "/data", nullptr, keep);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "cannot list /data/c000900: Input/output error");
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.back().fileCount() % 2500, 0u); // whole classes
  EXPECT_GE(kept.back().fileCount(), 1'000'000u);
  EXPECT_FALSE(kept.back().isCurrent(files)) << "a part was taken for the whole";

  files.brokenFrom = -1;
  files.listed = 0;
  auto index = FolderIndex::scan(files, "/data", &kept.back());
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(uint64_t(files.listed), 1200 - kept.back().fileCount() / 2500);
  ManyFiles others(1200, 2500);
  auto fresh = FolderIndex::scan(others, "/data");
  EXPECT_TRUE(std::equal(index->bytes().begin(), index->bytes().end(), fresh->bytes().begin(),
                         fresh->bytes().end()));
}

TEST(FolderIndex, OnlyChangedFoldersAreListedAgain) {
  ManyFiles files(300, 3);
  auto first = FolderIndex::scan(files, "/data");
  ASSERT_TRUE(first.ok());
  EXPECT_TRUE(first->isCurrent(files));
  // Unpacked archives have the times that stand in them: then the folder's number, or the time that
  // no program sets, is another one.
  for (void (*change)(FileInfo &) :
       {+[](FileInfo &info) { info.modifiedNs = 2; }, +[](FileInfo &info) { info.changedNs = 2; },
        +[](FileInfo &info) { info.number = 5000; }}) {
    files.change = change;
    files.changed = 77;
    EXPECT_FALSE(first->isCurrent(files));
    files.listed = 0;
    auto second = FolderIndex::scan(files, "/data", &*first);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(files.listed, 1);
    EXPECT_EQ(second->fileCount(), 900u);
    EXPECT_TRUE(second->isCurrent(files));
    files.changed = -1;
  }
}

TEST(FolderIndex, FoldersInsideAreFoundAgain) {
  FakeFileSystem files;
  files.addFile("/data/a/x/1.jpg", "");
  files.addFile("/data/a/x/deep/2.jpg", "");
  files.addFile("/data/a/y/3.jpg", "");
  files.addFile("/data/b/4.jpg", "");
  auto first = FolderIndex::scan(files, "/data");
  ASSERT_TRUE(first.ok());
  files.addFile("/data/a/y/5.jpg", "");
  const uint64_t listed = files.foldersListed();
  auto second = FolderIndex::scan(files, "/data", &*first);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(files.foldersListed(), listed + 2); // the root and y
  ASSERT_EQ(second->fileCount(), 5u);
  const char *names[] = {"a/x/1.jpg", "a/x/deep/2.jpg", "a/y/3.jpg", "a/y/5.jpg", "b/4.jpg"};
  for (uint64_t i = 0; i < 5; ++i)
    EXPECT_EQ(second->relativePath(i), names[i]);
}

} // namespace
