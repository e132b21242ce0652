// SPDX-License-Identifier: Apache-2.0
#include "runtime/abi/random.h"
#include "runtime/media/jpeg/CheckpointBuilder.h"
#include "test/unit/sched/Pipelines.h"

#include <algorithm>
#include <set>

namespace penstock::test {

namespace {

int64_t int64At(const OutputView &view, int64_t slot) {
  int64_t value;
  std::memcpy(&value, static_cast<const char *>(view.data) + slot * view.strides[0], 8);
  return value;
}

TEST(Session, DeliversEveryRowOnce) {
  MemoryTable table(22);
  Pipeline pipeline = memoryPipeline();
  auto session = pipeline.open(table.options());
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ((*session)->batchesPerEpoch(), 5);
  EXPECT_EQ((*session)->samplesPerEpoch(), 20);
  std::set<int64_t> seen;
  for (int i = 0; i < 5; ++i) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch) << batch.error().message;
    ASSERT_NE(*batch, nullptr);
    const auto &outputs = (*batch)->outputs();
    ASSERT_EQ(outputs.size(), 2u);
    EXPECT_EQ(outputs[0].name, "noise");
    EXPECT_EQ(outputs[0].shape, (std::vector<int64_t>{4, 3}));
    EXPECT_EQ(outputs[0].strides, (std::vector<int64_t>{12, 4}));
    for (int64_t slot = 0; slot < 4; ++slot) {
      const int64_t value = int64At(outputs[1], slot);
      EXPECT_EQ(value, 100 + (*batch)->rows()[size_t(slot)]);
      EXPECT_EQ((*batch)->positions()[size_t(slot)], i * 4 + slot);
      EXPECT_TRUE(seen.insert(value).second);
    }
  }
  auto end = (*session)->next();
  ASSERT_TRUE(end);
  EXPECT_EQ(*end, nullptr);
  EXPECT_EQ((*session)->epoch(), 1u);
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  EXPECT_EQ((*batch)->epoch(), 1u);
}

TEST(Session, KernelsSeeTheirSampleAndDraw) {
  MemoryTable table(8);
  auto session = memoryPipeline(plan::Order::sequential).open(table.options());
  ASSERT_TRUE(session);
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  for (int64_t slot = 0; slot < 4; ++slot) {
    const random::Key key{7, uint64_t(slot), 0, 0};
    const int64_t draw = random::integer(random::bits(key, 77), 0, 1000);
    for (int i = 0; i < 3; ++i) {
      int32_t value;
      std::memcpy(&value,
                  static_cast<const char *>((*batch)->outputs()[0].data) + slot * 12 + i * 4, 4);
      EXPECT_EQ(value, draw + uint8_t(slot * 7 + i));
    }
  }
}

TEST(Session, NothingDependsOnThreadsAndPrefetch) {
  MemoryTable table(103);
  FakeFileSystem files;
  fillFolder(files, 23);
  Pipeline memory = memoryPipeline(), folder = folderPipeline();
  std::vector<std::string> first[2];
  for (int threads = 1; threads <= 4; ++threads)
    for (int prefetch = 1; prefetch <= 4; ++prefetch)
      for (int kind : {0, 1}) {
        SessionOptions options = kind ? folderOptions(files) : table.options();
        options.threads = threads;
        options.prefetch = prefetch;
        auto session = (kind ? folder : memory).open(options);
        ASSERT_TRUE(session) << session.error().message;
        std::vector<std::string> samples;
        for (int epoch = 0; epoch < 2; ++epoch) {
          Epoch read = readEpoch(**session);
          ASSERT_EQ(read.error, "");
          samples.insert(samples.end(), read.samples.begin(), read.samples.end());
        }
        EXPECT_EQ(samples.size(), kind ? 40u : 200u);
        if (first[kind].empty())
          first[kind] = samples;
        EXPECT_EQ(samples, first[kind]);
      }
}

