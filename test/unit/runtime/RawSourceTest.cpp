// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/RawSource.h"
#include "runtime/core/FakeFileSystem.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

using namespace penstock::runtime;
using penstock::plan::DType;

namespace {

struct Raw : testing::Test {
  FakeFileSystem files{{"/data"}};

  void SetUp() override {
    std::vector<uint8_t> pixels(3 * 2 * 4);
    for (size_t i = 0; i < pixels.size(); ++i)
      pixels[i] = uint8_t(i);
    files.addFile("/data/pixels", pixels);
    int64_t labels[] = {7, -1, 1LL << 40};
    std::vector<uint8_t> bytes(sizeof labels);
    std::memcpy(bytes.data(), labels, sizeof labels);
    files.addFile("/data/labels", bytes);
  }
  RawColumn pixels() { return {"pixels", DType::u8, {2, 4}, "/data/pixels", {}, {}}; }
  RawColumn labels() { return {"label", DType::i64, {}, "/data/labels", {}, {}}; }
  std::string failure(std::vector<RawColumn> columns) {
    auto opened = openRaw(std::move(columns), &files);
    return opened ? "" : opened.error().message;
  }
};

TEST_F(Raw, GivesRowsWithoutCopying) {
  auto source = openRaw({pixels(), labels()}, &files);
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ((*source)->length(), 3);
  Buffer scratch;
  auto view = (*source)->tensor(1, 0, scratch);
  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view->rank, 2);
  EXPECT_EQ(view->extents[0], 2);
  EXPECT_EQ(view->extents[1], 4);
  EXPECT_EQ(view->elements(), 8);
  EXPECT_EQ(view->data[0], 8);
  EXPECT_EQ(scratch.capacity(), 0u);
  EXPECT_EQ(*(*source)->scalar(0, 1), 7);
  EXPECT_EQ(*(*source)->scalar(1, 1), -1);
  EXPECT_EQ(*(*source)->scalar(2, 1), 1LL << 40);
  EXPECT_EQ((*source)->rowName(2), "row 2");
  EXPECT_EQ((*source)->columns()[0].typeText(), "u8[2, 4]");
}

TEST_F(Raw, KeepsMemoryAliveThatWasHandedOver) {
  auto owned = std::make_shared<std::vector<uint8_t>>(10, uint8_t(3));
  std::weak_ptr<std::vector<uint8_t>> watch = owned;
  RawColumn column{"x", DType::u8, {}, "", {owned->data(), owned->size()}, owned};
  owned.reset();
  auto source = openRaw({column}, nullptr);
  column.owner.reset();
  EXPECT_EQ(*(*source)->scalar(9, 0), 3);
  EXPECT_FALSE(watch.expired());
  source->reset();
  EXPECT_TRUE(watch.expired());
}

TEST_F(Raw, WidensEveryScalarType) {
  auto scalar = [](DType type, uint64_t bits) {
    std::vector<uint8_t> bytes(8);
    std::memcpy(bytes.data(), &bits, 8);
    RawColumn column{"x", type, {}, "", {bytes.data(), size_t(sizeOf(type))}, {}};
    return *(*openRaw({column}, nullptr))->scalar(0, 0);
  };
  auto real = [&](DType type, uint64_t bits) { return std::bit_cast<double>(scalar(type, bits)); };
  EXPECT_EQ(scalar(DType::i8, 0xFF), -1);
  EXPECT_EQ(scalar(DType::u8, 0xFF), 255);
  EXPECT_EQ(scalar(DType::i16, 0x8000), -32768);
  EXPECT_EQ(scalar(DType::u16, 0x8000), 32768);
  EXPECT_EQ(scalar(DType::i32, 0xFFFFFFFF), -1);
  EXPECT_EQ(scalar(DType::boolean, 2), 1);
  EXPECT_EQ(real(DType::f64, std::bit_cast<uint64_t>(0.1)), 0.1);
  EXPECT_EQ(real(DType::f32, std::bit_cast<uint32_t>(1.5f)), 1.5);
  EXPECT_EQ(real(DType::f16, 0x3C00), 1.0);
  EXPECT_EQ(real(DType::f16, 0xC500), -5.0);
  EXPECT_EQ(real(DType::f16, 0x0001), 0x1p-24);
  EXPECT_EQ(real(DType::f16, 0x7BFF), 65504.0);
  EXPECT_EQ(real(DType::bf16, 0x4049), 3.140625);
}

TEST_F(Raw, SaysWhichSizesDoNotFit) {
  files.addFile("/data/odd", std::string_view("123456789"));
  EXPECT_EQ(failure({{"pixels", DType::u8, {2, 4}, "/data/odd", {}, {}}}),
            "column `pixels`: /data/odd has 9 bytes, which is no multiple of the 8 bytes "
            "of a row (u8[2, 4])");
  files.addFile("/data/two", std::vector<uint8_t>(16));
  EXPECT_EQ(failure({pixels(), {"label", DType::i64, {}, "/data/two", {}, {}}}),
            "column `label`: 2 rows, but column `pixels` has 3");
  EXPECT_EQ(failure({{"x", DType::u8, {}, "/data/none", {}, {}}}),
            "column `x`: cannot map /data/none: No such file or directory");
  EXPECT_EQ(failure({{"x", DType::text, {}, "/data/two", {}, {}}}),
            "column `x`: rows of text have no fixed size");
  EXPECT_EQ(failure({{"x", DType::u8, {3, 0}, "/data/two", {}, {}}}),
            "column `x`: an axis of 0 elements");
  EXPECT_EQ(failure({{"x", DType::u8, {1LL << 40, 1LL << 40}, "/data/two", {}, {}}}),
            "column `x`: an axis of 1099511627776 elements");
  EXPECT_EQ(failure({}), "raw() needs at least one column");
}

TEST_F(Raw, RefusesFieldsOfAnotherKind) {
  auto source = openRaw({pixels(), labels()}, &files);
  Buffer scratch;
  EXPECT_EQ((*source)->scalar(0, 0).error().message, "column `pixels` is u8[2, 4], not a scalar");
  EXPECT_EQ((*source)->tensor(0, 1, scratch).error().message,
            "column `label` is i64, not a tensor");
  EXPECT_FALSE((*source)->fetch(0, 0, scratch).ok());
  EXPECT_FALSE((*source)->text(0, 0).ok());
}

TEST_F(Raw, AnEmptyFileIsAnEmptyTable) {
  files.addFile("/data/empty", "");
  auto source = openRaw({{"x", DType::u8, {5}, "/data/empty", {}, {}}}, &files);
  ASSERT_TRUE(source.ok());
  EXPECT_EQ((*source)->length(), 0);
}

} // namespace
