// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/FakeFileSystem.h"
#include "runtime/core/RealFileSystem.h"
#include "test/unit/runtime/TempFolder.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace penstock::runtime;

namespace {

std::string textOf(const Buffer &buffer) {
  return {reinterpret_cast<const char *>(buffer.data()), buffer.size()};
}

std::span<const uint8_t> bytesOf(std::string_view text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

TEST(NormalizePath, WorksOnTheText) {
  EXPECT_EQ(normalizePath("/a//b/./c/", "/x"), "/a/b/c");
  EXPECT_EQ(normalizePath("b/../c", "/x/y"), "/x/y/c");
  EXPECT_EQ(normalizePath("../../../..", "/x/y"), "/");
  EXPECT_EQ(normalizePath("", "/x"), "/x");
  EXPECT_EQ(normalizePath("/..a/b..", "/x"), "/..a/b..");
}

TEST(NormalizePath, KeepsUrlsOnTheirServer) {
  EXPECT_EQ(normalizePath("b/../../../c", "https://h:1/x/y?q=/z"), "https://h:1/c");
  EXPECT_EQ(normalizePath("%2e%2E/c", "https://h/x/y"), "https://h/x/c");
  EXPECT_EQ(normalizePath("http://h//a/./b/?q=a//../b", "/x"), "http://h//a/b?q=a//../b");
  EXPECT_EQ(normalizePath("s3://b/k?/../l//", "/x"), "s3://b/l");
  EXPECT_EQ(normalizePath("%2e/a?b//c", "s3://b/k"), "s3://b/k/%2e/a?b//c");
  EXPECT_EQ(normalizePath("%2e%2e/a", "/x"), "/x/%2e%2e/a");
  EXPECT_EQ(normalizePath("/a", "s3://b"), "/a");
  EXPECT_EQ(normalizePath("ftp://h/a", "/x"), "/x/ftp:/h/a");
}

TEST(FolderOf, IsTheServerAtLeast) {
  EXPECT_EQ(folderOf("/a/b"), "/a");
  EXPECT_EQ(folderOf("/a"), "/");
  EXPECT_EQ(folderOf("https://h/a/b?q=/"), "https://h/a");
  EXPECT_EQ(folderOf("https://h/a"), "https://h");
  EXPECT_EQ(folderOf("s3://b"), "s3://b");
}

// From / on, the same name may be somebody else's file.
TEST(AbsolutePath, LeadsNowhereFromAFolderThatIsGone) {
  EXPECT_EXIT(
      {
        TempFolder temp;
        std::filesystem::current_path(temp.path());
        std::filesystem::remove(temp.path());
        for (const char *name : {"", "a", "../../../tmp"}) {
          const std::string path = absolutePath(name);
          std::filesystem::path made(path);
          std::error_code why;
          if (!path.starts_with("/proc/self/cwd") ||
              std::filesystem::create_directories(made / "b", why) || !why)
            std::_Exit(1);
        }
        std::_Exit(absolutePath("/a/../b") == "/b" ? 0 : 2);
      },
      testing::ExitedWithCode(0), "");
}

TEST(LiesWithin, NeedsAWholeComponent) {
  EXPECT_TRUE(liesWithin("/a/b", "/a"));
  EXPECT_TRUE(liesWithin("/a", "/a"));
  EXPECT_TRUE(liesWithin("/a", "/"));
  EXPECT_FALSE(liesWithin("/ab", "/a"));
  EXPECT_FALSE(liesWithin("/", "/a"));
}

struct Real : testing::Test {
  TempFolder temp;
  std::string inside = temp.path() + "/inside", outside = temp.path() + "/outside";
  std::unique_ptr<RealFileSystem> files;
  Buffer buffer;

  void SetUp() override {
    std::filesystem::create_directories(inside + "/sub");
    std::filesystem::create_directories(outside);
    write(inside + "/sub/a.txt", "hello");
    write(outside + "/secret", "secret");
    open({{inside, true}});
  }
  void open(std::vector<RealFileSystem::Root> roots) {
    auto made = RealFileSystem::create(std::move(roots));
    ASSERT_TRUE(made.ok()) << made.error().message;
    files = std::move(*made);
  }
  static void write(const std::string &path, std::string_view text) {
    std::ofstream(path, std::ios::binary) << text;
  }
  Code failure(const std::string &path) {
    Status status = files->readFile(path, buffer);
    EXPECT_FALSE(status.ok()) << path << " could be read";
    return status.ok() ? Code::InvalidArgument : status.error().code;
  }
};

TEST_F(Real, ReadsAWholeFileIntoAReusedBuffer) {
  ASSERT_TRUE(files->readFile(inside + "/sub/a.txt", buffer).ok());
  EXPECT_EQ(textOf(buffer), "hello");
  const uint8_t *before = buffer.data();
  write(inside + "/b", "bye");
  ASSERT_TRUE(files->readFile(inside + "/b", buffer).ok());
  EXPECT_EQ(textOf(buffer), "bye");
  EXPECT_EQ(buffer.data(), before);
}

TEST_F(Real, RefusesPathsThatLeaveTheRoot) {
  EXPECT_EQ(failure(outside + "/secret"), Code::OutsideRoot);
  EXPECT_EQ(failure(inside + "/../outside/secret"), Code::OutsideRoot);
  EXPECT_EQ(failure(inside + "/sub/../../outside/secret"), Code::OutsideRoot);
  EXPECT_EQ(failure("/etc/passwd"), Code::OutsideRoot);
  EXPECT_EQ(failure(inside + "x/y"), Code::OutsideRoot);
}

TEST_F(Real, RefusesLinksThatLeaveTheRoot) {
  std::filesystem::create_symlink("../outside/secret", inside + "/relative");
  std::filesystem::create_symlink(outside + "/secret", inside + "/absolute");
  std::filesystem::create_directory_symlink(outside, inside + "/folder");
  EXPECT_EQ(failure(inside + "/relative"), Code::OutsideRoot);
  EXPECT_EQ(failure(inside + "/absolute"), Code::OutsideRoot);
  EXPECT_EQ(failure(inside + "/folder/secret"), Code::OutsideRoot);
  EXPECT_EQ(files->stat(inside + "/absolute").error().code, Code::OutsideRoot);
  EXPECT_EQ(files->mapFile(inside + "/absolute").error().code, Code::OutsideRoot);
  EXPECT_EQ(files->listFolder(inside + "/folder").error().code, Code::OutsideRoot);
  auto listed = files->listFolder(inside);
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 4u);
  EXPECT_EQ((*listed)[0].name, "absolute");
  EXPECT_EQ((*listed)[0].kind, FileKind::File);
  EXPECT_EQ((*listed)[0].link, Link::Outside);
  EXPECT_EQ((*listed)[1].kind, FileKind::Folder);
  EXPECT_EQ((*listed)[1].link, Link::Outside);
}

/// Checks the messages about links, with `root` and `other` opened, on real files or fake ones.
template <class Files> void checkLinks(Files &files, const std::string &base) {
  auto message = [&](const std::string &name) {
    const auto info = files.stat(base + "/root/" + name);
    return info ? std::string("followed") : info.error().message;
  };
  auto outside = [&](const std::string &link, const std::string &target,
                     const std::string &folder) {
    return base + "/root/" + link + " is a link to " + base + target +
           ", outside of the opened folders; `--allow " + base + folder + "` opens it";
  };
  for (const char *name : {"inner", "inner/a.jpg", "chain", "other", "other/b.jpg", "file.jpg"})
    EXPECT_EQ(message(name), "followed") << name;
  EXPECT_EQ(message("out"), outside("out", "/outside", "/outside"));
  EXPECT_EQ(message("out/c.jpg"), outside("out", "/outside", "/outside"));
  EXPECT_EQ(message("far"), outside("far", "/outside", "/outside")); // by another link
  EXPECT_EQ(message("out.jpg"), outside("out.jpg", "/outside/c.jpg", "/outside"));
  // A name that begins like an opened folder's is none of it.
  EXPECT_EQ(message("trap"), outside("trap", "/otherwise", "/otherwise"));
  EXPECT_NE(message("gone").find("No such file"), std::string::npos);
  EXPECT_NE(message("circle").find("symbolic links"), std::string::npos);
  const auto listed = files.listFolder(base + "/root");
  ASSERT_TRUE(listed.ok());
  std::string all;
  for (const FolderEntry &entry : *listed)
    all += entry.name + "-FDO"[1 + int(entry.kind)] + "-fob"[int(entry.link)] + " ";
  EXPECT_EQ(all, "chainDf circleOb farDo file.jpgFf goneOb innerDf otherDf outDo out.jpgFo "
                 "realD- trapDo ");
}

TEST(Links, AreFollowedIntoOpenedFoldersOnly) {
  TempFolder temp;
  FakeFileSystem fake({"/t/root", "/t/other"});
  for (const char *name :
       {"/root/real/a.jpg", "/other/b.jpg", "/outside/c.jpg", "/otherwise/d.jpg"}) {
    fake.addFile(std::string("/t") + name, "x");
    std::filesystem::create_directories(std::filesystem::path(temp.path() + name).parent_path());
    std::ofstream(temp.path() + name) << "x";
  }
  for (auto [link, target] : std::initializer_list<std::pair<const char *, const char *>>{
           {"inner", "real"},
           {"chain", "inner"},
           {"other", "../other"},
           {"out", "../outside"},
           {"far", "out"},
           {"trap", "/otherwise"},
           {"gone", "../nowhere"},
           {"circle", "circle"},
           {"file.jpg", "/other/b.jpg"},
           {"out.jpg", "../outside/c.jpg"}}) {
    const bool isAbsolute = *target == '/';
    fake.addLink(std::string("/t/root/") + link, isAbsolute ? std::string("/t") + target : target);
    std::filesystem::create_symlink(isAbsolute ? temp.path() + target : target,
                                    temp.path() + "/root/" + link);
  }
  checkLinks(fake, "/t");
  // The folder that is opened may be a link itself.
  std::filesystem::create_directory_symlink("other", temp.path() + "/alias");
  for (const char *other : {"/other", "/alias"}) {
    auto real =
        RealFileSystem::create({{temp.path() + "/root", false}, {temp.path() + other, false}});
    ASSERT_TRUE(real.ok());
    checkLinks(**real, temp.path());
  }
}

TEST_F(Real, FollowsLinksThatStayWithinTheRoots) {
  std::filesystem::create_symlink("sub/a.txt", inside + "/relative");
  std::filesystem::create_symlink(inside + "/sub/a.txt", inside + "/absolute");
  std::filesystem::create_directory_symlink(outside, inside + "/other_root");
  open({{inside, false}, {outside, false}});
  for (auto name : {"/relative", "/absolute"}) {
    ASSERT_TRUE(files->readFile(inside + name, buffer).ok()) << name;
    EXPECT_EQ(textOf(buffer), "hello");
  }
  ASSERT_TRUE(files->readFile(inside + "/other_root/secret", buffer).ok());
  EXPECT_EQ(files->stat(inside + "/other_root")->kind, FileKind::Folder);
}

TEST_F(Real, ARootMayBeALink) {
  std::filesystem::create_directory_symlink(inside, temp.path() + "/link");
  open({{temp.path() + "/link", false}});
  ASSERT_TRUE(files->readFile(temp.path() + "/link/sub/a.txt", buffer).ok());
  EXPECT_EQ(failure(inside + "/sub/a.txt"), Code::OutsideRoot);
}

TEST_F(Real, SaysWhatIsMissing) {
  EXPECT_EQ(files->readFile(inside + "/none", buffer).error().message,
            "cannot read " + inside + "/none: No such file or directory");
  EXPECT_EQ(failure(inside + "/none"), Code::NotFound);
  auto made = RealFileSystem::create({{temp.path() + "/none", false}});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().message,
            "cannot open folder " + temp.path() + "/none: No such file or directory");
}

