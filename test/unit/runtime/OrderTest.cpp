// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

using namespace penstock::runtime;

namespace {

std::vector<int64_t> epochOf(const Order &order, uint64_t seed, uint32_t epoch) {
  std::vector<int64_t> rows;
  for (int64_t p = 0; p < order.positions(); ++p)
    rows.push_back(order.row(seed, epoch, p));
  return rows;
}

/// Sum of (found - expected)^2 / expected; near `cells` for an even spread.
double chiSquare(const std::vector<int64_t> &counts, double expected) {
  double sum = 0;
  for (int64_t count : counts)
    sum += (count - expected) * (count - expected) / expected;
  return sum;
}

TEST(Shuffled, IsAPermutationForEverySize) {
  std::vector<int64_t> sizes = {1000, 1023, 1024, 1025, 4097, 65535, 65536, 65537, 100003};
  for (int64_t n = 0; n <= 300; ++n)
    sizes.push_back(n);
  for (int64_t n : sizes)
    for (uint64_t seed : {0u, 1u, 12345u}) {
      auto rows = epochOf(*Order::shuffled(n), seed, uint32_t(n % 3));
      std::sort(rows.begin(), rows.end());
      for (int64_t i = 0; i < n; ++i)
        ASSERT_EQ(rows[size_t(i)], i) << "n = " << n;
    }
}

TEST(Shuffled, WorksOnHugeTables) {
  for (int64_t n : {int64_t(1000000000000), Order::maxPositions, Order::maxPositions / 4 + 1}) {
    Order order = *Order::shuffled(n);
    std::set<int64_t> seen;
    for (int64_t i = 0; i < 20000; ++i) {
      int64_t p = i < 10000 ? i : n - 1 - (i - 10000);
      int64_t row = order.row(7, 3, p);
      ASSERT_GE(row, 0);
      ASSERT_LT(row, n);
      ASSERT_TRUE(seen.insert(row).second);
    }
    EXPECT_LT(*seen.begin(), n / 1000);
    EXPECT_GT(*seen.rbegin(), n - n / 1000);
  }
}

TEST(Shuffled, SpreadsRowsEvenlyOverPositions) {
  // n x n counts of (position, row) over many epochs: (n-1)^2 free cells.
  for (int64_t n : {2, 3, 5, 10, 16, 33}) {
    Order order = *Order::shuffled(n);
    std::vector<int64_t> counts(size_t(n * n));
    const int epochs = 4000;
    for (int e = 0; e < epochs; ++e)
      for (int64_t p = 0; p < n; ++p)
        ++counts[size_t(p * n + order.row(99, uint32_t(e), p))];
    double freedom = double((n - 1) * (n - 1));
    double found = chiSquare(counts, double(epochs) / double(n));
    EXPECT_LT(found, freedom + 5 * std::sqrt(2 * freedom) + 5) << "n = " << n;
  }
}

TEST(Shuffled, ReachesEveryPermutationOfFourAboutAsOften) {
  std::map<std::vector<int64_t>, int64_t> seen;
  Order order = *Order::shuffled(4);
  const int epochs = 24000;
  for (int e = 0; e < epochs; ++e)
    ++seen[epochOf(order, 5, uint32_t(e))];
  EXPECT_EQ(seen.size(), 24u);
  for (const auto &[rows, count] : seen)
    EXPECT_NEAR(double(count), 1000, 500);
}

TEST(Shuffled, NeighboursAreUnrelated) {
  // Differences of successive rows, in ten bins, against those of a fair draw.
  const int64_t n = 1000, bins = 10;
  Order order = *Order::shuffled(n);
  std::vector<int64_t> counts(bins);
  const int epochs = 50;
  for (int e = 0; e < epochs; ++e) {
    auto rows = epochOf(order, 1, uint32_t(e));
    for (size_t i = 1; i < rows.size(); ++i)
      ++counts[size_t((rows[i] - rows[i - 1] + n) % n * bins / n)];
  }
  EXPECT_LT(chiSquare(counts, double(epochs) * double(n - 1) / bins), 40);
}

TEST(Shuffled, DiffersBetweenEpochsAndSeeds) {
  Order order = *Order::shuffled(1000);
  auto first = epochOf(order, 1, 0);
  for (auto other : {epochOf(order, 1, 1), epochOf(order, 2, 0)}) {
    int same = 0;
    for (size_t i = 0; i < first.size(); ++i)
      same += first[i] == other[i];
    EXPECT_LT(same, 12) << "about one of a thousand is to be expected";
  }
  EXPECT_EQ(first, epochOf(order, 1, 0));
}

/// States and the reference depend on these: they never change under `pipe 1`.
TEST(Shuffled, IsPinned) {
  EXPECT_EQ(epochOf(*Order::shuffled(10), 42, 0),
            (std::vector<int64_t>{1, 5, 9, 8, 7, 4, 0, 6, 2, 3}));
  EXPECT_EQ(Order::shuffled(1000000000000)->row(42, 1, 999999999999), 775132358461);
}

TEST(Sequential, IsTheIdentity) {
  EXPECT_EQ(epochOf(*Order::sequential(4), 1, 2), (std::vector<int64_t>{0, 1, 2, 3}));
}

TEST(Listed, GivesTheListAndChecksIt) {
  EXPECT_EQ(epochOf(*Order::listed({4, 0, 4}, 5), 1, 2), (std::vector<int64_t>{4, 0, 4}));
  EXPECT_EQ(Order::listed({1, 5}, 5).error().message,
            "entry 1 of the order is row 5, but the table has 5 rows");
  EXPECT_FALSE(Order::listed({-1}, 5).ok());
}

TEST(Part, MeansItsOwnRows) {
  EXPECT_EQ(epochOf(std::move(*Order::sequential(3)).over({9, 2, 5}), 1, 2),
            (std::vector<int64_t>{9, 2, 5}));
  std::vector<int64_t> shuffled =
      epochOf(std::move(*Order::shuffled(4)).over({10, 11, 12, 13}), 1, 2);
  std::vector<int64_t> numbers = epochOf(*Order::shuffled(4), 1, 2);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_EQ(shuffled[i], 10 + numbers[i]);
  std::vector<double> weights = {0, 1};
  Order weighted = std::move(*Order::weighted(weights)).over({3, 8});
  EXPECT_EQ(epochOf(weighted, 1, 2), (std::vector<int64_t>{8, 8}));
  EXPECT_EQ(weighted.substitute(1, 0, 0, 1), 8);
  EXPECT_EQ(weighted.bytes(), 32u);
}

TEST(Weighted, DrawsInProportion) {
  std::vector<double> weights = {1, 0, 3, 0.5, 0, 5.5};
  weights.insert(weights.end(), 994, 0.0);
  Order order = *Order::weighted(weights);
  ASSERT_EQ(order.positions(), 1000);
  std::vector<int64_t> counts(1000);
  for (uint32_t e = 0; e < 100; ++e)
    for (int64_t p = 0; p < 1000; ++p)
      ++counts[size_t(order.row(3, e, p))];
  EXPECT_EQ(counts[1], 0);
  EXPECT_EQ(counts[4], 0);
  EXPECT_EQ(std::count(counts.begin() + 6, counts.end(), 0), 994);
  double expected[] = {10000, 0, 30000, 5000, 0, 55000};
  for (size_t i : {0u, 2u, 3u, 5u})
    EXPECT_NEAR(double(counts[i]), expected[i], 5 * std::sqrt(expected[i]));
}

TEST(Weighted, RefusesSenselessWeights) {
  std::vector<double> negative = {1, -2};
  EXPECT_EQ(Order::weighted(negative).error().message,
            "row 1 has the weight -2.000000; weights are finite and not negative");
  std::vector<double> zero = {0, 0};
  EXPECT_EQ(Order::weighted(zero).error().message, "the weights of all 2 rows add up to 0.000000");
  std::vector<double> none = {std::nan("")};
  EXPECT_FALSE(Order::weighted(none).ok());
  EXPECT_EQ(Order::weighted({})->positions(), 0);
}

TEST(Substitute, IsAPureEvenDraw) {
  Order order = *Order::shuffled(10);
  std::vector<int64_t> counts(10);
  for (int64_t p = 0; p < 10; ++p)
    for (uint32_t e = 0; e < 1000; ++e) {
      std::set<int64_t> tried;
      for (int k = 1; k <= Order::maxSubstitutes; ++k) {
        int64_t row = order.substitute(1, e, p, k);
        EXPECT_EQ(row, order.substitute(1, e, p, k));
        ++counts[size_t(row)];
        tried.insert(row);
      }
      EXPECT_GT(tried.size(), 1u) << "all attempts give one row";
    }
  EXPECT_LT(chiSquare(counts, 8000), 40);
}

TEST(Substitute, StaysInTheListAndFollowsWeights) {
  Order listed = *Order::listed({7, 9}, 100);
  std::vector<double> weights = {0, 1, 0};
  Order weighted = *Order::weighted(weights);
  for (int64_t p = 0; p < 2; ++p)
    for (int k = 1; k <= 8; ++k) {
      int64_t row = listed.substitute(1, 0, p, k);
      EXPECT_TRUE(row == 7 || row == 9);
      EXPECT_EQ(weighted.substitute(1, 0, p, k), 1);
    }
}

TEST(TooManyRows, AreRefused) {
  EXPECT_EQ(Order::shuffled(Order::maxPositions + 1).error().message,
            "a table of 281474976710657 rows, the limit is 2^48");
}

// ---- ranks ------------------------------------------------------------------

std::vector<int64_t> positionsOf(const RankLayout &layout, int64_t positions, bool keep) {
  std::vector<int64_t> all;
  for (int64_t b = 0; b < layout.batches(positions, keep); ++b)
    for (int64_t s = 0; s < layout.samples(b, positions); ++s)
      all.push_back(layout.position(b, s));
  return all;
}

TEST(RankLayout, HasDistributedSamplersLayout) {
  auto layout = RankLayout::make(6, 1, 3);
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->perRank(), 2);
  EXPECT_EQ(positionsOf(*layout, 14, false), (std::vector<int64_t>{1, 4, 7, 10}));
  EXPECT_EQ(positionsOf(*layout, 14, true), (std::vector<int64_t>{1, 4, 7, 10, 13}));
}

