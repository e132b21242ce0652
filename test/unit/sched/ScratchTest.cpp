// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Scratch.h"

#include <gtest/gtest.h>

using namespace penstock::runtime;

namespace {

constexpr int64_t mega = 1 << 20;

/// Returns whether pieces of these sizes, in MiB, are given to a sample.
std::vector<bool> given(Scratch &scratch, const std::vector<int64_t> &sizes) {
  std::vector<bool> all;
  for (int64_t size : sizes)
    all.push_back(scratch.allocate(size * mega) != nullptr);
  scratch.reset();
  return all;
}

TEST(Scratch, WhatIsTooMuchDoesNotDependOnEarlierSamples) {
  using Sizes = std::vector<int64_t>;
  ScratchLimits limits{.share = 16 * mega, .cap = 64 * mega, .large = {}};
  for (const auto &[sizes, expected] :
       {std::pair{Sizes{3, 9, 30, 10, 20, 1, 4},
                  std::vector{true, true, true, true, false, true, true}},
        std::pair{Sizes{20, 43, 2}, std::vector{true, true, false}}}) {
    Scratch fresh(limits, 0);
    EXPECT_EQ(given(fresh, sizes), expected);
    for (const Sizes &before :
         {Sizes{15}, Sizes{2, 2, 2, 2}, Sizes{40}, Sizes{7, 7}, Sizes{63}, Sizes{1, 12}}) {
      Scratch used(limits, mega);
      given(used, before);
      EXPECT_EQ(given(used, sizes), expected) << before.front();
    }
  }
}

// Memory that was given back is no longer held where the next piece needs the room.
TEST(Scratch, APieceThatWasGivenBackLeavesRoomForOthers) {
  ScratchLimits limits{.share = 16 * mega, .cap = 64 * mega, .large = {}};
  Scratch scratch(limits, 0);
  ASSERT_TRUE(scratch.allocate(5 * mega));
  for (int64_t size : {50, 58, 10, 40}) {
    const Scratch::Mark mark = scratch.mark();
    uint8_t *bytes = scratch.allocate(size * mega);
    ASSERT_TRUE(bytes) << size;
    bytes[size * mega - 1] = 1;
    EXPECT_FALSE(scratch.count(60 * mega));
    EXPECT_EQ(scratch.count(4 * mega), size <= 50) << size;
    scratch.rewind(mark);
  }
}

TEST(Scratch, TellsALimitFromMemoryThatIsNotThere) {
  ScratchLimits limits{.share = 16 * mega, .cap = int64_t(1) << 61, .large = {}};
  Scratch scratch(limits, 0);
  EXPECT_FALSE(scratch.allocate(int64_t(1) << 60)); // more than any machine maps
  const Error none = scratch.refusal("a kernel", int64_t(1) << 60);
  EXPECT_EQ(none.code, Code::Exhausted);
  EXPECT_EQ(none.message, "no memory for the 1152921504606847040 bytes that a kernel needs: "
                          "`ulimit -v`, a cgroup or the machine gives no more");
  EXPECT_FALSE(scratch.allocate(limits.cap + 1));
  const Error limit = scratch.refusal("a kernel", limits.cap + 1);
  EXPECT_EQ(limit.code, Code::Limit);
  EXPECT_EQ(limit.message, "a kernel needs 2305843009213693953 bytes, more than a sample may take");
}

TEST(Scratch, KeepsAnAddressFromSampleToSample) {
  ScratchLimits limits;
  Scratch scratch(limits, mega);
  const uint8_t *first = scratch.allocate(1000);
  scratch.reset();
  EXPECT_EQ(scratch.allocate(1000), first);
}

} // namespace
