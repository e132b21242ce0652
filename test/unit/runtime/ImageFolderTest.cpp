// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/ImageFolder.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/core/RealFileSystem.h"
#include "test/unit/runtime/TempFolder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>

using namespace penstock::runtime;

namespace {

struct Folder : testing::Test {
  FakeFileSystem files{{"/data", "/cache"}};
  ImageFolder::Options options{.cacheFolder = "/cache/penstock"};

  void SetUp() override {
    files.addFile("/data/dog/2.JPG", "two");
    files.addFile("/data/dog/10.jpeg", "ten");
    files.addFile("/data/dog/notes.txt", "no");
    files.addFile("/data/cat/b/x.png", "x");
    files.addFile("/data/cat/b-c/y.webp", "y");
    files.addFile("/data/cat/a.bmp", "a");
    files.addFile("/data/cat/z.tiff", "z");
    files.addFile("/data/readme.jpg", "not in a class");
  }
  std::unique_ptr<ImageFolder> open() {
    auto opened = ImageFolder::open(files, "/data", options);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    return opened ? std::move(*opened) : nullptr;
  }
  std::string failure(std::string_view root = "/data") {
    auto opened = ImageFolder::open(files, root, options);
    return opened ? "" : opened.error().message;
  }
};

std::vector<std::string> names(const Source &source) {
  std::vector<std::string> all;
  for (int64_t row = 0; row < source.length(); ++row)
    all.push_back(*source.text(row, ImageFolder::Name));
  return all;
}

// As torchvision lists it: folders of a class by path, then files by name.
const std::vector<std::string> expectedNames = {"cat/a.bmp",      "cat/z.tiff",  "cat/b/x.png",
                                                "cat/b-c/y.webp", "dog/10.jpeg", "dog/2.JPG"};

TEST_F(Folder, ListsImagesInTorchvisionsOrder) {
  auto source = open();
  EXPECT_EQ(names(*source), expectedNames);
  EXPECT_EQ(source->index().classCount(), 2u);
  EXPECT_EQ(source->index().className(0), "cat");
  EXPECT_EQ(source->index().className(1), "dog");
  int64_t labels[] = {0, 0, 0, 0, 1, 1};
  for (int64_t row = 0; row < 6; ++row)
    EXPECT_EQ(*source->scalar(row, ImageFolder::Label), labels[row]);
  EXPECT_EQ(source->rowName(4), "dog/10.jpeg");
}

TEST_F(Folder, SortsNestedFoldersByTheirWholePaths) {
  files.addFile("/data/cat/b/z/q.ppm", "q");
  auto all = names(*open());
  EXPECT_EQ(std::vector<std::string>(all.begin() + 2, all.begin() + 5),
            (std::vector<std::string>{"cat/b/x.png", "cat/b-c/y.webp", "cat/b/z/q.ppm"}));
}

TEST_F(Folder, HasItsColumns) {
  auto source = open();
  ASSERT_EQ(source->columns().size(), 3u);
  EXPECT_EQ(source->columnNumber("data"), ImageFolder::Data);
  EXPECT_EQ(source->columnNumber("label"), ImageFolder::Label);
  EXPECT_EQ(source->columnNumber("name"), ImageFolder::Name);
  EXPECT_EQ(source->columnNumber("size"), -1);
  EXPECT_TRUE(source->columns()[0].isBlob());
  EXPECT_EQ(source->columns()[1].typeText(), "i64");
  EXPECT_EQ(source->scalar(0, ImageFolder::Data).error().message,
            "column `data` is bytes, not a scalar");
}

TEST_F(Folder, FetchesFiles) {
  auto source = open();
  Buffer buffer;
  ASSERT_TRUE(source->fetch(5, ImageFolder::Data, buffer).ok());
  EXPECT_EQ(std::string(buffer.span().begin(), buffer.span().end()), "two");
  files.remove("/data/dog/2.JPG");
  EXPECT_EQ(source->fetch(5, ImageFolder::Data, buffer).error().message,
            "cannot read /data/dog/2.JPG: No such file or directory");
}

TEST_F(Folder, ABrokenLinkIsARowThatFails) {
  files.addLink("/data/dog/gone.jpg", "/data/nowhere");
  auto source = open();
  ASSERT_EQ(source->length(), 7);
  EXPECT_EQ(source->rowName(6), "dog/gone.jpg");
  Buffer buffer;
  EXPECT_EQ(source->fetch(6, ImageFolder::Data, buffer).error().code, Code::NotFound);
}

TEST_F(Folder, SaysWhatItFoundInsteadOfImages) {
  EXPECT_EQ(failure("/data/none"),
            "image_folder: cannot stat /data/none: No such file or directory");
  EXPECT_EQ(failure("/data/readme.jpg"), "image_folder: /data/readme.jpg is not a folder");
  EXPECT_EQ(failure("/etc"), "image_folder: /etc leads out of the folders given to "
                             "this pipeline");
  EXPECT_EQ(failure("/data/cat/b"), "folder /data/cat/b has no class folders (images in it: 1); "
                                    "each class needs a folder");
  files.addFolder("/data/empty");
  EXPECT_EQ(failure("/data/empty"), "folder /data/empty has no class folders (it is empty)");
  EXPECT_EQ(failure(), "folder /data: 1 of 3 class folders have no images: `empty`");
  files.addFile("/data/empty/a.txt", "");
  EXPECT_EQ(failure("/data/empty"), "folder /data/empty has no class folders (1 other files)");
  files.addFile("/data/texts/en/a.txt", "");
  EXPECT_EQ(failure("/data/texts"),
            "folder /data/texts has no images in its 1 class folders (names end in .jpg, "
            ".jpeg, .png, .ppm, .pgm, .bmp, .webp, .tif or .tiff)");
}

TEST_F(Folder, LinksOutOfTheRootsAreRefusedByName) {
  files.addFile("/pool/bee/1.jpg", "bee");
  files.addFile("/pool/ant/1.jpg", "ant");
  files.addLink("/data/bee", "/pool/bee");
  EXPECT_EQ(failure(), "/data/bee is a link to /pool/bee, outside of the opened folders; `--allow "
                       "/pool/bee` opens it");
  files.remove("/data/bee");
  files.addLink("/data/cat/more", "/pool/bee");
  EXPECT_EQ(failure(), "/data/cat/more is a link to /pool/bee, outside of the opened folders; "
                       "`--allow /pool/bee` opens it");
  files.remove("/data/cat/more");
  files.addLink("/data/cat/1.jpg", "/pool/bee/1.jpg");
  EXPECT_EQ(failure(), "/data/cat/1.jpg is a link to /pool/bee/1.jpg, outside of the opened "
                       "folders; `--allow /pool/bee` opens it");
  files.remove("/data/cat/1.jpg");
  // Links that would be no row are not followed.
  files.addLink("/data/note.txt", "/pool/bee/1.jpg");
  files.addLink("/data/cat/note.txt", "/pool/bee/1.jpg");
  EXPECT_EQ(names(*open()), expectedNames);
}

TEST_F(Folder, LinksIntoOpenedFoldersAreFollowed) {
  FakeFileSystem more({"/data", "/pool", "/cache"});
  for (const char *name :
       {"/pool/bee/1.jpg", "/pool/bee/deep/2.jpg", "/data/ant/1.jpg", "/data/dog/1.jpg"})
    more.addFile(name, name);
  more.addLink("/data/bee", "/pool/bee");
  more.addLink("/data/cat", "bee");
  more.addLink("/data/dog/2.jpg", "/pool/bee/1.jpg");
  auto opened = ImageFolder::open(more, "/data", options);
  ASSERT_TRUE(opened.ok()) << opened.error().message;
  EXPECT_EQ(names(**opened),
            (std::vector<std::string>{"ant/1.jpg", "bee/1.jpg", "bee/deep/2.jpg", "cat/1.jpg",
                                      "cat/deep/2.jpg", "dog/1.jpg", "dog/2.jpg"}));
  EXPECT_EQ(*(*opened)->scalar(6, ImageFolder::Label), 3);
  Buffer buffer;
  ASSERT_TRUE((*opened)->fetch(6, ImageFolder::Data, buffer).ok());
  EXPECT_TRUE(ImageFolder::open(more, "/data", options).ok());
}

TEST_F(Folder, AnIndexOfOtherRootsIsNotTaken) {
  // An index kept by a file system that opens the pool is of no use without.
  TempFolder temp;
  std::filesystem::create_directories(temp.path() + "/data/cat");
  std::filesystem::create_directories(temp.path() + "/pool");
  std::filesystem::create_directories(temp.path() + "/cache");
  std::ofstream(temp.path() + "/pool/1.jpg") << "x";
  std::filesystem::create_symlink("../../pool/1.jpg", temp.path() + "/data/cat/1.jpg");
  const auto longAgo = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  for (const char *folder : {"/data/cat", "/data"})
    std::filesystem::last_write_time(temp.path() + folder, longAgo);
  const ImageFolder::Options cached{.cacheFolder = temp.path() + "/cache/p"};
  using Root = RealFileSystem::Root;
  const Root data{temp.path() + "/data", false}, pool{temp.path() + "/pool", false},
      cache{temp.path() + "/cache", true};
  auto with = RealFileSystem::create({data, pool, cache});
  auto without = RealFileSystem::create({data, cache});
  for (bool again : {false, true}) {
    auto opened = ImageFolder::open(**with, temp.path() + "/data", cached);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    EXPECT_EQ((*opened)->wasCached(), again);
  }
  EXPECT_EQ(ImageFolder::open(**without, temp.path() + "/data", cached).error().code,
            Code::OutsideRoot);
}

TEST_F(Folder, LinksThatLeadNowhereAreRefusedWhereAFolderMayBeMissing) {
  files.addLink("/data/bee", "/data/unmounted");
  EXPECT_EQ(failure(), "cannot follow the link /data/bee: No such file or directory; it may stand "
                       "for a folder of images");
  files.remove("/data/bee");
  files.addLink("/data/cat/more", "more");
  EXPECT_EQ(failure(), "cannot follow the link /data/cat/more: Too many levels of symbolic links; "
                       "it may stand for a folder of images");
}

TEST_F(Folder, ALinkInACircleIsAnError) {
  files.addLink("/data/dog/again", "/data/dog");
  EXPECT_EQ(failure(), "folder /data/dog/again is a link to a folder that it lies in");
}

TEST_F(Folder, UsesTheCachedIndex) {
  EXPECT_FALSE(open()->wasCached());
  uint64_t listed = files.foldersListed();
  auto source = open();
  EXPECT_TRUE(source->wasCached());
  EXPECT_EQ(files.foldersListed(), listed) << "folders were listed in spite of the cache";
  EXPECT_EQ(names(*source), expectedNames);
  EXPECT_EQ(source->index().className(1), "dog");
}

TEST_F(Folder, AnyChangedFolderMakesTheCacheStale) {
  struct {
    std::string added;
    int64_t rows;
  } changes[] = {{"/data/cat/b/new.jpg", 7}, {"/data/dog/new.jpg", 8}, {"/data/emu/1.jpg", 9}};
  open();
  for (const auto &change : changes) {
    files.addFile(change.added, "");
    auto source = open();
    EXPECT_FALSE(source->wasCached()) << change.added;
    EXPECT_EQ(source->length(), change.rows);
    EXPECT_TRUE(open()->wasCached());
  }
  files.remove("/data/emu");
  EXPECT_EQ(open()->length(), 8);
}

TEST_F(Folder, AnotherRootHasAnotherCache) {
  files.addFile("/data/cat/b/k/1.jpg", "");
  open();
  auto other = ImageFolder::open(files, "/data/cat/b/..//../cat", options);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE((*other)->wasCached());
  EXPECT_EQ((*other)->length(), 3);
  EXPECT_TRUE(open()->wasCached());
}

TEST_F(Folder, WorksWithoutACache) {
  files.setFaults("/cache/penstock", {.writeErrno = EACCES});
  EXPECT_EQ(open()->length(), 6);
  options.cacheFolder = "";
  EXPECT_EQ(open()->length(), 6);
}

TEST_F(Folder, AFullDiskIsNoError) {
  open();
  std::string cache = "/cache/penstock/" + files.listFolder("/cache/penstock")->at(0).name;
  ASSERT_TRUE(files.removeFile(cache).ok());
  files.setFaults(cache, {.writeErrno = ENOSPC});
  EXPECT_FALSE(open()->wasCached());
  EXPECT_FALSE(open()->wasCached());
}

TEST_F(Folder, ADamagedCacheIsIgnoredAndReplaced) {
  open();
  std::string cache = "/cache/penstock/" + files.listFolder("/cache/penstock")->at(0).name;
  Mapping whole = *files.mapFile(cache);
  std::vector<uint8_t> good(whole.bytes.begin(), whole.bytes.end());
  auto expectIgnored = [&](std::vector<uint8_t> bytes, size_t what) {
    files.addFile(cache, std::move(bytes));
    auto source = open();
    EXPECT_FALSE(source->wasCached()) << what;
    EXPECT_EQ(names(*source), expectedNames);
  };
  for (size_t size = 0; size < good.size(); size += 7)
    expectIgnored({good.begin(), good.begin() + long(size)}, size);
  for (size_t at = 0; at < good.size(); ++at) {
    auto bytes = good;
    bytes[at] ^= uint8_t(1 << at % 8);
    expectIgnored(std::move(bytes), at);
  }
  files.addFile(cache, good);
  EXPECT_TRUE(open()->wasCached());
}

TEST(FolderIndex, TakesAFewDozenBytesAFile) {
  FakeFileSystem files;
  for (int i = 0; i < 20000; ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "/data/n%03d/n%03d_%05d.JPEG", i % 20, i % 20, i);
    files.addFile(name, "");
  }
  auto index = FolderIndex::scan(files, "/data");
  ASSERT_TRUE(index.ok());
  EXPECT_EQ(index->fileCount(), 20000u);
  EXPECT_LT(index->bytes().size() / index->fileCount(), 32u);
}