TEST_F(Real, NeverWaitsForAPipe) {
  ASSERT_EQ(::mkfifo((inside + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(files->readFile(inside + "/pipe", buffer).error().message,
            "cannot read " + inside + "/pipe: it is not a regular file");
}

TEST_F(Real, KeepsTheSizeLimit) {
  Status status = files->readFile(inside + "/sub/a.txt", buffer, 4);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, inside + "/sub/a.txt has 5 bytes, the limit is 4");
  EXPECT_TRUE(files->readFile(inside + "/sub/a.txt", buffer, 5).ok());
}

TEST_F(Real, MapsFiles) {
  auto mapping = files->mapFile(inside + "/sub/a.txt");
  ASSERT_TRUE(mapping.ok());
  EXPECT_EQ(std::string(mapping->bytes.begin(), mapping->bytes.end()), "hello");
  write(inside + "/empty", "");
  auto empty = files->mapFile(inside + "/empty");
  ASSERT_TRUE(empty.ok());
  EXPECT_TRUE(empty->bytes.empty());
}

TEST_F(Real, WritesAtomicallyAndOnlyWhereAllowed) {
  ASSERT_TRUE(files->writeFileAtomically(inside + "/new", bytesOf("one")).ok());
  ASSERT_TRUE(files->writeFileAtomically(inside + "/new", bytesOf("two!")).ok());
  ASSERT_TRUE(files->readFile(inside + "/new", buffer).ok());
  EXPECT_EQ(textOf(buffer), "two!");
  // A child that is killed while it writes leaves a file, which the next one uses.
  const pid_t child = ::fork();
  if (child == 0) {
    auto half = files->createFile(inside + "/new");
    ::_exit(half.ok() && (*half)->append(bytesOf("ha")).ok() ? ::raise(SIGKILL) : 1);
  }
  int ended = 0;
  ASSERT_EQ(::waitpid(child, &ended, 0), child);
  ASSERT_TRUE(WIFSIGNALED(ended));
  EXPECT_EQ(files->listFolder(inside)->size(), 3u);
  ASSERT_TRUE(files->writeFileAtomically(inside + "/new", bytesOf("three")).ok());
  ASSERT_TRUE(files->readFile(inside + "/new", buffer).ok());
  EXPECT_EQ(textOf(buffer), "three");
  EXPECT_EQ(files->listFolder(inside)->size(), 2u) << "a temporary file is left";
  ASSERT_TRUE(files->removeFile(inside + "/new").ok());
  EXPECT_EQ(failure(inside + "/new"), Code::NotFound);
  open({{inside, false}});
  Status refused = files->writeFileAtomically(inside + "/new", bytesOf("x"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message,
            "cannot write " + inside + "/new: its folder was given for reading only");
}

TEST_F(Real, AnOpenFileKnowsWhetherItWasChanged) {
  const std::string path = inside + "/sub/a.txt";
  using namespace std::chrono_literals;
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 1h);
  auto open = files->openFile(path);
  ASSERT_TRUE(open.ok());
  EXPECT_TRUE((*open)->checkUnchanged().ok());
  // Another file in its place is not the one that is open.
  ASSERT_TRUE(files->writeFileAtomically(path, bytesOf("other")).ok());
  EXPECT_TRUE((*open)->checkUnchanged().ok());

  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 1h);
  open = files->openFile(path);
  ASSERT_TRUE(open.ok());
  write(path, "OTHER"); // of the same size
  const Status changed = (*open)->checkUnchanged();
  ASSERT_FALSE(changed.ok());
  EXPECT_EQ(changed.error().code, Code::Io);
  EXPECT_EQ(changed.error().message, "the file was changed while it was read");
}

TEST_F(Real, AFileThatIsWrittenWhileItIsReadIsRefused) {
  const std::string path = inside + "/large";
  write(path, std::string(8 << 20, 'a'));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (char c = 'b'; !stop; c = c == 'z' ? 'a' : char(c + 1)) {
      std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
      const std::string piece(64 << 10, c);
      for (int i = 0; i < 128; ++i)
        file.write(piece.data(), std::streamsize(piece.size()));
    }
  });
  // Times of files have steps of some milliseconds, so that one try in some may miss it.
  std::string message;
  for (int i = 0; i < 2000 && message.empty(); ++i)
    if (Status status = files->readFile(path, buffer); !status)
      message = status.error().message;
  stop = true;
  writer.join();
  EXPECT_EQ(message, "the file was changed while it was read");
}

