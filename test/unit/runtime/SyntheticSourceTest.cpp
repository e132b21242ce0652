// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/SyntheticSource.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <set>

using namespace penstock::runtime;
using penstock::plan::DType;

namespace {

std::unique_ptr<Source> open(std::vector<SyntheticColumn> columns, int64_t length = 1000000000000,
                             uint64_t seed = 0) {
  auto opened = openSynthetic(length, std::move(columns), seed);
  EXPECT_TRUE(opened.ok()) << opened.error().message;
  return opened ? std::move(*opened) : nullptr;
}

std::vector<uint8_t> bytesOf(const Source &source, int64_t row, int column = 0) {
  Buffer scratch;
  auto view = source.tensor(row, column, scratch);
  EXPECT_TRUE(view.ok());
  return {view->data,
          view->data + view->elements() * sizeOf(source.columns()[size_t(column)].type)};
}

const SyntheticColumn image{"pixels", DType::u8, {{32, 32}, {32, 32}, {3, 3}}, {}};

TEST(Synthetic, IsAPureFunctionOfRowAndColumn) {
  auto source = open({image, image});
  auto again = open({image});
  int64_t last = source->length() - 1;
  EXPECT_EQ(bytesOf(*source, 0), bytesOf(*again, 0));
  EXPECT_EQ(bytesOf(*source, last), bytesOf(*again, last));
  EXPECT_NE(bytesOf(*source, 0), bytesOf(*source, 1));
  EXPECT_NE(bytesOf(*source, 0), bytesOf(*source, int64_t(1) << 32));
  EXPECT_NE(bytesOf(*source, 0), bytesOf(*source, 0, 1));
  EXPECT_NE(bytesOf(*source, 0), bytesOf(*open({image}, 10, 1), 0));
  EXPECT_EQ(bytesOf(*source, 0).size(), 3072u);
}

/// Data sets that people pinned must not change under them.
TEST(Synthetic, IsPinned) {
  auto source = open({{"x", DType::u8, {{5, 5}}, {}}});
  EXPECT_EQ(bytesOf(*source, 999999999999), (std::vector<uint8_t>{37, 179, 233, 63, 254}));
}

TEST(Synthetic, AShorterTensorIsAPrefix) {
  auto source = open({{"x", DType::u8, {{21, 21}}, {}}});
  auto longer = open({{"x", DType::u8, {{40, 40}}, {}}});
  auto prefix = bytesOf(*longer, 5);
  prefix.resize(21);
  EXPECT_EQ(bytesOf(*source, 5), prefix);
}

TEST(Synthetic, BytesAreUniform) {
  auto source = open({image});
  std::vector<int> counts(256);
  for (int64_t row = 0; row < 20; ++row)
    for (uint8_t byte : bytesOf(*source, row))
      ++counts[byte];
  double chi = 0, expected = 20 * 3072 / 256.0;
  for (int count : counts)
    chi += (count - expected) * (count - expected) / expected;
  EXPECT_LT(chi, 255 + 5 * std::sqrt(2 * 255.0));
  EXPECT_GT(chi, 255 - 5 * std::sqrt(2 * 255.0));
}

TEST(Synthetic, LabelsStayInTheirRange) {
  auto source = open({{"label", DType::i64, {}, {{0, 10}}}, {"small", DType::i8, {}, {{-3, 4}}}});
  std::vector<int> counts(10);
  std::set<int64_t> small;
  for (int64_t row = 0; row < 10000; ++row) {
    ++counts[size_t(*source->scalar(row, 0))];
    small.insert(*source->scalar(row, 1));
  }
  for (int count : counts)
    EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(small, (std::set<int64_t>{-3, -2, -1, 0, 1, 2, 3}));
}

TEST(Synthetic, FloatsOfEveryTypeStayInTheirRange) {
  for (DType type : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    auto source = open({{"unit", type, {}, {}}, {"wide", type, {}, {{-8, 8}}}});
    double sum = 0, least = 1, most = 0;
    for (int64_t row = 0; row < 4000; ++row) {
      double unit = std::bit_cast<double>(*source->scalar(row, 0));
      double wide = std::bit_cast<double>(*source->scalar(row, 1));
      ASSERT_TRUE(unit >= 0 && unit <= 1) << unit;
      ASSERT_TRUE(wide >= -8 && wide <= 8) << wide;
      sum += unit;
      least = std::min(least, unit);
      most = std::max(most, unit);
    }
    EXPECT_NEAR(sum / 4000, 0.5, 0.03);
    EXPECT_LT(least, 0.01);
    EXPECT_GT(most, 0.99);
  }
}

TEST(Synthetic, BoolsAreEven) {
  auto source = open({{"flag", DType::boolean, {{1000, 1000}}, {}}});
  int ones = 0;
  for (uint8_t flag : bytesOf(*source, 3)) {
    ASSERT_LE(flag, 1);
    ones += flag;
  }
  EXPECT_NEAR(ones, 500, 80);
}

TEST(Synthetic, ADynamicAxisDiffersFromRowToRow) {
  auto source = open({{"boxes", DType::f32, {{0, 5}, {4, 4}}, {}}});
  std::vector<int> counts(6);
  Buffer scratch;
  for (int64_t row = 0; row < 6000; ++row) {
    TensorView shape;
    ASSERT_TRUE(source->shape(row, 0, shape).ok());
    auto view = source->tensor(row, 0, scratch);
    ASSERT_EQ(view->extents, shape.extents);
    ASSERT_EQ(view->rank, 2);
    ASSERT_EQ(view->extents[1], 4);
    ++counts[size_t(view->extents[0])];
  }
  for (int count : counts)
    EXPECT_NEAR(count, 1000, 150);
  EXPECT_EQ(source->columns()[0].typeText(), "f32[k <= 5, 4]");
  EXPECT_EQ(open({{"x", DType::f32, {{2, 5}}, {}}})->columns()[0].typeText(), "f32[2 <= k <= 5]");
}

std::string failure(std::vector<SyntheticColumn> columns, int64_t length = 10) {
  auto opened = openSynthetic(length, std::move(columns));
  return opened ? "" : opened.error().message;
}

TEST(Synthetic, SaysWhatCannotBe) {
  EXPECT_EQ(failure({image}, -1), "synthetic() of -1 rows; it can have 0 up to 2^48");
  EXPECT_EQ(failure({}), "synthetic() with 0 columns; it can have 1 up to 65535");
  EXPECT_EQ(failure({{"x", DType::text, {}, {}}}), "column `x`: synthetic rows cannot be text");
  EXPECT_EQ(failure({{"x", DType::u8, {{3, 3}, {1, 2}}, {}}}),
            "column `x`: only the leading axis may differ from row to row");
  EXPECT_EQ(failure({{"x", DType::u8, {{1 << 20, 1 << 20}, {1 << 20, 1 << 20}}, {}}}),
            "column `x`: a row of u8[1048576, 1048576] takes more than 4 GiB");
  EXPECT_EQ(failure({{"x", DType::u8, {{4, 3}}, {}}}), "column `x`: an axis of 4 to 3 elements");
  EXPECT_EQ(failure({{"x", DType::u8, {}, {{0, 257}}}}),
            "column `x`: the range 0 .. 257 does not fit u8");
  EXPECT_EQ(failure({{"x", DType::i32, {}, {{0, 1.5}}}}),
            "column `x`: the range 0 .. 1.5 does not fit i32");
  EXPECT_EQ(failure({{"x", DType::f32, {}, {{2, 2}}}}), "column `x`: the range 2 .. 2 is empty");
}

} // namespace