TEST(RealFolder, IsCachedOnceItHasSettled) {
  TempFolder temp;
  namespace fs = std::filesystem;
  for (auto name : {"/data/a/1.jpg", "/data/b/2.jpg"}) {
    fs::create_directories(fs::path(temp.path() + name).parent_path());
    std::ofstream(temp.path() + name) << "x";
  }
  fs::create_directories(temp.path() + "/cache");
  auto files =
      RealFileSystem::create({{temp.path() + "/data", false}, {temp.path() + "/cache", true}});
  ASSERT_TRUE(files.ok());
  ImageFolder::Options options{.cacheFolder = temp.path() + "/cache/own"};
  auto cached = [&] {
    auto opened = ImageFolder::open(**files, temp.path() + "/data", options);
    EXPECT_TRUE(opened.ok());
    return (*opened)->wasCached();
  };
  EXPECT_FALSE(cached());
  EXPECT_FALSE(cached()) << "the folders changed a moment ago";
  auto past = fs::file_time_type::clock::now() - std::chrono::hours(1);
  for (auto name : {"/data", "/data/a", "/data/b"})
    fs::last_write_time(temp.path() + name, past);
  EXPECT_FALSE(cached());
  EXPECT_TRUE(cached());
  std::ofstream(temp.path() + "/data/b/3.jpg") << "x";
  EXPECT_FALSE(cached());
}