TEST_F(Real, AListStaysAsItWasRead) {
  const std::string path = inside + "/list.csv";
  write(path, "one,two\n1,2\n");
  auto list = readList(*files, path);
  ASSERT_TRUE(list.ok());
  std::filesystem::resize_file(path, 0); // a mapped one would end the process here
  EXPECT_EQ(std::string(list->bytes.begin(), list->bytes.end()), "one,two\n1,2\n");
  write(path, std::string("\xFF\xFE") + std::string("o\0n\0e\0", 6));
  EXPECT_EQ(readList(*files, path).error().message,
            path + " is UTF-16 text, which is not read: save it as UTF-8");
  // Larger ones are mapped, so that they take no memory of their own.
  write(path, "x");
  std::filesystem::resize_file(path, (64 << 20) + 1);
  list = readList(*files, path);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->bytes.size(), size_t(64 << 20) + 1);
}

TEST_F(Real, WritesNoFileInThePlaceOfAPipe) {
  const std::string path = inside + "/pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(files->writeFileAtomically(path, bytesOf("x")).error().message,
            "cannot write " + path + ": it is there, and is no regular file");
  EXPECT_TRUE(std::filesystem::is_fifo(path));
}

TEST_F(Real, TouchesWhereItMayWrite) {
  const std::string path = inside + "/sub/a.txt";
  using namespace std::chrono_literals;
  std::filesystem::last_write_time(path, std::filesystem::file_time_type::clock::now() - 1h);
  const int64_t before = files->stat(path)->modifiedNs;
  ASSERT_TRUE(files->touchFile(path).ok());
  EXPECT_GT(files->stat(path)->modifiedNs, before);
  EXPECT_EQ(files->touchFile(inside + "/gone").error().code, Code::NotFound);
  EXPECT_EQ(files->touchFile(outside + "/secret").error().code, Code::OutsideRoot);
  open({{inside, false}});
  EXPECT_EQ(files->touchFile(path).error().code, Code::Permission);
}

