// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Tar.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/sources/TarIndex.h"
#include "runtime/sources/TarShards.h"
#include "test/unit/runtime/TarReads.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace penstock::runtime;
using penstock::plan::DType;
using penstock::test::listTar;
using penstock::test::shortLivedReads;

namespace {

std::string padded(std::string text, size_t block = 512) {
  text.resize((text.size() + block - 1) / block * block);
  return text;
}

std::string octal(uint64_t value, size_t width) {
  std::string text(width - 1, '0');
  for (size_t i = width - 1; i-- > 0; value >>= 3)
    text[i] = char('0' + (value & 7));
  return text + '\0';
}

/// A header with its checksum, and the contents.
std::string member(const std::string &name, const std::string &contents, char kind = '0',
                   const std::string &size = "", const std::string &prefix = "") {
  std::string header(512, '\0');
  auto put = [&](size_t at, const std::string &text) { header.replace(at, text.size(), text); };
  put(0, name.substr(0, 100));
  put(124, size.empty() ? octal(contents.size(), 12) : size);
  put(148, std::string(8, ' '));
  header[156] = kind;
  put(257, std::string("ustar\00000", 8));
  put(345, prefix);
  uint64_t sum = 0;
  for (char c : header)
    sum += uint8_t(c);
  put(148, octal(sum, 7) + " ");
  return header + padded(contents);
}

const std::string end(1024, '\0');

std::string record(const std::string &text) {
  size_t length = text.size() + 3;
  length += std::to_string(length).size() - 1;
  return std::to_string(length) + " " + text + "\n";
}

std::vector<uint8_t> bytesOf(const std::string &text) { return {text.begin(), text.end()}; }

/// "name=contents name=contents", or the message.
std::string list(const std::string &tar) {
  const auto bytes = bytesOf(tar);
  const auto found = listTar(TarReader(bytes), bytes.size());
  EXPECT_EQ(listTar(TarReader(bytes.size(), shortLivedReads(bytes)), bytes.size()), found);
  std::string all;
  for (const TarMember &one : found.members) {
    EXPECT_LE(one.offset + one.size, bytes.size());
    all += (all.empty() ? "" : " ") + one.name + "=" + tar.substr(one.offset, one.size);
  }
  return found.error.empty() ? all : found.error;
}

TEST(Tar, MembersAndFolders) {
  EXPECT_EQ(list(member("a", "one") + member("dir/", "", '5') + member("dir/b", "two") + end),
            "a=one dir/b=two");
  EXPECT_EQ(list(member("a", "") + end), "a=");
  EXPECT_EQ(list(end), "");
  EXPECT_EQ(list(member("a", "one")), "a=one"); // no blocks of zeros
  EXPECT_EQ(list(member("b", "x", '0', "", "long/folder") + end), "long/folder/b=x");
  EXPECT_EQ(list(member("a", std::string(1000, 'x'), '\0') + member("b", "y", '7') + end),
            "a=" + std::string(1000, 'x') + " b=y");
}

TEST(Tar, LongNamesAndSizes) {
  const std::string name(300, 'n');
  EXPECT_EQ(list(member("././@LongLink", name + '\0', 'L') + member("nnn", "1") + end),
            name + "=1");
  EXPECT_EQ(list(member("pax", record("mtime=1.5") + record("path=" + name), 'x') +
                 member("nnn", "2") + member("next", "3") + end),
            name + "=2 next=3");
  EXPECT_EQ(
      list(member("pax", record("size=4"), 'x') + member("a", "four", '0', octal(0, 12)) + end),
      "a=four");
  EXPECT_EQ(list(member("pax", record("comment=all"), 'g') + member("a", "x") + end), "a=x");
  std::string base256("\x80", 1);
  base256 += std::string(10, '\0') + '\x03';
  EXPECT_EQ(list(member("a", "abc", '0', base256) + end), "a=abc");
}

TEST(Tar, RefusesByName) {
  EXPECT_EQ(list(member("a", "", '2') + end),
            "`a` is a link, which is not read; tar --dereference --hard-dereference stores what it "
            "leads to");
  EXPECT_EQ(list(member("a", "", 'S') + end), "`a` is sparse, which is not read");
  EXPECT_EQ(list(member("pax", record("GNU.sparse.major=1"), 'x') + member("a", "") + end),
            "a tar file with sparse members is not read");
  EXPECT_EQ(
      list(member("a", "", 'M') + end),
      "`a` is a member of kind 77 `M`, which is not read; a tar file of files alone has none");
  for (const char kind : {'3', '4', '5', '6', 'V'}) // which are no files
    EXPECT_EQ(list(member("a", "", kind) + member("b", "x") + end), "b=x") << kind;
  EXPECT_EQ(list(member("a/", "Yb", 'D') + member("b", "x") + end), "b=x");
  EXPECT_EQ(list(std::string("\x1F\x8B\x08", 3) + end),
            "tar files compressed with gzip are not read: they have no random access");
  EXPECT_EQ(list("\x28\xB5\x2F\xFD" + end),
            "tar files compressed with zstd are not read: they have no random access");
}

TEST(Tar, DamageAndTruncation) {
  const std::string tar = member("a", "one") + member("b", std::string(600, 'x')) + end;
  EXPECT_EQ(list(tar.substr(0, 1700)), "truncated tar file: `b` has 600 bytes from byte 1536 on, "
                                       "and the file ends after 1700");
  EXPECT_EQ(list(tar.substr(0, 1100)),
            "truncated tar file: it ends after 1100 bytes, inside a header");
  EXPECT_EQ(list(tar.substr(0, 1536 + 600)), "truncated tar file: it ends after 2136 bytes, inside "
                                             "what fills up the block of a member");
  EXPECT_EQ(list(""), "truncated tar file: it ends after 0 bytes, inside a header");
  std::string changed = tar;
  changed[1024] = 'X';
  EXPECT_EQ(list(changed),
            "damaged tar file: the header at byte 1024 is none, or its checksum is wrong");
  EXPECT_EQ(list(member("pax", "9 path", 'x') + end),
            "damaged tar file: the extended header at byte 0");
}

TEST(Tar, RowsBehindAnEndAreNotLostInSilence) {
  const std::string zeros(tarBlock, '\0'), one = member("a", "one");
  EXPECT_EQ(list(one + zeros), "a=one");
  EXPECT_EQ(list(one + end + std::string(20 * tarBlock, '\0')), "a=one");
  EXPECT_EQ(list(one + end + std::string(3 * tarBlock, 'x')), "a=one"); // no tar file
  EXPECT_EQ(list(one + zeros + member("b", "two") + end),
            "damaged tar file: a lone block of zeros at byte 1024, and more behind it");
  const std::string record = one + std::string(20 * tarBlock - one.size(), '\0');
  for (const std::string &first : {one + end, record})
    EXPECT_EQ(list(first + member("b", "two") + end),
              "another tar file begins at byte " + std::to_string(first.size()) +
                  ", behind the end of the first; list them one by one, or join them with `tar "
                  "--concatenate`");
}

TEST(Tar, AnyBytesEnd) {
  const std::string whole = member("pax", record("path=long"), 'x') + member("a.x", "one") +
                            member("@", "name", 'L') + member("b.y", std::string(600, 'x')) + end;
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string tar = whole;
    tar.resize(random() % (tar.size() + 1));
    for (int k = int(random() % 4); k > 0 && !tar.empty(); --k) {
      const size_t at = random() % tar.size();
      tar[at] = char(random());
      // Most changes would only break a checksum.
      const size_t header = at / 512 * 512;
      if (header + 512 <= tar.size()) {
        tar.replace(header + 148, 8, "        ");
        uint64_t sum = 0;
        for (size_t j = 0; j < 512; ++j)
          sum += uint8_t(tar[header + j]);
        tar.replace(header + 148, 8, octal(sum, 7) + " ");
      }
    }
    list(tar);
  }
}

