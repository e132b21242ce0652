// SPDX-License-Identifier: Apache-2.0
//
// Elements at fixed distances, and what packs them.
#include "runtime/core/DType.h"
#include "runtime/media/numbers/Gzip.h"
#include "runtime/media/numbers/StoredArray.h"
#include "test/unit/runtime/WatchedBytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include <zlib.h>

using namespace penstock;
using namespace penstock::runtime;

namespace {

struct Case {
  StoredArray array;
  std::vector<int64_t> extents;
  std::vector<AxisRange> box;
  std::vector<uint8_t> file;
  MediumRequest request() const { return {plan::DType::i32, "", false, extents, box, {}}; }
};

/// Any order and direction of axes, and rows that are further apart than what is read at once.
Case anyCase(std::mt19937 &random, bool isLarge) {
  Case result;
  const size_t rank = random() % 5;
  std::vector<size_t> order;
  for (size_t axis = 0; axis < rank; ++axis) {
    const int64_t extent = 1 + int64_t(random() % (isLarge && axis < 2 ? 300 : 6));
    result.extents.push_back(extent);
    const int64_t low = int64_t(random()) % extent;
    result.box.push_back({low, low + 1 + int64_t(random()) % (extent - low)});
    if (random() % 2)
      result.box.back() = {0, extent};
    order.push_back(axis);
  }
  std::shuffle(order.begin(), order.end(), random);
  result.array.type = Stored::i32;
  result.array.isBigEndian = random() % 2;
  result.array.offset = random() % 50;
  int64_t stride = 4;
  for (size_t axis : order) {
    const bool isBack = random() % 3 == 0;
    result.array.strides[axis] = isBack ? -stride : stride;
    if (isBack)
      result.array.offset += uint64_t(stride * (result.extents[axis] - 1));
    stride *= result.extents[axis];
    if (random() % 4 == 0) // a gap
      stride += isLarge ? 4 * int64_t(random() % 9000) : 4 * int64_t(random() % 5);
  }
  if (stride > 1 << 21)
    return anyCase(random, isLarge);
  result.file.resize(50 + size_t(stride));
  for (uint8_t &byte : result.file)
    byte = uint8_t(random());
  return result;
}

int32_t elementAt(const Case &it, std::span<const int64_t> place) {
  auto at = int64_t(it.array.offset);
  for (size_t axis = 0; axis < place.size(); ++axis)
    at += it.array.strides[axis] * place[axis];
  uint32_t word;
  std::memcpy(&word, it.file.data() + at, sizeof word);
  return int32_t(it.array.isBigEndian ? __builtin_bswap32(word) : word);
}

// The elements outside of the box stay as they are.
TEST(Arrays, BoxesInTheOrderOfTheFile) {
  std::mt19937 random(3);
  std::vector<uint8_t> room;
  for (int trial = 0; trial < 600; ++trial) {
    const Case it = anyCase(random, trial % 6 == 0);
    const auto layout = denseLayout(it.request());
    ASSERT_TRUE(layout);
    std::vector<int32_t> out(size_t(layout->bytes) / 4, 0x55555555);
    std::vector<ByteRange> parts;
    addParts(it.array, it.request(), parts);
    for (size_t i = 1; i < parts.size(); ++i)
      ASSERT_LE(parts[i - 1].offset + parts[i - 1].size, parts[i].offset);
    Watched file(it.file, parts);
    ASSERT_TRUE(readArray(file, it.array, it.request(), *layout,
                          reinterpret_cast<uint8_t *>(out.data()), room));
    std::vector<int64_t> place(it.extents.size());
    for (size_t i = 0; i < out.size(); ++i) {
      auto rest = int64_t(i);
      bool inside = true;
      for (size_t axis = place.size(); axis-- > 0; rest /= it.extents[axis]) {
        place[axis] = rest % it.extents[axis];
        inside &= place[axis] >= it.box[axis].low && place[axis] < it.box[axis].high;
      }
      ASSERT_EQ(out[i], inside ? elementAt(it, place) : 0x55555555) << trial;
    }
  }
}

TEST(Arrays, RowsThatAreLargerThanABlock) {
  const int64_t extents[] = {2, 200'000};
  std::vector<uint16_t> file(2 * 200'000);
  for (size_t i = 0; i < file.size(); ++i)
    file[i] = uint16_t(i * 40503 >> 7);
  StoredArray array{Stored::u16};
  array.packLastFastest(extents);
  const AxisRange box[] = {{1, 2}, {11, 199'000}};
  const MediumRequest request{plan::DType::u16, "", false, extents, box, {}};
  std::vector<uint16_t> out(file.size());
  std::vector<uint8_t> room;
  MediaSpan bytes({reinterpret_cast<const uint8_t *>(file.data()), 2 * file.size()});
  ASSERT_TRUE(readArray(bytes, array, request, *denseLayout(request),
                        reinterpret_cast<uint8_t *>(out.data()), room));
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], i >= 200'011 && i < 399'000 ? file[i] : 0) << i;
}

// A large box is one read; rows that are far apart are not read with what lies between them.
TEST(Arrays, PartsAreAsFewAsReadsAreWorth) {
  const int64_t extents[] = {100, 512, 512};
  StoredArray array{Stored::i16};
  array.packLastFastest(extents);
  std::vector<ByteRange> parts;
  const AxisRange patch[] = {{10, 20}, {100, 196}, {7, 103}};
  addParts(array, {plan::DType::f32, "", false, extents, patch, {}}, parts);
  ASSERT_EQ(parts.size(), 10u) << "one a slice";
  EXPECT_EQ(parts[0].offset, 2u * (10 * 512 * 512 + 100 * 512 + 7));
  EXPECT_EQ(parts[0].size, 2u * (95 * 512 + 96));
  parts.clear();
  const AxisRange column[] = {{0, 100}, {3, 4}, {5, 6}};
  addParts(array, {plan::DType::f32, "", false, extents, column, {}}, parts);
  EXPECT_EQ(parts.size(), 100u);
}

TEST(Arrays, TypesHoldOthers) {
  using plan::DType;
  for (auto [type, stored, is] : {std::tuple{DType::u8, Stored::u8, true},
                                  {DType::u8, Stored::i8, false},
                                  {DType::i16, Stored::u8, true},
                                  {DType::i16, Stored::u16, false},
                                  {DType::u16, Stored::i8, false},
                                  {DType::i64, Stored::u32, true},
                                  {DType::i64, Stored::u64, false},
                                  {DType::i32, Stored::f32, false},
                                  {DType::f32, Stored::u8, false}})
    EXPECT_EQ(holds(type, stored), is) << nameOf(type) << " " << nameOf(stored);
}

// A plan may ask for anything; what no loop writes is refused.
TEST(Volumes, TypesThatNoVolumeBecomes) {
  std::vector<uint8_t> file(352 + 8);
  auto put = [&](size_t place, auto value) { std::memcpy(&file[place], &value, sizeof value); };
  put(0, int32_t(348));
  for (size_t axis = 0; axis < 8; ++axis)
    put(40 + 2 * axis, int16_t(axis == 0 ? 3 : axis < 4 ? axis == 1 ? 4 : 1 : 1));
  put(70, int16_t(4)); // i16
  put(108, 352.0f);
  std::memcpy(&file[344], "n+1", 4);
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{}, stats, videos, nullptr, nullptr};
  const auto medium = mediumEntry(size_t(media::find("nifti"))).make(host);
  const int64_t extents[] = {1, 1, 4};
  const AxisRange box[] = {{0, 1}, {0, 1}, {0, 4}};
  const MediumInput input{file, {}, nullptr, nullptr, nullptr};
  for (int type = 1; type <= int(plan::DType::boolean); ++type) {
    const MediumRequest request{plan::DType(type), "nifti", false, extents, box, {}};
    const auto layout = medium->layout(request);
    std::vector<uint8_t> out(size_t(layout->bytes));
    out.shrink_to_fit();
    const bool isHeld = holds(plan::DType(type), Stored::i16) ||
                        plan::DType(type) == plan::DType::f32 ||
                        plan::DType(type) == plan::DType::f64;
    EXPECT_EQ(bool(medium->decode(input, request, *layout, out.data())), isHeld) << type;
    EXPECT_EQ(bool(medium->accepts(input, request)), isHeld) << type;
  }
}

/// A gzip file of these bytes, in members of `piece`.
std::vector<uint8_t> gzipped(std::span<const uint8_t> bytes, size_t piece) {
  std::vector<uint8_t> result;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    const auto part = bytes.subspan(at, std::min(piece, bytes.size() - at));
    z_stream stream{};
    EXPECT_EQ(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
    std::vector<uint8_t> out(deflateBound(&stream, uLong(part.size())));
    stream.next_in = const_cast<uint8_t *>(part.data());
    stream.avail_in = uInt(part.size());
    stream.next_out = out.data();
    stream.avail_out = uInt(out.size());
    EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
    result.insert(result.end(), out.begin(), out.begin() + std::ptrdiff_t(stream.total_out));
    deflateEnd(&stream);
  }
  return result;
}

// Members begin and end anywhere in what is read at once.
TEST(Gzip, MembersAndWindows) {
  std::mt19937 random(4);
  std::vector<uint8_t> whole(500'000);
  for (uint8_t &byte : whole)
    byte = uint8_t(random() % 200);
  for (size_t piece : {whole.size(), size_t(70'001), size_t(1'000)}) {
    const std::vector<uint8_t> file = gzipped(whole, piece);
    MediaSpan raw(file);
    ASSERT_TRUE(*GzipBytes::is(raw));
    GzipBytes packed(raw);
    for (uint64_t at = 0; at < whole.size();) {
      const uint64_t count = std::min<uint64_t>(1 + random() % 90'000, whole.size() - at);
      std::vector<uint8_t> out(count);
      ASSERT_TRUE(packed.read(at, out));
      ASSERT_TRUE(std::equal(out.begin(), out.end(), whole.begin() + std::ptrdiff_t(at)));
      at += count + random() % 5'000;
    }
    EXPECT_EQ(*packed.finish(), whole.size());
    uint8_t more[1];
    EXPECT_EQ(packed.read(whole.size(), more).error().message,
              "what is packed in the gzip file ends after 500000 bytes");
  }
}

// The magic number of the next one lies behind the end of what is read at once, or across it.
TEST(Gzip, MembersThatEndWithAWindow) {
  constexpr size_t window = 64 << 10;
  std::mt19937 random(5);
  int tried = 0;
  for (size_t size = window - 120; size < window; ++size) {
    std::vector<uint8_t> part(size);
    for (uint8_t &byte : part)
      byte = uint8_t(random());
    std::vector<uint8_t> file = gzipped(part, size);
    tried += file.size() == window || file.size() == window - 1;
    const std::vector<uint8_t> more = gzipped(part, size);
    file.insert(file.end(), more.begin(), more.end());
    MediaSpan raw(file);
    GzipBytes packed(raw);
    ASSERT_EQ(*packed.finish(), 2 * size);
  }
  EXPECT_EQ(tried, 2);
}

TEST(Gzip, DamageAndEnds) {
  const std::vector<uint8_t> whole(300'000, 7);
  const std::vector<uint8_t> good = gzipped(whole, whole.size());
  auto messageOf = [](std::vector<uint8_t> file) {
    file.shrink_to_fit();
    MediaSpan raw(file);
    GzipBytes packed(raw);
    auto end = packed.finish();
    return end ? std::to_string(*end) : end.error().message;
  };
  EXPECT_EQ(messageOf(good), "300000");
  std::vector<uint8_t> file = good;
  file.insert(file.end(), {0, 0, 0x1F});
  EXPECT_EQ(messageOf(file), "300000") << "what is no member is left alone";
  file.push_back(0x1F); // half a magic number at the end
  EXPECT_EQ(messageOf(file), "300000");
  for (size_t cut = 2; cut < good.size(); ++cut)
    EXPECT_TRUE(messageOf({good.begin(), good.begin() + std::ptrdiff_t(cut)})
                    .starts_with("truncated gzip file: its " + std::to_string(cut) + " bytes end"))
        << cut;
  file = good;
  file[file.size() - 7] ^= 1;
  EXPECT_EQ(messageOf(file), "damaged gzip file: incorrect data check");
  file = good;
  file[file.size() - 2] ^= 1;
  EXPECT_EQ(messageOf(file), "damaged gzip file: incorrect length check");
}

} // namespace