TEST_F(Real, WritesLongFilesPieceByPiece) {
  {
    auto given = files->createFile(inside + "/long");
    ASSERT_TRUE(given.ok());
    ASSERT_TRUE((*given)->append(bytesOf("one ")).ok());
    EXPECT_EQ(failure(inside + "/long"), Code::NotFound) << "not before it is finished";
    EXPECT_EQ(files->createFile(inside + "/long").error().message,
              "cannot write " + inside + "/long: another process is writing it");
  }
  EXPECT_EQ(files->listFolder(inside)->size(), 1u) << "what is not finished leaves nothing";
  write(inside + "/.long.part", "left by a process that was killed");
  auto given = files->createFile(inside + "/long");
  ASSERT_TRUE(given.ok());
  ASSERT_TRUE((*given)->append(bytesOf("two ")).ok());
  ASSERT_TRUE((*given)->append(bytesOf("three")).ok());
  ASSERT_TRUE((*given)->finish().ok());
  given = Error{Code::Io, "closed"};
  ASSERT_TRUE(files->readFile(inside + "/long", buffer).ok());
  EXPECT_EQ(textOf(buffer), "two three");
  EXPECT_EQ(files->listFolder(inside)->size(), 2u);
}

TEST_F(Real, APrivateFolderIsClosedToOthers) {
  std::string folder = inside + "/cache/deep";
  ASSERT_TRUE(files->makePrivateFolder(folder).ok());
  struct stat found;
  ASSERT_EQ(::stat(folder.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
  ASSERT_TRUE(files->makePrivateFolder(folder).ok()) << "it exists already";
  ASSERT_EQ(::chmod(folder.c_str(), 0777), 0);
  EXPECT_EQ(files->makePrivateFolder(folder).error().message,
            "folder " + folder + " can be written by others");
}

TEST(Fake, ReadsDespiteShortAndInterruptedReads) {
  FakeFileSystem files({"/data"});
  std::vector<uint8_t> bytes(100000);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<uint8_t>(i * 7);
  files.addFile("/data/x", bytes);
  for (int64_t wrongSize : {0, -99999, 5000}) {
    files.setFaults("/data/x",
                    {.largestRead = 777, .interruptions = 3, .statSizeError = wrongSize});
    Buffer buffer;
    ASSERT_TRUE(files.readFile("/data/x", buffer).ok());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), buffer.span().begin(), buffer.span().end()));
  }
}

