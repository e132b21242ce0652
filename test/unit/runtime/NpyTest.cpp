// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/numbers/Npy.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/sources/RawSource.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace penstock::runtime;
using penstock::plan::DType;

namespace {

std::vector<uint8_t> npy(const std::string &dictionary, size_t data, int version = 1) {
  const std::string header = dictionary + "\n";
  std::string text = "\x93NUMPY";
  text += char(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += char(header.size() >> 8 * i);
  text += header;
  std::vector<uint8_t> bytes(text.begin(), text.end());
  for (size_t i = 0; i < data; ++i)
    bytes.push_back(uint8_t(i));
  return bytes;
}

std::string dictionaryOf(const std::string &type, const std::string &shape,
                         const std::string &order = "False") {
  return "{'descr': " + type + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
}

Result<NpyHeader> headerOf(const std::vector<uint8_t> &bytes) {
  MediaSpan file(bytes);
  return readNpyHeader(file);
}

std::string messageOf(const std::vector<uint8_t> &bytes) {
  auto header = headerOf(bytes);
  return header ? header->typeText() : header.error().message;
}

TEST(Npy, Headers) {
  EXPECT_EQ(messageOf(npy(dictionaryOf("'<f4'", "(3, 4)"), 48)), "f32[3, 4]");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'|u1'", "(5,)"), 5, 2)), "u8[5]");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'|b1'", "(2, 0, 7)"), 0, 3)), "bool[2, 0, 7]");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'<i8'", "(1,)", "True"), 8)), "i64[1]");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'<f4'", "(3L, 4L)"), 48)), "f32[3, 4]") << "Python 2";
  EXPECT_EQ(headerOf(npy(dictionaryOf("'<i8'", "(1,)"), 8))->data,
            npy("", 0).size() - 1 + dictionaryOf("'<i8'", "(1,)").size() + 1);
}

TEST(Npy, OrdersOfBytesAndAxes) {
  auto header = headerOf(npy(dictionaryOf("'>f4'", "(3, 2)", "True"), 24));
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->isBigEndian && header->isFirstFastest);
  header = headerOf(npy(dictionaryOf("'>u1'", "(3,)", "True"), 3));
  ASSERT_TRUE(header);
  EXPECT_FALSE(header->isBigEndian || header->isFirstFastest) << "of one byte, and of one axis";
}

TEST(Npy, RefusesByName) {
  EXPECT_EQ(messageOf(npy(dictionaryOf("'|O'", "(3,)"), 24)), ".npy file of `|O` is not read");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'<u4'", "(3,)"), 24)), ".npy file of `<u4` is not read");
  EXPECT_EQ(messageOf(npy(dictionaryOf("[('a', '<f4')]", "(3,)"), 24)),
            ".npy file of records is not read");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'<f4'", "()"), 4)),
            ".npy file of a single value is not read");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'<f4'", "(3,)"), 11)),
            "truncated .npy file: it has 79 bytes of 80");
  EXPECT_EQ(messageOf(npy("{'descr': '<f4'}", 4)),
            "damaged .npy file: its header lacks a type, an order or a shape");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'<f4'", "(3, x)"), 4)),
            "damaged .npy file: its shape cannot be read");
  EXPECT_EQ(messageOf(npy(dictionaryOf("'<f8'", "(4611686018427387904,)"), 4)),
            "damaged .npy file: its shape is impossible");
  EXPECT_EQ(messageOf({'P', 'K'}), "it is no .npy file");
  const std::string whole = dictionaryOf("'<f4'", "(3,)");
  EXPECT_EQ(messageOf(npy(whole.substr(0, whole.size() - 1), 12)),
            "damaged .npy file: its header is no dictionary");
  EXPECT_EQ(messageOf(npy("{'descr': '<f8', " + whole.substr(1), 12)),
            "damaged .npy file: its header says something twice");
  auto bytes = npy(whole, 12);
  bytes[7] = 9;
  EXPECT_EQ(messageOf(bytes), ".npy file of version 1.9 is not read");
}

TEST(Npy, DamagedHeadersNeverLeaveTheirBytes) {
  std::mt19937 random(1);
  const auto whole = npy(dictionaryOf("'<f4'", "(3, 4)"), 48);
  for (int i = 0; i < 20000; ++i) {
    auto bytes = whole;
    bytes.resize(random() % (whole.size() + 1));
    for (int k = int(random() % 4); k > 0 && !bytes.empty(); --k)
      bytes[random() % bytes.size()] =
          uint8_t(random() % 3 ? "'(),: x9\\0"[random() % 9] : random());
    bytes.shrink_to_fit();
    if (auto header = headerOf(bytes)) {
      int64_t size = penstock::runtime::sizeOf(header->type);
      for (int64_t extent : header->shape)
        size *= extent;
      ASSERT_LE(header->data + size_t(size), bytes.size());
    }
  }
}

TEST(Npy, ColumnsOfRaw) {
  FakeFileSystem files{{"/data"}};
  files.addFile("/data/x.npy", npy(dictionaryOf("'<i2'", "(3, 4)"), 24));
  auto open = [&](DType type, std::vector<int64_t> dims) {
    RawColumn column;
    column.name = "x";
    column.type = type;
    column.dims = std::move(dims);
    column.path = "/data/x.npy";
    column.npy = true;
    return openRaw({column}, &files);
  };
  auto source = open(DType::i16, {4});
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ((*source)->length(), 3);
  Buffer scratch;
  auto view = (*source)->tensor(2, 0, scratch);
  EXPECT_EQ(view->data[0], 16);
  for (auto &&[type, dims] : std::vector<std::pair<DType, std::vector<int64_t>>>{
           {DType::i16, {5}}, {DType::u16, {4}}, {DType::i16, {}}})
    EXPECT_TRUE(open(type, dims)
                    .error()
                    .message.starts_with(
                        "column `x`: /data/x.npy holds i16[3, 4], rows first, and rows of "));
}

} // namespace
