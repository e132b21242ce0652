// SPDX-License-Identifier: Apache-2.0
//
// Which samples a batch of like lengths has.
#include "runtime/core/LengthBatches.h"

#include "runtime/abi/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace penstock::runtime {
namespace {

/// Lengths of 1 to 35 seconds, most of them short.
std::vector<int64_t> speech(int64_t rows) {
  std::vector<int64_t> lengths;
  for (int64_t row = 0; row < rows; ++row) {
    const double u = random::uniform(random::mix(17, uint64_t(row)), 0, 1);
    lengths.push_back(16'000 + int64_t(u * u * u * 34 * 16'000));
  }
  return lengths;
}

LengthBatches::Rules rules(int64_t limit, int64_t buckets, bool keepsLast = false) {
  LengthBatches::Rules rules;
  rules.limit = limit;
  rules.buckets = buckets;
  rules.keepsLast = keepsLast;
  return rules;
}

using Batches = std::vector<std::vector<int64_t>>;

/// The rows of all batches from number `start` on.
Batches epochOf(const LengthBatches &plan, uint64_t seed, uint32_t epoch, int64_t start = 0,
                int64_t end = -1) {
  Batches result;
  for (int64_t number = start; number < (end < 0 ? plan.batches() : end); ++number) {
    const LengthBatches::Batch batch = plan.batch(seed, epoch, number);
    result.emplace_back();
    for (int64_t i = 0; i < batch.count; ++i)
      result.back().push_back(plan.row(seed, epoch, batch.first + i));
  }
  return result;
}

int64_t longestOf(const std::vector<int64_t> &rows, const std::vector<int64_t> &lengths) {
  int64_t longest = 0;
  for (int64_t row : rows)
    longest = std::max(longest, lengths[size_t(row)]);
  return longest;
}

TEST(LengthBatches, HoldTheLimitAndAreNeverEmpty) {
  const std::vector<int64_t> lengths = speech(5000);
  for (int64_t buckets : {1, 2, 8, 30, 1000})
    for (bool keeps : {false, true}) {
      const int64_t limit = 1'400'000;
      const LengthBatches plan = *LengthBatches::make(lengths, rules(limit, buckets, keeps));
      ASSERT_GT(plan.batches(), 0);
      int64_t largest = 0;
      for (uint32_t epoch : {0, 1})
        for (const auto &batch : epochOf(plan, 3, epoch)) {
          ASSERT_FALSE(batch.empty());
          ASSERT_LE(longestOf(batch, lengths) * int64_t(batch.size()), limit);
          largest = std::max(largest, int64_t(batch.size()));
        }
      EXPECT_EQ(largest, plan.largest());
    }
}

