// SPDX-License-Identifier: Apache-2.0
//
// What a chain's block holds: pictures that are brought there and away.
#include "runtime/sched/ChainRecords.h"

#include <gmock/gmock.h>

namespace penstock::runtime {

namespace {

using testing::ElementsAre;
using Step = ChainRecords::Step;

/// A step that runs `body`.
Step step(uint32_t body, int reads, int writes = -1, std::vector<int> inMemory = {}) {
  Step result;
  result.body = body;
  result.reads = reads;
  result.writes = writes;
  result.inMemory = std::move(inMemory);
  return result;
}

/// Pictures of 16 bytes for each buffer, by number.
uint8_t memory[16][16];

/// The steps of a chain in words: "3" runs body 3, "+2" and "-2" copy picture 2 there and away.
std::vector<std::string> filled(const std::vector<Step> &steps) {
  ChainRecords records;
  for (const Step &each : steps)
    records.add({7, 1}, each);
  const size_t room = 3 * steps.size();
  std::vector<uint64_t> to(ChainRecords::bytes(room) / sizeof(uint64_t) + 1, 99);
  const auto pictureOf = [](int64_t slot, int buffer) {
    EXPECT_EQ(slot, 7);
    return ChainRecords::Picture{memory[buffer], 1};
  };
  EXPECT_EQ(records.fill(room, pictureOf, reinterpret_cast<uint8_t *>(to.data())), 1u);
  EXPECT_EQ(to.back(), 99u);
  const auto &sample = *reinterpret_cast<const pst_joined_sample *>(to.data());
  EXPECT_EQ(sample.entry, 8);
  EXPECT_LE(sample.steps, room);
  std::vector<std::string> words;
  const auto *made = reinterpret_cast<const pst_joined_step *>(&sample + 1);
  for (uint32_t i = 0; i < sample.steps; ++i) {
    const auto picture = (static_cast<const uint8_t *>(made[i].record) - memory[0]) / 16;
    if (made[i].body < PST_JOINED_LOAD) {
      words.push_back(std::to_string(made[i].body));
      continue;
    }
    EXPECT_EQ(made[i].barrier, 1u);
    words.push_back((made[i].body == PST_JOINED_LOAD ? "+" : "-") + std::to_string(picture));
  }
  return words;
}

// The first one is brought, and nothing of what follows goes through memory.
TEST(ChainRecords, APictureStays) {
  EXPECT_THAT(filled({step(0, 1, 2), step(1, 2), step(2, 2, 3), step(3, 3)}),
              ElementsAre("+1", "0", "1", "2", "3"));
}

TEST(ChainRecords, WhatTheChainMakesAnewIsNotBrought) {
  EXPECT_THAT(filled({step(0, -1, 2), step(1, 2)}), ElementsAre("0", "1"));
}

// Memory has picture 1, and gets picture 2 before what is made of it takes the place.
TEST(ChainRecords, WhatIsReadLaterIsKept) {
  EXPECT_THAT(filled({step(0, 1, 2), step(1, 2, 3), step(2, 1), step(3, 2)}),
              ElementsAre("+1", "0", "-2", "1", "+1", "2", "+2", "3"));
}

TEST(ChainRecords, WhatIsReadInMemoryIsThere) {
  EXPECT_THAT(filled({step(0, 1, 2), step(1, -1, -1, {2}), step(2, 2, 3, {2})}),
              ElementsAre("+1", "0", "-2", "1", "2"));
}

// A blur stores to memory; what reads that brings it, over what nobody wants any more.
TEST(ChainRecords, WhatIsMadeInMemoryIsBrought) {
  EXPECT_THAT(filled({step(0, 1, 2), step(1, 2), step(2, 5)}),
              ElementsAre("+1", "0", "1", "+5", "2"));
}

TEST(ChainRecords, APictureIsStoredOnce) {
  EXPECT_THAT(filled({step(0, 1, 2), step(1, 4), step(2, 2), step(3, 4), step(4, 2)}),
              ElementsAre("+1", "0", "-2", "+4", "1", "+2", "2", "+4", "3", "+2", "4"));
}

// Chains of samples lie one behind the other.
TEST(ChainRecords, EachChainHasItsOwn) {
  ChainRecords records;
  records.add({2, 0}, step(5, -1, 1));
  records.add({0, 1}, step(4, -1, 1));
  records.add({0, 0}, step(3, -1, 1));
  std::vector<uint64_t> to(3 * ChainRecords::bytes(3) / sizeof(uint64_t));
  EXPECT_EQ(records.fill(
                3, [](int64_t, int) { return ChainRecords::Picture{}; },
                reinterpret_cast<uint8_t *>(to.data())),
            3u);
  std::vector<std::pair<int64_t, uint32_t>> found;
  for (size_t i = 0; i < 3; ++i) {
    const auto *sample = reinterpret_cast<const pst_joined_sample *>(
        reinterpret_cast<const uint8_t *>(to.data()) + i * ChainRecords::bytes(3));
    found.emplace_back(sample->entry, reinterpret_cast<const pst_joined_step *>(sample + 1)->body);
  }
  EXPECT_THAT(found, ElementsAre(std::pair(1, 3u), std::pair(1, 4u), std::pair(3, 5u)));
}

} // namespace

} // namespace penstock::runtime