struct Shards : testing::Test {
  FakeFileSystem files{{"/data", "/cache"}};
  TarOptions options{"/data", "/cache", 1 << 20};
  std::vector<TarColumn> columns{{"data", DType::bytes, "jpg;png"},
                                 {"label", DType::i64, "cls"},
                                 {"key", DType::text, "__key__"}};

  void SetUp() override {
    files.addFolder("/cache");
    files.addFile("/data/1.tar", member("sub/000.jpg", std::string(100, 'a')) +
                                     member("sub/000.cls", "3\n") + member("readme", "x") +
                                     member("001.cls", "4") +
                                     member("001.png", std::string(200, 'b')) + end);
    files.addFile("/data/2.tar", member("002.jpg", "small") + member("002.seg.png", "mask") +
                                     member("002.cls", "x") + member("__meta__.json", "{}") +
                                     member("003.jpg", "no label") + end);
    files.addFile("/data/other", "x");
  }
  std::unique_ptr<Source> open() {
    auto source = openTarShards(files, options, columns);
    EXPECT_TRUE(source.ok()) << source.error().message;
    return source ? std::move(*source) : nullptr;
  }
  std::string failure() {
    auto opened = openTarShards(files, options, columns);
    return opened ? "" : opened.error().message;
  }
  static std::string data(const Source &source, int64_t row) {
    Buffer bytes;
    Status status = source.fetch(row, 0, bytes);
    return status ? std::string(bytes.data(), bytes.data() + bytes.size()) : status.error().message;
  }
};

