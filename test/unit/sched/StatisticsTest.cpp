// SPDX-License-Identifier: Apache-2.0
#include "test/unit/sched/Pipelines.h"

namespace penstock::test {

namespace {

Statistics numbers(int64_t waitNs, int64_t fetchNs, int64_t decodeNs, int64_t kernelsNs) {
  Statistics result;
  result.threads = 2;
  result.elapsedNs = 1000;
  result.stages[size_t(Stage::Wait)].busyNs = waitNs;
  result.stages[size_t(Stage::Fetch)].busyNs = fetchNs;
  result.stages[size_t(Stage::Decode)].busyNs = decodeNs;
  result.stages[size_t(Stage::Kernels)].busyNs = kernelsNs;
  return result;
}

TEST(Statistics, NameWhatLimits) {
  EXPECT_STREQ(Statistics().limit(), "nothing");
  EXPECT_STREQ(numbers(10, 900, 900, 100).limit(), "consumer");
  EXPECT_STREQ(numbers(800, 300, 1500, 300).limit(), "decode");
  EXPECT_STREQ(numbers(800, 300, 300, 1500).limit(), "kernels");
  EXPECT_STREQ(numbers(800, 5000, 300, 100).limit(), "fetch");
}

TEST(Statistics, CountOnlyWhatWasDelivered) {
  MemoryTable table(400);
  FakeClock clock(1000);
  SessionOptions options = table.options();
  options.clock = &clock;
  options.prefetch = 4;
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->statistics().elapsedNs, 0);
  readEpoch(**session, 3);
  const Statistics result = (*session)->statistics();
  EXPECT_EQ(result.samples, 12u);
  EXPECT_EQ(result.batches, 3u);
  EXPECT_EQ(result.threads, 2);
  EXPECT_EQ(result.deliveredBytes, 12u * (12 + 8));
  for (Stage stage : {Stage::Select, Stage::Setup, Stage::Kernels})
    EXPECT_EQ(result[stage].count, 12u) << nameOf(stage);
  for (Stage stage : {Stage::Fetch, Stage::Probe, Stage::Decode})
    EXPECT_EQ(result[stage].count, 0u) << nameOf(stage);
  EXPECT_EQ(result[Stage::Wait].count, 3u);
  EXPECT_GT(result[Stage::Kernels].busyNs, 0);
  EXPECT_GT(result.elapsedNs, 0);
}

/// Jumps by an hour, forwards and backwards, each time somebody looks.
class JumpingClock final : public Clock {
public:
  int64_t nowNs() const override {
    const int64_t look = looks++;
    return (look % 3 - look % 5) * int64_t(3'600'000'000'000);
  }

private:
  mutable std::atomic<int64_t> looks{0};
};

TEST(Statistics, ClocksThatJumpChangeNoSample) {
  MemoryTable table(400);
  const auto samples = [&](const Clock *clock) {
    SessionOptions options = table.options();
    options.clock = clock;
    auto session = memoryPipeline().open(options);
    return session ? readEpoch(**session).samples : std::vector<std::string>();
  };
  const JumpingClock jumping;
  const FakeClock standing(0);
  const std::vector<std::string> expected = samples(nullptr);
  EXPECT_EQ(expected.size(), 400u);
  EXPECT_EQ(samples(&jumping), expected);
  EXPECT_EQ(samples(&standing), expected);
}

TEST(Statistics, DecodedBlocksDoNotDependOnThreads) {
  FakeFileSystem files;
  fillFolder(files, 20);
  uint64_t first = 0;
  for (int threads = 1; threads <= 4; ++threads) {
    SessionOptions options = folderOptions(files);
    options.threads = threads;
    options.prefetch = threads;
    auto session = folderPipeline().open(options);
    ASSERT_TRUE(session);
    readEpoch(**session, 3);
    const uint64_t blocks = (*session)->statistics().decodedBlocks;
    EXPECT_GT(blocks, 0u);
    if (!first)
      first = blocks;
    EXPECT_EQ(blocks, first);
  }
}

} // namespace

} // namespace penstock::test