TEST(Session, RanksShareAnEpoch) {
  MemoryTable table(50);
  Pipeline pipeline = memoryPipeline();
  pipeline.plan.batch->size = 8;
  pipeline.plan.batch->global = true;
  pipeline.plan.batch->last = plan::Last::keep;
  std::vector<std::string> whole;
  for (uint32_t world : {1u, 2u, 4u}) {
    std::vector<std::string> samples;
    for (uint32_t rank = 0; rank < world; ++rank) {
      SessionOptions options = table.options();
      options.rank = rank;
      options.world = world;
      auto session = pipeline.open(options);
      ASSERT_TRUE(session) << session.error().message;
      EXPECT_EQ((*session)->batchSize(), 8 / int64_t(world));
      Epoch read = readEpoch(**session);
      samples.insert(samples.end(), read.samples.begin(), read.samples.end());
    }
    std::sort(samples.begin(), samples.end());
    EXPECT_EQ(samples.size(), 50u);
    if (whole.empty())
      whole = samples;
    EXPECT_EQ(samples, whole);
  }
}

TEST(Session, GoesOnWhereAnotherStopped) {
  MemoryTable table(97);
  Pipeline pipeline = memoryPipeline();
  pipeline.plan.batch->size = 12;
  pipeline.plan.batch->global = true;
  pipeline.plan.batch->last = plan::Last::keep;
  auto original = pipeline.open(table.options());
  ASSERT_TRUE(original);
  readEpoch(**original, 3);
  const std::string state = (*original)->state();
  EXPECT_EQ(state,
            "penstock-state 1 pipeline=0000000000001234 seed=7 epoch=0 position=36 bad=0 table=97");
  std::vector<std::string> rest = readEpoch(**original).samples;
  std::vector<std::string> nextEpoch = readEpoch(**original).samples;
  rest.insert(rest.end(), nextEpoch.begin(), nextEpoch.end());
  std::sort(rest.begin(), rest.end());
  ASSERT_EQ(rest.size(), 97u + 61u);

  for (uint32_t world : {1u, 2u, 4u})
    for (int threads : {1, 3}) {
      std::vector<std::string> samples;
      for (uint32_t rank = 0; rank < world; ++rank) {
        SessionOptions options = table.options();
        options.rank = rank;
        options.world = world;
        options.threads = threads;
        options.prefetch = threads;
        auto session = pipeline.open(options);
        ASSERT_TRUE(session);
        readEpoch(**session, 1); // restoring drops what runs
        ASSERT_TRUE((*session)->restore(state));
        for (int epoch = 0; epoch < 2; ++epoch) {
          Epoch read = readEpoch(**session);
          samples.insert(samples.end(), read.samples.begin(), read.samples.end());
        }
      }
      std::sort(samples.begin(), samples.end());
      EXPECT_EQ(samples, rest);
    }
}

TEST(Session, RefusesStatesThatAreNotItsOwn) {
  MemoryTable table(8);
  auto session = memoryPipeline().open(table.options());
  ASSERT_TRUE(session);
  auto message = [&](const char *state) {
    Status status = (*session)->restore(state);
    return status ? std::string("accepted") : status.error().message;
  };
  EXPECT_EQ(message("hello"), "this is not the state of a session");
  EXPECT_EQ(message("penstock-state 1 pipeline=0000000000001234 seed=7 epoch=0 position=-4 bad=0"),
            "this is not the state of a session");
  EXPECT_EQ(message("penstock-state 1 pipeline=0000000000009999 seed=7 epoch=0 position=4 bad=0"),
            "the state is of another pipeline (0000000000009999) than `test` (0000000000001234)");
  EXPECT_EQ(message("penstock-state 1 pipeline=0000000000001234 seed=8 epoch=0 position=4 bad=0"),
            "the state is of a session with seed 8, this one has seed 7");
  EXPECT_EQ(message("penstock-state 1 pipeline=0000000000001234 seed=7 epoch=0 position=4 bad=0\n"),
            "accepted");
  EXPECT_EQ(readEpoch(**session).samples.size(), 4u);
  // The order of a table that has grown is another one; a whole epoch is one of its own.
  EXPECT_EQ(
      message("penstock-state 1 pipeline=0000000000001234 seed=7 epoch=0 position=4 bad=0 table=7"),
      "the state is of the midst of an epoch of a table of 7 rows, and this one has 8: its order "
      "is another one. Begin an epoch anew");
  EXPECT_EQ(
      message("penstock-state 1 pipeline=0000000000001234 seed=7 epoch=1 position=0 bad=0 table=7"),
      "accepted");
  EXPECT_EQ((*session)->state(),
            "penstock-state 1 pipeline=0000000000001234 seed=7 epoch=1 position=0 bad=0 table=8");
}