TEST(SoundFolder, ListsSoundsAlone) {
  FakeFileSystem files{{"/data", "/cache"}};
  for (const char *name : {"yes/1.wav", "yes/notes.txt", "no/a/2.FLAC", "no/3.mp3", "no/4.jpg"})
    files.addFile(std::string("/data/") + name, "bytes of " + std::string(name));
  const ImageFolder::Options options{.cacheFolder = "/cache/penstock",
                                     .contents = FolderContents::Sounds};
  for (bool wasCached : {false, true}) {
    auto opened = ImageFolder::open(files, "/data", options);
    ASSERT_TRUE(opened.ok()) << opened.error().message;
    const ImageFolder &source = **opened;
    EXPECT_EQ(names(source), (std::vector<std::string>{"no/3.mp3", "no/a/2.FLAC", "yes/1.wav"}));
    EXPECT_EQ(source.classNames(), (std::vector<std::string>{"no", "yes"}));
    EXPECT_EQ(*source.scalar(2, ImageFolder::Label), 1);
    // In parts, as all that decodes sound reads.
    auto place = source.place(1, ImageFolder::Data);
    ASSERT_TRUE(place.ok()) << place.error().message;
    EXPECT_EQ(place->name, "/data/no/a/2.FLAC");
    EXPECT_EQ(place->size, 20u);
    EXPECT_EQ(source.wasCached(), wasCached);
  }
  FakeFileSystem bare{{"/none"}};
  bare.addFile("/none/a/x.txt", "");
  auto none =
      ImageFolder::open(bare, "/none", {.cacheFolder = {}, .contents = FolderContents::Sounds});
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message.find("has no sounds in its"), std::string::npos)
      << none.error().message;
}

} // namespace
