// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/Medium.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace penstock;
using namespace penstock::runtime;

namespace {

struct Host {
  DecodeStats stats;
  pst_video_costs videos{};
  MediumHost host{{}, stats, videos, nullptr, nullptr};
  std::unique_ptr<Medium> numbers = mediumEntry(size_t(media::find("numbers"))).make(host);
};

// Guards around the box stay as they are.
TEST(Numbers, AnyBoxIsThatOfTheWhole) {
  Host host;
  std::mt19937 random(1);
  for (int trial = 0; trial < 500; ++trial) {
    const size_t rank = random() % 5;
    std::vector<int64_t> extents;
    std::vector<AxisRange> box;
    int64_t count = 1;
    for (size_t axis = 0; axis < rank; ++axis) {
      extents.push_back(1 + int64_t(random() % 5));
      const int64_t low = int64_t(random()) % extents.back();
      box.push_back({low, low + 1 + int64_t(random()) % (extents.back() - low)});
      if (random() % 2)
        box.back() = {0, extents.back()};
      count *= extents.back();
    }
    const int64_t skip = int64_t(random() % 9);
    const bool isBig = random() % 2;
    std::vector<uint8_t> file(size_t(skip + 2 * count + int64_t(random() % 2)));
    for (uint8_t &byte : file)
      byte = uint8_t(random());
    MediumInput input{file, {}, nullptr, nullptr, nullptr};
    const MediumRequest request{plan::DType::u16, isBig ? "big" : "little", false, extents, box,
                                {&skip, 1}};
    const auto layout = host.numbers->layout(request);
    ASSERT_TRUE(layout);
    std::vector<uint8_t> out(size_t(layout->bytes), 0xEE);
    ASSERT_TRUE(host.numbers->decode(input, request, *layout, out.data()));
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = i;
      bool inside = true;
      for (size_t axis = rank; axis-- > 0; rest /= extents[axis])
        inside &= rest % extents[axis] >= box[axis].low && rest % extents[axis] < box[axis].high;
      const uint8_t *at = file.data() + skip + 2 * i;
      const int expected = !inside ? 0xEEEE : isBig ? at[0] * 256 + at[1] : at[1] * 256 + at[0];
      EXPECT_EQ(out[size_t(2 * i + 1)] * 256 + out[size_t(2 * i)], expected) << trial;
    }
  }
}

TEST(Numbers, MoreThanThereIsIsTruncated) {
  Host host;
  const std::vector<uint8_t> file(15);
  const int64_t extents[] = {4};
  const AxisRange box[] = {{0, 1}};
  for (int64_t skip : {int64_t(-1), int64_t(0), int64_t(16), INT64_MAX, INT64_MIN}) {
    const MediumRequest request{plan::DType::f32, "little", false, extents, box, {&skip, 1}};
    const auto layout = host.numbers->layout(request);
    ASSERT_TRUE(layout);
    std::vector<uint8_t> out(size_t(layout->bytes));
    const Status status =
        host.numbers->decode({file, {}, nullptr, nullptr, nullptr}, request, *layout, out.data());
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().message,
              "the file has 15 bytes, and 16 are wanted behind the first " + std::to_string(skip));
  }
}

TEST(Numbers, ExtentsBeyond64BitsHaveNoLayout) {
  Host host;
  const int64_t extents[] = {int64_t(1) << 40, int64_t(1) << 40};
  const AxisRange box[] = {{0, 1}, {0, 1}};
  const int64_t skip = 0;
  EXPECT_FALSE(host.numbers->layout({plan::DType::u8, "little", false, extents, box, {&skip, 1}}));
}

} // namespace