TEST(Session, SampleAloneEqualsTheSampleInItsBatch) {
  MemoryTable table(30);
  auto session = memoryPipeline().open(table.options());
  ASSERT_TRUE(session);
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  for (int64_t slot = 0; slot < 4; ++slot) {
    auto sample = (*session)->sample(0, slot);
    ASSERT_TRUE(sample) << sample.error().message;
    EXPECT_EQ(sample->contentHash, (*batch)->contentHash(slot));
    EXPECT_EQ(sample->row, (*batch)->rows()[size_t(slot)]);
    EXPECT_EQ(sample->name, "row " + std::to_string(sample->row));
    ASSERT_EQ(sample->draws.size(), 1u);
    EXPECT_EQ(sample->draws[0].path, "test/noise");
    const random::Key key{7, uint64_t(slot), 0, 0};
    EXPECT_EQ(sample->draws[0].bits, random::integer(random::bits(key, 77), 0, 1000));
    EXPECT_EQ(sample->outputs[0].shape, (std::vector<int64_t>{3}));
    EXPECT_TRUE(sample->outputs[1].shape.empty());
  }
  auto outside = (*session)->sample(0, 30);
  ASSERT_FALSE(outside);
  EXPECT_EQ(outside.error().message, "there is no position 30; an epoch has 30");
}

TEST(Session, DecodesTheRegionThatSetupAsksFor) {
  FakeFileSystem files;
  fillFolder(files, 8);
  auto session = folderPipeline().open(folderOptions(files));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ((*session)->tableLength(), 8);
  for (int i = 0; i < 2; ++i) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch);
    for (int64_t slot = 0; slot < 4; ++slot) {
      // Rows are cat a, c, e, g and then dog b, d, f, h.
      const int64_t row = (*batch)->rows()[size_t(slot)];
      const int64_t image = row < 4 ? 2 * row : 2 * (row - 4) + 1;
      auto *pixel = static_cast<const uint8_t *>((*batch)->outputs()[0].data) + slot * 3;
      EXPECT_NEAR(pixel[0], 10 * image, 2);
      EXPECT_NEAR(pixel[1], 255 - 10 * image, 2);
      EXPECT_NEAR(pixel[2], 100, 2);
      EXPECT_EQ(int64At((*batch)->outputs()[1], slot), row / 4);
    }
  }
  const Statistics numbers = (*session)->statistics();
  EXPECT_EQ(numbers.samples, 8u);
  EXPECT_EQ(numbers.batches, 2u);
  EXPECT_EQ(numbers[Stage::Decode].count, 8u);
  EXPECT_EQ(numbers[Stage::Fetch].count, 8u);
  EXPECT_EQ(numbers[Stage::Kernels].count, 8u);
  EXPECT_EQ(numbers.deliveredBytes, 8u * (3 + 8));
  EXPECT_GT(numbers.decodedBlocks, 0u);
  EXPECT_GT(numbers.fetchedBytes, 8u * 100);
}