TEST_F(Shards, RowsAreMembersOfOneName) {
  auto source = open();
  ASSERT_EQ(source->length(), 4);
  EXPECT_EQ(data(*source, 0), std::string(100, 'a'));
  EXPECT_EQ(data(*source, 1), std::string(200, 'b'));
  EXPECT_EQ(data(*source, 2), "small");
  EXPECT_EQ(*source->scalar(0, 1), 3);
  EXPECT_EQ(*source->scalar(1, 1), 4);
  EXPECT_EQ(*source->text(0, 2), "sub/000");
  EXPECT_EQ(source->rowName(0), "1.tar:sub/000");
  EXPECT_EQ(source->rowName(3), "2.tar:003");
  EXPECT_EQ(source->scalar(2, 1).error().message, "member .cls: `x` is not a whole number");
  EXPECT_EQ(source->scalar(3, 1).error().message, "there is no member .cls");
}

TEST_F(Shards, ColumnsThatNobodyHasAreRefused) {
  columns[1].from = "json";
  EXPECT_EQ(failure(),
            "column `label`: no row has a member .json; there are .jpg .cls .png .seg.png");
}

TEST_F(Shards, CapitalLettersOfExtensionsMeanNothing) {
  files.addFile("/data/1.tar", member("IMG.JPG", "one") + member("IMG.Cls", "7") +
                                   member("img.jpg", "two") + member("img.cls", "8") + end);
  files.remove("/data/2.tar");
  for (const char *from : {"jpg;png", "JPG"}) {
    columns[0].from = from;
    auto source = open();
    ASSERT_EQ(source->length(), 2); // names keep theirs
    EXPECT_EQ(data(*source, 0), "one");
    EXPECT_EQ(data(*source, 1), "two");
    EXPECT_EQ(*source->scalar(0, 1), 7);
  }
  files.addFile("/data/1.tar", member("a.JPG", "1") + member("a.jpg", "2") + end);
  EXPECT_EQ(failure(), "/data/1.tar: member `a.jpg` is there twice");
}

TEST_F(Shards, OneFileOrAList) {
  options.path = "/data/2.tar";
  EXPECT_EQ(open()->length(), 2);
  files.addFile("/data/list.txt", "2.tar\n\n/data/1.tar\n");
  options.path = "/data/list.txt";
  auto source = open();
  EXPECT_EQ(source->length(), 4);
  EXPECT_EQ(source->rowName(0), "2.tar:002");
}

TEST_F(Shards, CapitalLettersOfTheirNamesMeanNothing) {
  files.addFile("/data/3.TAR", member("a.jpg", "1") + member("a.cls", "3") + end);
  EXPECT_EQ(open()->length(), 5);
}

TEST_F(Shards, Messages) {
  files.addFile("/data/3.tar", member("a.jpg", "1") + member("a.jpg", "2") + end);
  EXPECT_EQ(failure(), "/data/3.tar: member `a.jpg` is there twice");
  files.addFile("/data/3.tar", member("a.jpg", "1").substr(0, 512));
  EXPECT_EQ(failure(), "/data/3.tar: truncated tar file: `a.jpg` has 1 bytes from byte 512 on, and "
                       "the file ends after 512");
  std::string frames;
  for (int i = 0; i < 70000; ++i)
    frames += member("frame." + std::to_string(i) + ".dat", "");
  files.addFile("/data/3.tar", frames + end);
  EXPECT_EQ(failure(), "/data/3.tar: row `frame` has more than 65535 members: a row's name ends at "
                       "the first dot");
  files.addFile("/data/shard-000", member("a.jpg", "1") + end);
  options.path = "/data/shard-000";
  EXPECT_EQ(failure(),
            "/data/shard-000 is no list of tar files; the name of a tar file ends in .tar");
  options.path = "/data/empty";
  files.addFolder("/data/empty");
  EXPECT_EQ(failure(), "folder /data/empty has no .tar files");
  files.addFile("/data/empty/a.tar.gz", "x");
  EXPECT_EQ(failure(), "folder /data/empty has no .tar files, and 1 compressed ones, which have no "
                       "random access");
}