TEST(Fake, ReportsInjectedErrors) {
  FakeFileSystem files({"/data"});
  files.addFile("/data/x", "0123456789");
  Buffer buffer;
  files.setFaults("/data/x", {.readErrno = EIO, .readErrnoAt = 5});
  EXPECT_EQ(files.readFile("/data/x", buffer).error().message,
            "cannot read /data/x: Input/output error");
  files.setFaults("/data/x", {.openErrno = EACCES});
  EXPECT_EQ(files.readFile("/data/x", buffer).error().code, Code::Permission);
  files.setFaults("/data/x", {.interruptions = 1 << 30});
  EXPECT_EQ(files.readFile("/data/x", buffer).error().code, Code::Io);
}

TEST(Fake, HasTheSameRoots) {
  FakeFileSystem files({"/data"});
  files.addFile("/other/secret", "x");
  files.addLink("/data/link", "/other/secret");
  files.addLink("/data/loop", "/data/loop");
  Buffer buffer;
  for (auto path : {"/other/secret", "/data/../other/secret", "/data/link"})
    EXPECT_EQ(files.readFile(path, buffer).error().code, Code::OutsideRoot) << path;
  EXPECT_FALSE(files.readFile("/data/loop", buffer).ok());
}

TEST(Fake, ListsLikeTheRealOne) {
  FakeFileSystem files({"/data"});
  files.addFile("/data/b/x", "1");
  files.addFile("/data/a", "1");
  files.addLink("/data/c", "b");
  auto listed = files.listFolder("/data");
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 3u);
  EXPECT_EQ((*listed)[0].name, "a");
  EXPECT_EQ((*listed)[1].kind, FileKind::Folder);
  EXPECT_EQ((*listed)[2].kind, FileKind::Folder);
  EXPECT_EQ(files.listFolder("/data/a").error().code, Code::NotFound);
}

TEST(Fake, AHeldFileMakesItsReaderWait) {
  FakeFileSystem files;
  files.addFile("/x", "abc");
  files.hold("/x");
  Buffer buffer;
  std::thread reader([&] { ASSERT_TRUE(files.readFile("/x", buffer).ok()); });
  files.waitForHeldReaders(1);
  files.release("/x");
  reader.join();
  EXPECT_EQ(textOf(buffer), "abc");
}

} // namespace