TEST(Session, RefusesOptionsThatDoNotFit) {
  MemoryTable table(8);
  Pipeline pipeline = memoryPipeline();
  pipeline.param("strength", DType::f64, true);
  pipeline.plan.params[0]->slot = 12;
  auto message = [&](auto change) {
    SessionOptions options = table.options();
    options.params = {{"strength", 0.5}};
    change(options);
    auto session = pipeline.open(options);
    return session ? std::string("accepted") : session.error().message;
  };
  EXPECT_EQ(message([](auto &) {}), "accepted");
  EXPECT_EQ(message([](auto &o) { o.params = {{"strength", int64_t(1)}}; }), "accepted");
  EXPECT_EQ(message([](auto &o) { o.params.clear(); }), "parameter `strength` needs a value");
  EXPECT_EQ(message([](auto &o) { o.params = {{"strenth", 0.5}}; }),
            "pipeline `test` has no run-time parameter `strenth`");
  EXPECT_EQ(message([](auto &o) { o.params = {{"strength", std::string("a")}}; }),
            "parameter `strength` is of type f64, the value given is text");
  EXPECT_EQ(message([](auto &o) { o.rank = 2, o.world = 2; }), "rank 2 of 2; ranks count from 0");
  EXPECT_EQ(message([](auto &o) { o.prefetch = 0; }), "prefetch is 0; it is 1 to 1024 batches");
  EXPECT_EQ(message([](auto &o) { o.memory.pop_back(); }),
            "raw: column `pixels` has neither a file nor memory");
  EXPECT_EQ(message([](auto &o) { o.memory[1].extents[1] = 4; }),
            "raw: column `pixels` in memory has rows of u8[4], the pipeline expects u8[3]");
}

TEST(Session, MemoryIsOfOneTable) {
  MemoryTable table(8);
  Pipeline pipeline = memoryPipeline();
  pipeline.param("images", DType::text);
  pipeline.param("others", DType::text);
  plan::SourceT &other = Pipeline::add(pipeline.plan.sources);
  other.kind = "raw";
  other.columns.push_back(
      std::make_unique<plan::ColumnT>(*pipeline.plan.sources[0]->columns.back()));
  std::vector<plan::ArgumentT *> files;
  for (const auto &source : pipeline.plan.sources) {
    files.push_back(&Pipeline::add(source->arguments));
    files.back()->name = "pixels";
    files.back()->param = int(files.size()) - 1;
  }
  auto message = [&] {
    auto session = pipeline.open(table.options());
    return session ? std::string("accepted") : session.error().message;
  };
  EXPECT_EQ(message(),
            "raw: two tables have a column `pixels`, and memory for it is given by its name; hint: "
            "give that of each by the name of its file's parameter, `images` and `others`");
  files[1]->param = 0; // beside another column, say
  EXPECT_EQ(message(), "accepted");
  files[1]->param = 1;
  other.columns.back()->name = files[1]->name = "mask";
  EXPECT_EQ(message(), "raw: column `mask` has neither a file nor memory");
  other.columns.back()->name = files[1]->name = "pixels";
  auto options = table.options();
  options.memory.push_back(options.memory[1]);
  options.memory[1].name = "images";
  options.memory[2].name = "others";
  auto session = pipeline.open(options);
  EXPECT_TRUE(session) << session.error().message;
  options.memory[2].name = "more";
  session = pipeline.open(options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().message,
            "no `raw` table has a column `more` in memory, or its file from a parameter of that "
            "name; columns are `value`, `pixels`, `pixels`");
}

TEST(Session, ATableThatFillsNoBatchHasSamplesButNoBatches) {
  MemoryTable table(8);
  SessionOptions options = table.options();
  options.world = 4;
  auto refused = memoryPipeline().open(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message,
            "the table has 8 rows, which do not fill one batch of 16: make it smaller, or write "
            "`last keep`");
  options.samplesOnly = true;
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_TRUE((*session)->sample(0, 3));
  auto batch = (*session)->next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().message, "the session was opened for single samples only");
}

TEST(Session, GlobalBatchesMustBeShared) {
  MemoryTable table(8);
  Pipeline pipeline = memoryPipeline();
  pipeline.plan.batch->global = true;
  SessionOptions options = table.options();
  options.world = 3;
  auto session = pipeline.open(options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().message, "a batch of 4 samples cannot be shared evenly among 3 ranks");
}

