// SPDX-License-Identifier: Apache-2.0
//
// Levels of transfers that change between two batches: samples, order and states are those of one
// level, whenever it happens.
#include "test/unit/sched/DevicePipeline.h"

#include <algorithm>
#include <thread>

namespace penstock::test {

namespace {

/// The levels of memoryPipeline() or another: none of its steps on the device, the last one, all.
/// Outputs stay there where a step of the device is to be had.
struct Levels {
  DevicePipeline pixels, resampled;
  Pipeline final;

  explicit Levels(const Pipeline &pipeline, bool stay = false)
      : pixels(pipeline, 0, stay), resampled(pipeline, pipeline.plan.steps.size() - 1, stay),
        final(pipeline) {
    for (const auto &output : final.plan.outputs)
      output->on_device = stay;
  }

  static TransferLevel level(const char *name, const Pipeline &pipeline) {
    return {name, *Plan::make(pipeline.plan), pipeline.kernels(), {{90, false, "code"}}};
  }

  Result<std::unique_ptr<Session>> open(const FakeDriver &driver, SessionOptions options) const {
    options.transfer = "pixels";
    options.transfers = {level("resampled", resampled.pipeline), level("final", final)};
    return pixels.open(driver, std::move(options));
  }
};

constexpr const char *names[] = {"pixels", "resampled", "final"};

/// All samples of two epochs, with a change of level in front of some batches, as `seed` draws
/// them.
std::vector<std::string> readChanging(Session &session, uint64_t seed, int &changes) {
  std::vector<std::string> all;
  for (int ends = 0; ends < 2;) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    if (seed >> 62 == 0) {
      const Status status = session.setTransfer(names[(seed >> 32) % 3]);
      EXPECT_TRUE(status) << status.error().message;
      EXPECT_EQ(session.transfer(), names[(seed >> 32) % 3]);
      ++changes;
    }
    auto batch = session.next();
    if (!batch) {
      ADD_FAILURE() << batch.error().message;
      break;
    }
    if (!*batch) {
      ++ends;
      continue;
    }
    for (int64_t slot = 0; slot < (*batch)->count(); ++slot)
      all.push_back(line(**batch, slot));
  }
  return all;
}

std::vector<std::string> twoEpochs(Session &session) {
  std::vector<std::string> all;
  for (int i = 0; i < 2; ++i) {
    const Epoch epoch = readEpoch(session);
    all.insert(all.end(), epoch.samples.begin(), epoch.samples.end());
  }
  return all;
}

void expectTheSameWheneverItChanges(const Pipeline &pipeline, const SessionOptions &options) {
  auto host = pipeline.open(options);
  ASSERT_TRUE(host) << host.error().message;
  const std::vector<std::string> expected = twoEpochs(**host);
  ASSERT_GT(expected.size(), 8u);
  int changes = 0;
  for (uint64_t seed = 0; seed < 24; ++seed) {
    const Levels levels(pipeline, seed % 2);
    FakeDriver driver(levels.pixels.driver(seed));
    {
      SessionOptions wanted = options;
      wanted.prefetch = 1 + int(seed % 4);
      auto session = levels.open(driver, wanted);
      ASSERT_TRUE(session) << session.error().message;
      ASSERT_EQ(readChanging(**session, seed, changes), expected) << "seed " << seed;
      EXPECT_EQ((*session)->badSamples().size(), (*host)->badSamples().size());
      auto sample = (*session)->sample(1, 2);
      ASSERT_TRUE(sample) << sample.error().message;
      EXPECT_EQ(sample->contentHash, (*host)->sample(1, 2)->contentHash);
    }
    ASSERT_EQ(driver.fault(), "");
    ASSERT_EQ(driver.left(), "");
  }
  EXPECT_GT(changes, 24);
}

TEST(Transfer, ChangesNoSample) {
  const MemoryTable table(37);
  SessionOptions options = table.options();
  options.last = LastBatch::Keep;
  expectTheSameWheneverItChanges(memoryPipeline(), options);
}

TEST(Transfer, ChangesWhileFilesAreFetched) {
  FakeFileSystem files;
  fillFolder(files, 31);
  expectTheSameWheneverItChanges(folderPipeline(), folderOptions(files));
}

TEST(Transfer, GoesOnWithWhatIsInTheMaking) {
  const MemoryTable table(40);
  const Levels levels(memoryPipeline(plan::Order::sequential));
  FakeDriver driver(levels.pixels.driver(1));
  SessionOptions options = table.options();
  options.prefetch = 3;
  auto session = std::move(*levels.open(driver, options));
  const Epoch first = readEpoch(*session, 1);
  ASSERT_TRUE(session->setTransfer("final"));
  // Each sample of the epoch was computed once, though up to three batches had been begun.
  const Epoch rest = readEpoch(*session);
  EXPECT_EQ(first.samples.size() + rest.samples.size(), 40u);
  const Statistics numbers = session->statistics();
  uint64_t computed = 0;
  for (const Statistics::Kernel &kernel : numbers.kernels)
    computed += kernel.entry.count;
  EXPECT_GT(computed, 0u);
  EXPECT_LE(computed, 36u); // the first batch at least was the device's
  EXPECT_EQ(numbers.samples, 40u);
}

TEST(Transfer, IsNoPartOfAState) {
  const MemoryTable table(40);
  const Levels levels(memoryPipeline());
  FakeDriver driver(levels.pixels.driver(2));
  auto host = std::move(*memoryPipeline().open(table.options()));
  const Epoch expected = readEpoch(*host);
  auto session = std::move(*levels.open(driver, table.options()));
  Epoch found = readEpoch(*session, 2);
  ASSERT_TRUE(session->setTransfer("final"));
  const std::string state = session->state();
  (void)readEpoch(*session, 3);
  ASSERT_TRUE(session->setTransfer("resampled"));
  ASSERT_TRUE(session->restore(state));
  const Epoch rest = readEpoch(*session);
  found.samples.insert(found.samples.end(), rest.samples.begin(), rest.samples.end());
  EXPECT_EQ(found.samples, expected.samples);
  ASSERT_TRUE(session->setTransfer("pixels"));
  ASSERT_TRUE(session->start(0));
  EXPECT_EQ(readEpoch(*session).samples, expected.samples);
}

TEST(Transfer, KeepsTheRowsThatTheCallerGave) {
  const MemoryTable table(40);
  const Levels levels(memoryPipeline());
  FakeDriver driver(levels.pixels.driver(3));
  SessionOptions options = table.options();
  options.callerOrders = true;
  auto session = std::move(*levels.open(driver, options));
  for (int64_t first = 0; first < 24; first += 4)
    ASSERT_TRUE(session->giveRows({first, first + 1, first + 2, first + 3}));
  ASSERT_TRUE(session->giveRows({}));
  std::vector<int64_t> rows;
  for (int i = 0; i < 6; ++i) {
    if (i == 1 || i == 4)
      ASSERT_TRUE(session->setTransfer(names[i / 2 + 1 > 2 ? 2 : i / 2 + 1]));
    auto batch = session->next();
    ASSERT_TRUE(batch) << batch.error().message;
    ASSERT_TRUE(*batch);
    rows.insert(rows.end(), (*batch)->rows().begin(), (*batch)->rows().end());
  }
  for (int64_t row = 0; row < 24; ++row)
    EXPECT_EQ(rows[size_t(row)], row);
  auto end = session->next();
  ASSERT_TRUE(end);
  EXPECT_FALSE(*end);
}

TEST(Transfer, DropsWhatIsInTheMakingWhereMemoryIsShort) {
  const MemoryTable table(37);
  SessionOptions options = table.options();
  options.last = LastBatch::Keep;
  auto host = std::move(*memoryPipeline().open(options));
  const std::vector<std::string> expected = twoEpochs(*host);
  const Levels levels(memoryPipeline());
  FakeDriver driver(levels.pixels.driver(4));
  {
    auto measured = std::move(*levels.open(driver, options));
    options.memoryBudget = measured->memory().fixed * 3 / 2;
  }
  auto session = std::move(*levels.open(driver, options));
  int changes = 0;
  EXPECT_EQ(readChanging(*session, 5, changes), expected);
  EXPECT_GT(changes, 0);
}

TEST(Transfer, SaysWhichLevelsThereAre) {
  const MemoryTable table(40);
  auto alone = std::move(*memoryPipeline().open(table.options()));
  EXPECT_EQ(alone->setTransfer("final").error().message,
            "the program was compiled for one level of transfers; compile it for `all`");
  const Levels levels(memoryPipeline());
  FakeDriver driver(levels.pixels.driver(6));
  auto session = std::move(*levels.open(driver, table.options()));
  EXPECT_EQ(session->setTransfer("planes").error().message,
            "no level `planes` of transfers; there are `pixels`, `resampled`, `final`");
  EXPECT_EQ(session->transfer(), "pixels");
  session->cancel();
  EXPECT_EQ(session->setTransfer("final").error().code, Code::Cancelled);
}

TEST(Transfer, EndsInTheMiddleOfAChange) {
  const MemoryTable table(400);
  const Levels levels(memoryPipeline());
  for (uint64_t seed = 0; seed < 10; ++seed) {
    FakeDriver driver(levels.pixels.driver(seed));
    {
      auto session = std::move(*levels.open(driver, table.options()));
      std::thread other([&] {
        for (int i = 0; i < 20; ++i) {
          (void)session->state();
          (void)session->statistics();
          (void)session->transfer();
        }
        session->cancel();
      });
      for (int i = 0; i < 40; ++i) {
        (void)session->setTransfer(names[i % 3]);
        auto batch = session->next();
        if (!batch) {
          EXPECT_EQ(batch.error().code, Code::Cancelled);
          break;
        }
      }
      other.join();
    }
    ASSERT_EQ(driver.left(), "");
  }
}

bool hasNoHash(const std::vector<std::string> &samples) {
  return std::any_of(samples.begin(), samples.end(), [](const std::string &sample) {
    return sample.size() > 2 && sample.substr(sample.size() - 2) == " 0";
  });
}

/// Any call of the driver's may fail during a change: the session then stays as it was.
TEST(Transfer, AChangeThatFailsLeavesTheLevelBefore) {
  const MemoryTable table(40);
  const Levels levels(memoryPipeline(), true);
  auto host = std::move(*memoryPipeline().open(table.options()));
  const Epoch expected = readEpoch(*host);
  int failed = 0;
  for (const char *function : {"moduleLoadData", "moduleGetFunction", "memAlloc", "memHostAlloc",
                               "streamCreateWithPriority", "eventCreate"})
    for (int call = 0; call < 4; ++call) {
      FakeDriver driver(levels.pixels.driver(1));
      {
        auto session = std::move(*levels.open(driver, table.options()));
        ASSERT_TRUE(session->setTransfer("final"));
        Epoch found = readEpoch(*session, 3);
        driver.fail(function, driver.calls()[function] + call, cuda::outOfMemory);
        const Status status = session->setTransfer("resampled");
        EXPECT_EQ(session->transfer(), status ? "resampled" : "final");
        failed += !status;
        const Epoch rest = readEpoch(*session);
        found.samples.insert(found.samples.end(), rest.samples.begin(), rest.samples.end());
        // A call that fails behind the change fails a batch, or a copy for a hash, and says so.
        const bool isSaid = status && (!rest.error.empty() || hasNoHash(found.samples));
        EXPECT_TRUE(isSaid || found.samples == expected.samples) << function << " " << call;
      }
      EXPECT_EQ(driver.left(), "") << function << " " << call;
      EXPECT_EQ(driver.fault(), "") << function << " " << call;
    }
  EXPECT_GT(failed, 3);
}

} // namespace
} // namespace penstock::test