TEST_F(Shards, TheIndexIsKept) {
  open();
  auto kept = files.listFolder("/cache");
  ASSERT_EQ(kept->size(), 1u);
  auto mapping = files.mapFile("/cache/" + (*kept)[0].name);
  const std::vector<std::string> paths = {"/data/1.tar", "/data/2.tar"};
  auto index = TarIndex::parse(*mapping, paths);
  ASSERT_TRUE(index.ok()) << index.error().message;
  EXPECT_TRUE(index->isCurrent(files));
  EXPECT_FALSE(TarIndex::parse(*mapping, {"/data/1.tar", "/data/3.tar"}).ok());
  // Where nothing has changed, no shard is read: these could not be.
  for (const std::string &path : paths)
    files.setFaults(path, {.readErrno = EIO});
  EXPECT_FALSE(TarIndex::scan(files, paths).ok());
  EXPECT_EQ(open()->length(), 4);
}

TEST_F(Shards, AStaleIndexIsMadeAnew) {
  EXPECT_EQ(open()->length(), 4);
  files.addFile("/data/2.tar", member("002.jpg", "x") + end);
  EXPECT_EQ(open()->length(), 3);
  files.addFile("/data/0.tar", member("z.jpg", "first") + end);
  auto source = open();
  EXPECT_EQ(source->length(), 4);
  EXPECT_EQ(data(*source, 0), "first");
}

TEST_F(Shards, AShardThatChangesUnderARunIsNoticed) {
  auto source = open();
  files.addFile("/data/1.tar", member("x.jpg", std::string(100, 'c')) + end);
  EXPECT_EQ(data(*source, 0), "/data/1.tar has changed since this run began");
  EXPECT_EQ(data(*source, 2), "small"); // in the index
}

TEST_F(Shards, AnOpenShardThatIsOverwrittenIsNoticed) {
  auto source = open();
  EXPECT_EQ(data(*source, 0), std::string(100, 'a'));
  // In place, of the same size: the open file shows the new bytes.
  files.overwriteFile("/data/1.tar", member("sub/000.jpg", std::string(100, 'c')) +
                                         member("sub/000.cls", "3\n") + member("readme", "x") +
                                         member("001.cls", "4") +
                                         member("001.png", std::string(200, 'd')) + end);
  EXPECT_EQ(data(*source, 0), "the file was changed while it was read");
  EXPECT_EQ(data(*source, 1), "the file was changed while it was read");
}

TEST_F(Shards, ShortAndInterruptedReadsAreRepeated) {
  for (const char *path : {"/data/1.tar", "/data/2.tar"})
    files.setFaults(path, {.largestRead = 7, .interruptions = 3});
  auto source = open();
  EXPECT_EQ(data(*source, 1), std::string(200, 'b'));
}

TEST_F(Shards, DamagedIndexesAreRefusedOrHarmless) {
  const std::vector<std::string> paths = {"/data/1.tar", "/data/2.tar"};
  auto whole = TarIndex::scan(files, paths);
  ASSERT_TRUE(whole.ok());
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    auto bytes =
        std::make_shared<std::vector<uint8_t>>(whole->bytes().begin(), whole->bytes().end());
    if (i % 2)
      bytes->resize(random() % bytes->size());
    else
      (*bytes)[random() % bytes->size()] ^= uint8_t(1 + random() % 255);
    EXPECT_FALSE(TarIndex::parse({{bytes->data(), bytes->size()}, bytes}, paths).ok());
  }
}

TEST_F(Shards, ManyRows) {
  std::string tar;
  for (int i = 0; i < 20000; ++i)
    tar += member(std::to_string(i) + ".cls", std::to_string(i));
  for (int shard = 0; shard < 5; ++shard)
    files.addFile("/data/big/" + std::to_string(shard) + ".tar", tar + end);
  options.path = "/data/big";
  columns = {{"label", DType::i64, "cls"}};
  auto source = open();
  ASSERT_EQ(source->length(), 100000);
  for (int64_t row : {0, 1, 19999, 20000, 77777, 99999})
    EXPECT_EQ(*source->scalar(row, 0), row % 20000);
}

} // namespace
