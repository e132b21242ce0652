// SPDX-License-Identifier: Apache-2.0
//
// Columns of files, and the files of points that have them: the parts that test/e2e/points.py does
// not reach.
#include "runtime/core/DType.h"
#include "runtime/media/points/Pcd.h"
#include "runtime/media/points/Ply.h"
#include "test/unit/runtime/WatchedBytes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace penstock;
using namespace penstock::runtime;

namespace {

std::vector<uint8_t> bytesOf(std::string_view text) { return {text.begin(), text.end()}; }

struct Table {
  std::vector<StoredArray> columns;
  std::vector<uint8_t> file;
  int64_t rows = 0;
};

/// Columns of any type in rows of any width, or each by itself.
Table anyTable(std::mt19937 &random) {
  constexpr Stored types[] = {Stored::u8, Stored::i16, Stored::f32, Stored::i32, Stored::f64};
  Table table;
  table.rows = 1 + int64_t(random() % 700);
  const bool areRows = random() % 2;
  const bool isBig = random() % 2;
  constexpr int64_t gaps[] = {0, 3, 700, 20'000};
  std::vector<int64_t> places;
  int64_t stride = 0;
  auto offset = int64_t(random() % 50);
  for (size_t i = 0, count = 1 + random() % 6; i < count; ++i) {
    StoredArray column{types[random() % 5], isBig};
    const int64_t size = sizeOf(column.type), gap = gaps[random() % (areRows ? 4 : 2)];
    column.offset = uint64_t(offset + stride);
    column.strides[0] = size + gap;
    if (areRows)
      stride += size + gap;
    else
      offset += table.rows * (size + gap);
    table.columns.push_back(column);
  }
  for (StoredArray &column : table.columns)
    if (areRows)
      column.strides[0] = stride;
  if (stride * table.rows > 2 << 20)
    return anyTable(random);
  std::shuffle(table.columns.begin(), table.columns.end(), random);
  if (random() % 3 == 0)
    table.columns.push_back(table.columns[0]); // named twice
  table.file.resize(size_t(offset + stride * table.rows + 8));
  for (uint8_t &byte : table.file)
    byte = uint8_t(random() % 60); // no NaN, and floats that are numbers
  return table;
}

double numberAt(const Table &table, int64_t row, size_t place) {
  const StoredArray &column = table.columns[place];
  uint8_t bytes[8] = {};
  const int64_t size = sizeOf(column.type);
  std::memcpy(bytes, table.file.data() + column.offset + row * column.strides[0], size_t(size));
  if (column.isBigEndian)
    std::reverse(bytes, bytes + size);
  auto as = [&](auto value) {
    std::memcpy(&value, bytes, sizeof value);
    return double(value);
  };
  switch (column.type) {
  case Stored::u8:
    return as(uint8_t());
  case Stored::i16:
    return as(int16_t());
  case Stored::f32:
    return as(float());
  case Stored::i32:
    return as(int32_t());
  default:
    return as(double());
  }
}

// In the order of the file, whatever that of the columns is; what is outside of the box stays.
TEST(Columns, BoxesInTheOrderOfTheFile) {
  std::mt19937 random(6);
  std::vector<uint8_t> room;
  for (int trial = 0; trial < 250; ++trial) {
    const Table table = anyTable(random);
    const int64_t extents[] = {table.rows, int64_t(table.columns.size())};
    AxisRange box[2];
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t low = int64_t(random()) % extents[axis];
      box[axis] = {low, low + 1 + int64_t(random()) % (extents[axis] - low)};
    }
    const MediumRequest request{plan::DType::f64, "", false, extents, box, {}};
    std::vector<ByteRange> parts;
    addParts(table.columns, request, parts);
    for (size_t i = 1; i < parts.size(); ++i)
      ASSERT_LE(parts[i - 1].offset + parts[i - 1].size, parts[i].offset);
    Watched file(table.file, parts);
    std::vector<double> out(size_t(extents[0] * extents[1]), -1);
    ASSERT_TRUE(readArray(file, table.columns, request, *denseLayout(request),
                          reinterpret_cast<uint8_t *>(out.data()), room));
    for (int64_t row = 0; row < extents[0]; ++row)
      for (int64_t column = 0; column < extents[1]; ++column) {
        const bool inside =
            row >= box[0].low && row < box[0].high && column >= box[1].low && column < box[1].high;
        ASSERT_EQ(out[size_t(row * extents[1] + column)],
                  inside ? numberAt(table, row, size_t(column)) : -1)
            << trial;
      }
  }
}

// Rows that are far apart are read one by one, columns that lie by themselves not with what lies
// between them.
TEST(Columns, PartsAreAsFewAsReadsAreWorth) {
  auto partsOf = [](std::vector<StoredArray> columns, int64_t rows) {
    const int64_t extents[] = {rows, int64_t(columns.size())};
    const AxisRange box[] = {{10, rows}, {0, extents[1]}};
    std::vector<ByteRange> parts;
    addParts(columns, {plan::DType::f32, "", false, extents, box, {}}, parts);
    return parts;
  };
  StoredArray x{Stored::f32, false, 100}, y{Stored::f32, false, 108};
  x.strides[0] = y.strides[0] = 16;
  auto parts = partsOf({y, x}, 100'000);
  ASSERT_EQ(parts.size(), 1u);
  EXPECT_EQ(parts[0].offset, 100u + 160);
  EXPECT_EQ(parts[0].size, 16u * (100'000 - 11) + 12);
  x.strides[0] = y.strides[0] = 40'000;
  parts = partsOf({y, x}, 30);
  ASSERT_EQ(parts.size(), 20u);
  EXPECT_EQ(parts[1].offset, 100u + 11 * 40'000);
  EXPECT_EQ(parts[1].size, 12u);
  y.offset = 100 + 4 * 1000;
  x.strides[0] = y.strides[0] = 4;
  parts = partsOf({y, x}, 1000);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].offset, 100u + 40);
  EXPECT_EQ(parts[1].offset, y.offset + 40);
  EXPECT_EQ(parts[1].size, 4u * 990);
}

// A plan may ask for anything.
TEST(Points, RequestsThatNoFileFits) {
  const std::vector<uint8_t> file =
      bytesOf("ply\nformat binary_little_endian 1.0\nelement vertex 2\nproperty short x\n"
              "property uchar y\nend_header\n\1\2\3\4\5\6");
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{}, stats, videos, nullptr, nullptr};
  const auto medium = mediumEntry(size_t(media::find("ply"))).make(host);
  const MediumInput input{file, {}, nullptr, nullptr, nullptr};
  auto messageOf = [&](plan::DType type, std::string_view fields, std::vector<int64_t> extents) {
    std::vector<AxisRange> box;
    for (int64_t extent : extents)
      box.push_back({0, extent});
    const MediumRequest request{type, fields, false, extents, box, {}};
    std::vector<uint8_t> out(size_t(medium->layout(request)->bytes));
    out.shrink_to_fit();
    const Status status = medium->decode(input, request, *medium->layout(request), out.data());
    EXPECT_EQ(bool(medium->accepts(input, request)), bool(status));
    return status ? "good" : status.error().message;
  };
  using plan::DType;
  for (int type = 1; type <= int(DType::boolean); ++type) {
    const bool isHeld = becomes(DType(type), Stored::i16);
    EXPECT_EQ(messageOf(DType(type), "x", {2}) == "good", isHeld) << type;
    EXPECT_EQ(isHeld, DType(type) == DType::f32 || DType(type) == DType::f64 ||
                          DType(type) == DType::i16 || DType(type) == DType::i32 ||
                          DType(type) == DType::i64)
        << type;
  }
  EXPECT_EQ(messageOf(DType::f32, "", {2, 2}), "good");
  EXPECT_EQ(messageOf(DType::f32, "y x y", {2, 3}), "good");
  EXPECT_EQ(messageOf(DType::f32, "x", {3}), "the request is not of the file's shape");
  EXPECT_EQ(messageOf(DType::f32, "x", {2, 1, 1}), "the request is not of the file's shape");
  EXPECT_EQ(messageOf(DType::f32, "x", {}), "the request is not of the file's shape");
  EXPECT_EQ(messageOf(DType::f32, "x y", {2}),
            "the file's fields have 2 numbers for each point, and the type has 1");
}

// Many fields of many numbers would take memory that no file has.
TEST(Points, NumbersOfAPoint) {
  std::string lines = "# .PCD\nVERSION .7\nFIELDS a\nSIZE 1\nTYPE U\nCOUNT 60000\nWIDTH 0\nDATA "
                      "binary\n";
  const std::vector<uint8_t> file = bytesOf(lines);
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{}, stats, videos, nullptr, nullptr};
  const auto medium = mediumEntry(size_t(media::find("pcd"))).make(host);
  const int64_t extents[] = {0, 120'000};
  const AxisRange box[] = {{0, 0}, {0, 120'000}};
  const MediumInput input{file, {}, nullptr, nullptr, nullptr};
  EXPECT_EQ(
      medium->accepts(input, {plan::DType::f32, "a a", false, extents, box, {}}).error().message,
      "more than 65536 numbers of each point are wanted");
}

// Packed bytes of any window, far longer than what is held.
TEST(Lzf, WindowsAndRepeats) {
  std::mt19937 random(8);
  std::vector<uint8_t> whole, packed;
  for (int i = 0; i < 60'000; ++i) {
    const size_t count = 3 + random() % 262, farthest = std::min<size_t>(whole.size(), 8192);
    if (farthest == 0 || random() % 3 == 0) {
      const size_t run = 1 + random() % 32;
      packed.push_back(uint8_t(run - 1));
      for (size_t k = 0; k < run; ++k) {
        whole.push_back(uint8_t(random()));
        packed.push_back(whole.back());
      }
      continue;
    }
    const size_t far = random() % farthest;
    packed.push_back(uint8_t(std::min<size_t>(count - 2, 7) << 5 | far >> 8));
    if (count >= 9)
      packed.push_back(uint8_t(count - 9));
    packed.push_back(uint8_t(far));
    for (size_t k = 0; k < count; ++k)
      whole.push_back(whole[whole.size() - far - 1]);
  }
  std::vector<uint8_t> file(7, 0xAA);
  file.insert(file.end(), packed.begin(), packed.end());
  Watched watched(file, {{7, packed.size()}});
  LzfBytes bytes(watched, 7, packed.size(), whole.size());
  for (uint64_t at = 0; at < whole.size();) {
    std::vector<uint8_t> out(std::min<uint64_t>(1 + random() % 100'000, whole.size() - at));
    ASSERT_TRUE(bytes.read(at, out));
    ASSERT_TRUE(std::equal(out.begin(), out.end(), whole.begin() + std::ptrdiff_t(at)));
    at += out.size() + random() % 50'000;
  }
  EXPECT_TRUE(bytes.finish());
}

// What stands across windows, and lines that are longer than one.
TEST(Points, TextAcrossWindows) {
  std::mt19937 random(9);
  std::string text;
  std::vector<float> wanted;
  for (int i = 0; i < 30'000; ++i) {
    for (int k = 0; k < 2; ++k) {
      wanted.push_back(float(int(random() % 20'000)) / 8);
      text += std::string(random() % 3000 == 0 ? 70'000 : 1 + random() % 3, ' ') +
              std::to_string(wanted.back());
    }
    text += random() % 2 ? "\n" : "\r\n";
  }
  text.pop_back();
  const std::vector<uint8_t> file = bytesOf(text);
  Watched watched(file, {{0, file.size()}});
  TextRows rows(watched, "PLY", 0, 0, 30'000, {Stored::f32, Stored::f32});
  ASSERT_EQ(rows.size(), 4 * wanted.size());
  for (uint64_t at = 0; at < rows.size();) {
    std::vector<uint8_t> out(std::min<uint64_t>(1 + random() % 5'000, rows.size() - at));
    ASSERT_TRUE(rows.read(at, out));
    ASSERT_EQ(
        std::memcmp(out.data(), reinterpret_cast<const uint8_t *>(wanted.data()) + at, out.size()),
        0);
    at += out.size() + random() % 3'000;
  }
  EXPECT_TRUE(rows.finish());
}

TEST(Points, LinesWithoutAnEnd) {
  const std::vector<uint8_t> file(9 << 20, ' ');
  MediaSpan bytes(file);
  TextRows rows(bytes, "PCD", 0, 0, 1, {Stored::f32});
  EXPECT_EQ(rows.finish().error().message, "damaged PCD file: a line has more than 8388608 bytes");
}

// Reads no more than the header, in whatever pieces.
TEST(Points, HeadersAreReadAlone) {
  const std::string head = "ply\r\nformat ascii 1.0\r\ncomment " + std::string(5000, 'a') +
                           "\r\nelement vertex 900000\r\nproperty float x\r\nend_header\r\n";
  const std::vector<uint8_t> file = bytesOf(head + std::string(4 << 20, '1'));
  for (size_t end = 1; end < head.size() - 1; ++end) {
    MediaSpan cut({file.data(), end});
    auto read = readPlyHeader(cut);
    ASSERT_FALSE(read);
    ASSERT_FALSE(read.error().message.empty());
  }
  Watched watched(file, {{0, 8 << 10}}, /*mayRepeat=*/true);
  auto read = readPlyHeader(watched);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->data, head.size());
}

} // namespace