TEST(Session, MemoryIsStatedAndWithinTheBudget) {
  MemoryTable table(64);
  SessionOptions options = table.options();
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  const MemoryReport report = (*session)->memory();
  EXPECT_EQ(report.parts[0].first, "batches");
  options.memoryBudget = report.fixed;
  EXPECT_TRUE(memoryPipeline().open(options));
  options.memoryBudget = report.fixed - 1;
  auto refused = memoryPipeline().open(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Limit);
  EXPECT_EQ(refused.error().message, "the session needs " + std::to_string(report.fixed) +
                                         " bytes of memory, the budget is " +
                                         std::to_string(report.fixed - 1) +
                                         ": lower the batch size (4) or prefetch (2)");
}

TEST(Session, CheckpointsInTheMakingAreStated) {
  FakeFileSystem files;
  fillFolder(files, 24);
  Pipeline pipeline = folderPipeline();
  SessionOptions options = folderOptions(files);
  options.cacheFolder = "/cache";
  const auto stated = [&] {
    auto session = pipeline.open(options);
    EXPECT_TRUE(session);
    for (const auto &[name, bytes] : (*session)->memory().parts)
      if (name == "checkpoints")
        return bytes;
    return UINT64_MAX;
  };
  EXPECT_EQ(stated(), 0u);
  plan::ArgumentT &build = Pipeline::add(pipeline.plan.sources[0]->arguments);
  build.name = "build_index";
  build.type = DType::boolean;
  build.integer = 1;
  EXPECT_EQ(stated(), CheckpointBuilder::partBytes);
}

TEST(Session, FetchedBytesAreBounded) {
  FakeFileSystem files;
  fillFolder(files, 24);
  uint64_t largest = 0;
  for (char name = 'a'; name < 'a' + 24; ++name)
    for (const char *folder : {"/data/cat/", "/data/dog/"})
      if (auto info = files.stat(std::string(folder) + name + ".jpg"))
        largest = std::max(largest, info->size);
  SessionOptions options = folderOptions(files);
  options.prefetch = 5;
  auto session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  const std::vector<std::string> expected = readEpoch(**session).samples;
  options.fetchMemory = 1;
  session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->memory().fetchLimit, 1u);
  options.fetchMemory = 0;
  for (auto [budget, limit] : {std::pair<uint64_t, uint64_t>(0, 1 << 30),
                               {uint64_t(4) << 30, 1 << 30},
                               {64 << 20, 64 << 20}}) {
    options.memoryBudget = budget;
    auto other = folderPipeline().open(options);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_EQ((*other)->memory().fetchLimit, limit);
  }
  EXPECT_EQ(readEpoch(**session).samples, expected);
  // The batch that is due, and nothing that fetching threads begin beside it.
  EXPECT_LE((*session)->statistics().fetchedBytesHeld, 4 * largest);
}

TEST(Session, SaysWhenTheCallerHoldsAllBatches) {
  MemoryTable table(64);
  SessionOptions options = table.options();
  options.prefetch = 1;
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  std::vector<BatchPtr> held;
  for (int i = 0; i < 2; ++i) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch);
    held.push_back(std::move(*batch));
  }
  auto refused = (*session)->next();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::Limit);
  EXPECT_EQ(refused.error().message, "all 2 batches are held: release one, or raise prefetch");
  held.pop_back();
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  EXPECT_EQ((*batch)->positions()[0], 8);
}

TEST(Session, BatchesOutliveTheirSession) {
  MemoryTable table(8);
  auto session = memoryPipeline().open(table.options());
  ASSERT_TRUE(session);
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  const uint64_t hash = (*batch)->contentHash(1);
  session->reset();
  EXPECT_EQ((*batch)->contentHash(1), hash);
}

} // namespace

} // namespace penstock::test