TEST(RankLayout, RanksTogetherTakeEachPositionOnce) {
  for (int64_t positions : {0, 1, 5, 11, 12, 13, 100})
    for (int64_t start : {0, 1, 4, 12})
      for (uint32_t world : {1u, 2u, 3u, 6u})
        for (bool keep : {false, true}) {
          std::vector<int64_t> all;
          int64_t batches = -1;
          for (uint32_t rank = 0; rank < world; ++rank) {
            RankLayout layout = *RankLayout::make(6, rank, world, start);
            for (int64_t p : positionsOf(layout, positions, keep)) {
              EXPECT_EQ(p % world, rank);
              all.push_back(p);
            }
            if (batches < 0)
              batches = layout.batches(positions, keep);
            EXPECT_EQ(layout.batches(positions, keep), batches);
          }
          std::sort(all.begin(), all.end());
          int64_t left = std::max<int64_t>(positions - start, 0);
          int64_t expected = keep ? left : left / 6 * 6;
          ASSERT_EQ(int64_t(all.size()), expected);
          for (int64_t i = 0; i < expected; ++i)
            ASSERT_EQ(all[size_t(i)], start + i);
        }
}

TEST(RankLayout, ResumesUnderAnotherWorldSize) {
  // Two batches with 2 ranks of 3, then the rest with 3 ranks of 5.
  std::set<int64_t> seen;
  for (uint32_t rank = 0; rank < 2; ++rank) {
    RankLayout layout = *RankLayout::make(6, rank, 2);
    for (int64_t b = 0; b < 2; ++b)
      for (int64_t s = 0; s < 3; ++s)
        seen.insert(layout.position(b, s));
  }
  int64_t start = RankLayout::make(6, 0, 2)->endOf(1);
  EXPECT_EQ(start, 12);
  for (uint32_t rank = 0; rank < 3; ++rank)
    for (int64_t p : positionsOf(*RankLayout::make(15, rank, 3, start), 47, true))
      EXPECT_TRUE(seen.insert(p).second);
  EXPECT_EQ(seen.size(), 47u);
  EXPECT_EQ(*seen.rbegin(), 46);
}

TEST(RankLayout, SaysWhatIsWrong) {
  EXPECT_EQ(RankLayout::make(10, 0, 3).error().message,
            "a batch of 10 samples cannot be shared evenly among 3 ranks");
  EXPECT_EQ(RankLayout::make(9, 3, 3).error().message, "rank 3 of 3; ranks count from 0");
  EXPECT_EQ(RankLayout::make(0, 0, 1).error().message, "a batch of 0 samples");
}

} // namespace