TEST(LengthBatches, HaveEachRowOnce) {
  const std::vector<int64_t> lengths = speech(3000);
  for (bool keeps : {false, true}) {
    const LengthBatches plan = *LengthBatches::make(lengths, rules(900'000, 6, keeps));
    for (uint32_t epoch : {0, 5}) {
      std::set<int64_t> seen;
      int64_t samples = 0;
      for (const auto &batch : epochOf(plan, 3, epoch)) {
        seen.insert(batch.begin(), batch.end());
        samples += int64_t(batch.size());
      }
      EXPECT_EQ(int64_t(seen.size()), samples) << "no row comes twice";
      EXPECT_EQ(plan.samples(), samples);
      if (keeps)
        EXPECT_EQ(samples, 3000);
      else
        EXPECT_GT(samples, 2800) << "only what fills no batch of its bucket is left out";
    }
  }
}

TEST(LengthBatches, PadLittle) {
  const std::vector<int64_t> lengths = speech(20'000);
  auto padded = [&](int64_t buckets) {
    const LengthBatches plan = *LengthBatches::make(lengths, rules(1'400'000, buckets));
    double filled = 0, all = 0, batches = 0;
    for (const auto &batch : epochOf(plan, 1, 0)) {
      for (int64_t row : batch)
        filled += double(lengths[size_t(row)]);
      all += double(longestOf(batch, lengths) * int64_t(batch.size()));
      ++batches;
    }
    EXPECT_GT(all / batches, buckets == 1 ? 0 : 0.75 * 1'400'000) << buckets;
    return 1 - filled / all;
  };
  EXPECT_GT(padded(1), 0.3);
  EXPECT_LT(padded(8), 0.2);
  EXPECT_LT(padded(30), 0.06);
}

TEST(LengthBatches, BucketsHaveAboutAsManyElements) {
  const std::vector<int64_t> lengths = speech(50'000);
  const LengthBatches plan = *LengthBatches::make(lengths, rules(5'600'000, 5));
  std::map<int64_t, double> bySize; // a bucket has one size of batch
  double all = 0;
  for (const auto &batch : epochOf(plan, 1, 0))
    for (int64_t row : batch) {
      bySize[int64_t(batch.size())] += double(lengths[size_t(row)]);
      all += double(lengths[size_t(row)]);
    }
  ASSERT_EQ(bySize.size(), 5u);
  for (const auto &[size, elements] : bySize)
    EXPECT_NEAR(elements, all / 5, all / 100) << size;
}

TEST(LengthBatches, RowsOfOneLengthAreOneBucket) {
  const LengthBatches plan = *LengthBatches::make(std::vector<int64_t>(100, 7), rules(70, 8, true));
  for (const auto &batch : epochOf(plan, 1, 0))
    EXPECT_EQ(batch.size(), 10u);
  EXPECT_EQ(plan.batches(), 10);
}

TEST(LengthBatches, LengthsOfZeroTakeRoom) {
  const LengthBatches plan = *LengthBatches::make(std::vector<int64_t>(10, 0), rules(4, 3, true));
  EXPECT_EQ(plan.largest(), 4);
  EXPECT_EQ(plan.batches(), 3);
}

TEST(LengthBatches, DifferBetweenEpochsAndSeeds) {
  const LengthBatches plan = *LengthBatches::make(speech(2000), rules(4'000'000, 4));
  const Batches first = epochOf(plan, 1, 0);
  EXPECT_EQ(first, epochOf(plan, 1, 0));
  for (const Batches &other : {epochOf(plan, 1, 1), epochOf(plan, 2, 0)}) {
    std::set<std::set<int64_t>> seen;
    for (const auto &batch : first)
      seen.insert({batch.begin(), batch.end()});
    int64_t same = 0;
    for (const auto &batch : other)
      same += int64_t(seen.count({batch.begin(), batch.end()}));
    EXPECT_LT(same, 3);
  }
}

TEST(LengthBatches, MixBucketsWhereShuffled) {
  const std::vector<int64_t> lengths = speech(5000);
  LengthBatches::Rules wanted = rules(900'000, 6);
  const LengthBatches shuffled = *LengthBatches::make(lengths, wanted);
  wanted.shuffles = false;
  const LengthBatches sequential = *LengthBatches::make(lengths, wanted);
  auto shorter = [&](const LengthBatches &plan) {
    int64_t last = 0, count = 0;
    for (const auto &batch : epochOf(plan, 1, 0)) {
      const int64_t longest = longestOf(batch, lengths);
      count += longest < last;
      last = longest;
    }
    return count;
  };
  EXPECT_GT(shorter(shuffled), shuffled.batches() / 4);
  EXPECT_EQ(shorter(sequential), 0) << "from short to long";
  EXPECT_EQ(epochOf(sequential, 1, 0), epochOf(sequential, 2, 9));
}

TEST(LengthBatches, AreTheSameFromWhereverAnEpochGoesOn) {
  const LengthBatches plan = *LengthBatches::make(speech(1000), rules(900'000, 4));
  const Batches all = epochOf(plan, 1, 2);
  const Batches rest = epochOf(plan, 1, 2, 17);
  EXPECT_EQ(Batches(all.begin() + 17, all.end()), rest);
  int64_t samples = 0;
  for (int64_t i = 0; i < 17; ++i)
    samples += int64_t(all[size_t(i)].size());
  EXPECT_EQ(plan.samplesBefore(1, 2, 17), samples);
}

TEST(LengthBatches, CountTheSamplesOfARankWhereverAnEpochGoesOn) {
  const std::vector<int64_t> lengths = speech(300);
  for (bool keeps : {false, true}) {
    const LengthBatches plan = *LengthBatches::make(lengths, rules(900'000, 4, keeps));
    for (uint32_t world : {1u, 3u, 7u})
      for (int64_t start : {0, 5}) {
        int64_t sum = 0;
        for (uint32_t rank = 0; rank < world; ++rank) {
          const int64_t rounds = plan.rounds(start, world);
          int64_t own = 0;
          for (int64_t i = 0; i < rounds; ++i)
            own += plan.batch(1, 2, start + i * world + rank).count;
          for (int64_t i = start + rank - world; i >= 0; i -= world)
            own += i < start ? plan.batch(1, 2, i).count : 0;
          EXPECT_EQ(plan.samplesOf(1, 2, start, rank, world), own);
          EXPECT_EQ(plan.samplesOf(1, 2, start + 2 * world, rank, world), own) << "further on";
          sum += own;
        }
        EXPECT_EQ(sum, plan.samplesBefore(1, 2, start + plan.rounds(start, world) * world));
      }
  }
}

TEST(LengthBatches, RanksHaveAsManyAndNoneIsEmpty) {
  const std::vector<int64_t> lengths = speech(300);
  for (bool keeps : {false, true}) {
    const LengthBatches plan = *LengthBatches::make(lengths, rules(900'000, 4, keeps));
    const int64_t batches = plan.batches();
    for (uint32_t world : {1u, 2u, 3u, 7u, 64u, 1000u}) {
      const int64_t rounds = plan.rounds(0, world);
      EXPECT_EQ(rounds, keeps ? (batches + world - 1) / world : batches / world);
      const Batches taken = epochOf(plan, 1, 0, 0, rounds * world);
      for (const auto &batch : taken)
        EXPECT_FALSE(batch.empty());
      // Repeated batches have positions of their own, and are the epoch's first ones.
      std::set<int64_t> positions;
      for (int64_t i = 0; i < rounds * world; ++i)
        EXPECT_TRUE(positions.insert(plan.batch(1, 0, i).first).second);
      for (int64_t i = batches; i < rounds * world; ++i)
        EXPECT_EQ(taken[size_t(i)], taken[size_t(i % batches)]);
    }
    EXPECT_EQ(plan.rounds(batches - 3, 2), keeps ? 2 : 1);
    EXPECT_EQ(plan.rounds(batches, 2), 0);
    EXPECT_EQ(plan.rounds(batches + 1, 2), 0);
  }
}

TEST(LengthBatches, APositionHasItsBatch) {
  const LengthBatches plan = *LengthBatches::make(speech(500), rules(900'000, 4, true));
  for (int64_t number = 0; number < 2 * plan.batches(); ++number) {
    const LengthBatches::Batch batch = plan.batch(4, 1, number);
    for (int64_t i = 0; i < batch.count; ++i) {
      EXPECT_EQ(plan.batchAt(batch.first + i).first, batch.first);
      EXPECT_EQ(plan.batchAt(batch.first + i).count, batch.count);
    }
  }
}

TEST(LengthBatches, SubstitutesAreOfTheBucketAndKeepTheLimit) {
  // Three kinds of about as many elements, which are the buckets.
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 1000; ++i)
    lengths.push_back(10 + i % 10);
  for (int64_t i = 0; i < 140; ++i)
    lengths.push_back(100 + i % 10);
  for (int64_t i = 0; i < 14; ++i)
    lengths.push_back(1000 + i % 10);
  auto kind = [](int64_t length) { return length < 100 ? 0 : length < 1000 ? 1 : 2; };
  const LengthBatches plan = *LengthBatches::make(lengths, rules(3000, 3, true));
  std::set<int64_t> drawn;
  for (int64_t number = 0; number < plan.batches() + 2; ++number) {
    const LengthBatches::Batch batch = plan.batch(1, 0, number);
    std::vector<int64_t> rows;
    for (int64_t i = 0; i < batch.count; ++i)
      rows.push_back(plan.row(1, 0, batch.first + i));
    const int64_t longest = longestOf(rows, lengths);
    for (int64_t i = 0; i < batch.count; ++i)
      for (int attempt = 1; attempt <= 8; ++attempt) {
        const int64_t row = plan.substitute(1, 0, batch.first + i, attempt);
        EXPECT_LE(lengths[size_t(row)], longest) << "the batch does not grow";
        EXPECT_EQ(kind(lengths[size_t(row)]), kind(longest)) << "it is of the same bucket";
        EXPECT_EQ(row, plan.substitute(1, 0, batch.first + i, attempt));
        drawn.insert(row);
      }
  }
  EXPECT_GT(drawn.size(), 1000u) << "any row may be drawn";
}

TEST(LengthBatches, SubstitutesFitTheLimitWhereNobodyIsAsShort) {
  // Five rows without a length, which come together, and one that is alone.
  std::vector<int64_t> lengths(5, 0);
  for (int64_t i = 0; i < 200; ++i)
    lengths.push_back(1000 + i % 7);
  lengths.push_back(2900);
  LengthBatches::Rules inOrder = rules(3000, 400, true);
  inOrder.shuffles = false;
  const LengthBatches plan = *LengthBatches::make(lengths, inOrder);
  std::set<int64_t> alone, unknown;
  for (int64_t number = 0; number < plan.batches(); ++number) {
    const LengthBatches::Batch batch = plan.batch(3, 0, number);
    const bool isKnown = lengths[size_t(plan.row(3, 0, batch.first + batch.count - 1))] > 0;
    for (int64_t i = 0; i < batch.count; ++i)
      for (int attempt = 1; attempt <= 8; ++attempt) {
        const int64_t row = plan.substitute(3, 0, batch.first + i, attempt);
        EXPECT_TRUE(isKnown || lengths[size_t(row)] > 0);
        EXPECT_LE(lengths[size_t(row)] * batch.count, 3000);
        if (batch.count == 1)
          alone.insert(row);
        if (!isKnown)
          unknown.insert(row);
      }
  }
  EXPECT_GT(alone.size(), 4u);
  EXPECT_GT(unknown.size(), 4u);
  // Of rows that have none at all, any.
  const LengthBatches empty = *LengthBatches::make({0, 0, 0}, rules(8, 1));
  EXPECT_LT(empty.substitute(3, 0, 1, 1), 3);
}

TEST(LengthBatches, SayWhichRowsFillNoBatch) {
  const std::vector<int64_t> lengths = {1, 1, 1, 1, 1, 1, 1, 1, 8};
  EXPECT_EQ(LengthBatches::make(lengths, rules(8, 2))->unfilled(), "");
  EXPECT_EQ(LengthBatches::make(lengths, rules(16, 2))->unfilled(),
            "the bucket of the lengths 1 to 1 has 8 rows, which do not fill one batch of 16");
  EXPECT_EQ(LengthBatches::make(lengths, rules(16, 2, true))->unfilled(), "");
}

TEST(LengthBatches, RefuseWhatCannotBeCounted) {
  const std::vector<int64_t> lengths(1025, LengthBatches::maxElements);
  auto plan = LengthBatches::make(lengths, rules(LengthBatches::maxElements, 2));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().message, "the rows have more than 2^62 elements together");
}

TEST(LengthBatches, TellOtherBatchesByTheirFingerprint) {
  const std::vector<int64_t> lengths = speech(50);
  const uint64_t own = LengthBatches::make(lengths, rules(900'000, 4))->fingerprint();
  EXPECT_EQ(LengthBatches::make(lengths, rules(900'000, 4))->fingerprint(), own);
  EXPECT_NE(LengthBatches::make(lengths, rules(900'001, 4))->fingerprint(), own);
  EXPECT_NE(LengthBatches::make(lengths, rules(900'000, 5))->fingerprint(), own);
  EXPECT_NE(LengthBatches::make(lengths, rules(900'000, 4, true))->fingerprint(), own);
  std::vector<int64_t> others = lengths;
  std::swap(others[0], others[1]);
  EXPECT_NE(LengthBatches::make(others, rules(900'000, 4))->fingerprint(), own);
}

/// States depend on these: they never change under `pipe 1`.
TEST(LengthBatches, ArePinned) {
  const LengthBatches plan =
      *LengthBatches::make({5, 1, 9, 2, 7, 3, 8, 4, 6, 10}, rules(20, 3, true));
  EXPECT_EQ(epochOf(plan, 42, 0), (Batches{{9, 2}, {1, 7, 5}, {3, 0, 8}, {6, 4}}));
  EXPECT_EQ(plan.substitute(42, 0, 4, 1), 7);
}

} // namespace
} // namespace penstock::runtime
