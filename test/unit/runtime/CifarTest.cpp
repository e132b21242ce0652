// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Cifar.h"
#include "runtime/core/FakeFileSystem.h"

#include <gtest/gtest.h>

using namespace penstock::runtime;

namespace {

constexpr size_t pixels = 3072;

/// Rows whose pixels tell which row they are, and their labels what it is mod 10.
std::vector<uint8_t> rowsFrom(int first, int count, size_t labels) {
  std::vector<uint8_t> bytes;
  for (int row = first; row < first + count; ++row) {
    for (size_t i = 0; i < labels; ++i)
      bytes.push_back(uint8_t(row % 10 + 10 * int(labels - 1 - i)));
    for (size_t i = 0; i < pixels; ++i)
      bytes.push_back(uint8_t(row * 7 + int(i)));
  }
  return bytes;
}

struct CifarFiles : testing::Test {
  FakeFileSystem files{{"/data"}};

  void addTen(const std::string &folder) {
    for (int i = 0; i < 5; ++i)
      files.addFile(folder + "/data_batch_" + std::to_string(i + 1) + ".bin",
                    rowsFrom(3 * i, 3, 1));
    files.addFile(folder + "/test_batch.bin", rowsFrom(100, 2, 1));
  }
  static uint8_t pixel(const Source &source, int64_t row, size_t at) {
    Buffer scratch;
    auto view = source.tensor(row, 0, scratch);
    EXPECT_TRUE(view.ok());
    EXPECT_EQ(view->elements(), int64_t(pixels));
    return view->data[at];
  }
};

TEST_F(CifarFiles, ClassesHaveTheNamesOfTheArchive) {
  const auto text = [](int lines, const char *end) {
    std::string names;
    for (int i = 0; i < lines; ++i)
      names += "class " + std::to_string(i) + end;
    return std::vector<uint8_t>(names.begin(), names.end());
  };
  const auto names = [&](Cifar kind, const char *root) {
    auto source = openCifar(files, root, kind, true);
    EXPECT_TRUE(source.ok());
    return (*source)->classNames();
  };
  addTen("/data/none");
  EXPECT_TRUE(names(Cifar::Ten, "/data/none").empty());
  addTen("/data/ten");
  files.addFile("/data/ten/batches.meta.txt", text(10, "\r\n\n"));
  const auto ten = names(Cifar::Ten, "/data/ten");
  ASSERT_EQ(ten.size(), 10u);
  EXPECT_EQ(ten[9], "class 9");
  addTen("/data/other");
  files.addFile("/data/other/batches.meta.txt", text(11, "\n"));
  EXPECT_TRUE(names(Cifar::Ten, "/data/other").empty());
  files.addFile("/data/hundred/train.bin", rowsFrom(0, 1, 2));
  files.addFile("/data/hundred/fine_label_names.txt", text(100, "\n"));
  files.addFile("/data/hundred/coarse_label_names.txt", text(20, "\n"));
  EXPECT_EQ(names(Cifar::Hundred, "/data/hundred").back(), "class 99");
}

TEST_F(CifarFiles, RowsGoThroughAllBatches) {
  for (const char *folder : {"/data/plain", "/data/unpacked/cifar-10-batches-bin"}) {
    addTen(folder);
    const std::string root = folder == std::string("/data/plain") ? folder : "/data/unpacked";
    auto source = openCifar(files, root, Cifar::Ten, true);
    ASSERT_TRUE(source.ok()) << source.error().message;
    ASSERT_EQ((*source)->length(), 15);
    for (int64_t row = 0; row < 15; ++row) {
      EXPECT_EQ(*(*source)->scalar(row, 1), row % 10);
      for (size_t at : {size_t(0), size_t(1024), pixels - 1})
        EXPECT_EQ(pixel(**source, row, at), uint8_t(row * 7 + int64_t(at)));
    }
    auto test = openCifar(files, root, Cifar::Ten, false);
    ASSERT_TRUE(test.ok());
    EXPECT_EQ((*test)->length(), 2);
    EXPECT_EQ(*(*test)->scalar(1, 1), 1);
  }
}

TEST_F(CifarFiles, HundredHasTwoLabels) {
  files.addFile("/data/train.bin", rowsFrom(0, 4, 2));
  auto source = openCifar(files, "/data", Cifar::Hundred, true);
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ((*source)->columnNumber("coarse"), 2);
  EXPECT_EQ(*(*source)->scalar(3, 1), 3);
  EXPECT_EQ(*(*source)->scalar(3, 2), 13);
  EXPECT_EQ(pixel(**source, 3, 5), uint8_t(26));
}

TEST_F(CifarFiles, LabelsThatAreNoneAreBadRows) {
  addTen("/data");
  auto bytes = rowsFrom(0, 3, 1);
  bytes[3073] = 10;
  files.addFile("/data/data_batch_1.bin", bytes);
  auto ten = openCifar(files, "/data", Cifar::Ten, true);
  ASSERT_TRUE(ten.ok());
  EXPECT_EQ(*(*ten)->scalar(0, 1), 0);
  EXPECT_EQ((*ten)->scalar(1, 1).error().message, "its `label` is 10, and there are 10 classes");
  auto two = rowsFrom(0, 2, 2);
  two[0] = 20;
  two[3074 + 1] = 100;
  files.addFile("/data/train.bin", two);
  auto hundred = openCifar(files, "/data", Cifar::Hundred, true);
  EXPECT_EQ((*hundred)->scalar(0, 2).error().message,
            "its `coarse` is 20, and there are 20 classes");
  EXPECT_EQ((*hundred)->scalar(1, 1).error().message,
            "its `label` is 100, and there are 100 classes");
}

/// Rows at the end of a file are copied: kernels read some bytes behind.
TEST_F(CifarFiles, LastRowsOfFilesHaveRoomBehind) {
  addTen("/data");
  auto source = openCifar(files, "/data", Cifar::Ten, true);
  ASSERT_TRUE(source.ok());
  for (int64_t row = 0; row < 15; ++row) {
    Buffer scratch;
    auto view = (*source)->tensor(row, 0, scratch);
    EXPECT_EQ(view->data == scratch.data(), row % 3 == 2) << row;
  }
}

TEST_F(CifarFiles, Messages) {
  auto failure = [&](Cifar kind) {
    auto opened = openCifar(files, "/data", kind, true);
    return opened ? "" : opened.error().message;
  };
  EXPECT_EQ(failure(Cifar::Ten),
            "cannot map /data/data_batch_1.bin: No such file or directory; the binary version has "
            "its files in a folder cifar-10-batches-bin");
  addTen("/data");
  auto bytes = rowsFrom(0, 3, 1);
  bytes.pop_back();
  files.addFile("/data/data_batch_4.bin", bytes);
  EXPECT_EQ(failure(Cifar::Ten), "/data/data_batch_4.bin has 9218 bytes, which is no multiple of "
                                 "the 3073 bytes of an image and its label");
  files.addFile("/data/data_batch_4.bin", "");
  EXPECT_EQ(failure(Cifar::Ten), "/data/data_batch_4.bin is empty");
}

} // namespace
