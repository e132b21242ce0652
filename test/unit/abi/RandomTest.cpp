// SPDX-License-Identifier: Apache-2.0
//
// Known values of draws.
#include "runtime/abi/random.h"
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace penstock::random;
using Words = std::array<uint32_t, 4>;

namespace {

// The known answers that come with Random123 (kat_vectors, philox4x32 10).
TEST(Random, philoxKnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

// FNV-1a, 64 bits: the published values of "" and "a".
TEST(Random, drawIdIsFnv) {
  EXPECT_EQ(drawId(""), 0xcbf29ce484222325u);
  EXPECT_EQ(drawId("a"), 0xaf63dc4c8601ec8cu);
}

// splitmix64 of seed 0: its first output, as published with the algorithm.
TEST(Random, mixIsTheFinaliserOfSplitmix) { EXPECT_EQ(mix(0, 0), 0xE220A8397B1DCDAFu); }

TEST(Random, counterLayout) {
  const Key key{7, 0x0000ABCD12345678u, 9, 0x00FE};
  const uint64_t k = mix(7, 99);
  const Words words = philox({0x12345678, 0x00FEABCD, 9, 2},
                             {static_cast<uint32_t>(k), static_cast<uint32_t>(k >> 32)});
  EXPECT_EQ(bits(key, 99, 4), (uint64_t{words[0]} << 32) | words[1]);
  EXPECT_EQ(bits(key, 99, 5), (uint64_t{words[2]} << 32) | words[3]);
  // The view is 16 bits, the position 48.
  EXPECT_EQ(bits(key.withView(0x100FE), 99), bits(key, 99));
  EXPECT_EQ(bits(Key{7, 0xFFFFABCD12345678u, 9, 0x00FE}, 99), bits(key, 99));
  EXPECT_NE(bits(key.withView(0), 99), bits(key, 99));
  EXPECT_EQ(bits(key.mixed(3), 99), bits(Key{mix(7, 3), key.position, 9, 0x00FE}, 99));
}

TEST(Random, uniformStaysBelowItsEnd) {
  EXPECT_EQ(uniform(0, 2, 5), 2);
  EXPECT_EQ(uniform(uint64_t{1} << 63, 2, 5), 3.5);
  EXPECT_LT(uniform(~uint64_t{0}, 2, 5), 5);
  // Rounding would give the end: the low bound instead.
  EXPECT_EQ(uniform(~uint64_t{0}, 1, 1 + 0x1p-52), 1);
  EXPECT_EQ(uniform(~uint64_t{0}, 3, 3), 3);
}

TEST(Random, integerCoversItsRange) {
  EXPECT_EQ(integer(0, -3, 4), -3);
  EXPECT_EQ(integer(~uint64_t{0}, -3, 4), 3);
  EXPECT_EQ(integer(uint64_t{1} << 63, 0, 10), 5);
  EXPECT_EQ(integer(123, 4, 4), 4);
  EXPECT_EQ(integer(123, 4, -9), 4);
  constexpr int64_t low = std::numeric_limits<int64_t>::min(),
                    high = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(integer(0, low, high), low);
  EXPECT_EQ(integer(~uint64_t{0}, low, high), high - 1);
}

TEST(Random, integerIsTheHighHalfOfTheProduct) {
  const Key key{1, 2, 3, 4};
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t b = bits(key, 5, i), n = (bits(key, 6, i) >> 1) | 1;
    __extension__ using Wide = unsigned __int128;
    const auto wanted = static_cast<int64_t>(static_cast<uint64_t>((Wide{b} * n) >> 64));
    ASSERT_EQ(integer(b, 0, static_cast<int64_t>(n)), wanted);
  }
}

TEST(Random, permuteIsABijection) {
  for (uint64_t n :
       {0u, 1u, 2u, 3u, 4u, 5u, 16u, 17u, 63u, 64u, 65u, 255u, 256u, 257u, 1000u, 4097u})
    for (uint64_t key : {0u, 1u, 12345u}) {
      std::vector<bool> hit(n, false);
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t image = permute(key, n, i);
        ASSERT_LT(image, n);
        ASSERT_FALSE(hit[image]) << "n = " << n << ", i = " << i;
        hit[image] = true;
      }
    }
}

TEST(Random, permuteLeavesWhatLiesOutside) {
  EXPECT_EQ(permute(1, 10, 10), 10u);
  EXPECT_EQ(permute(1, 10, ~uint64_t{0}), ~uint64_t{0});
  EXPECT_EQ(permute(1, 1, 0), 0u);
}

// Not a proof of randomness: it catches a round that does nothing.
TEST(Random, permuteMovesMostElementsAndDependsOnTheKey) {
  int fixed = 0, same = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    fixed += permute(1, 1000, i) == i;
    same += permute(1, 1000, i) == permute(2, 1000, i);
  }
  EXPECT_LT(fixed, 20);
  EXPECT_LT(same, 20);
}

} // namespace
