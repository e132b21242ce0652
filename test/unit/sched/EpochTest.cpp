// SPDX-License-Identifier: Apache-2.0
#include "test/unit/sched/Pipelines.h"

#include <atomic>
#include <set>
#include <thread>
#include <tuple>

namespace penstock::test {

namespace {

TEST(Epochs, AnyCanBeStartedAtAnyTime) {
  MemoryTable table(30);
  Pipeline pipeline = memoryPipeline();
  auto undisturbed = pipeline.open(table.options());
  ASSERT_TRUE(undisturbed);
  std::vector<std::vector<std::string>> epochs;
  for (int i = 0; i < 4; ++i)
    epochs.push_back(readEpoch(**undisturbed).samples);
  auto session = pipeline.open(table.options());
  ASSERT_TRUE(session);
  Session &s = **session;
  ASSERT_TRUE(s.start(2));
  EXPECT_EQ(s.epoch(), 2u);
  EXPECT_EQ(readEpoch(s).samples, epochs[2]);
  EXPECT_EQ(readEpoch(s, 3).samples.size(), 12u);
  EXPECT_EQ(s.position(), 12);
  for (uint32_t epoch : {3u, 0u, 0u, 1u}) { // left in the middle, done again, in order
    ASSERT_TRUE(s.start(epoch));
    EXPECT_EQ(readEpoch(s).samples, epochs[epoch]) << epoch;
  }
  EXPECT_EQ(readEpoch(s).samples, epochs[2]);
  // Left behind its last batch, before its end was said.
  ASSERT_TRUE(s.start(0));
  EXPECT_EQ(readEpoch(s, 7).samples, epochs[0]);
  ASSERT_TRUE(s.start(1));
  EXPECT_EQ(readEpoch(s).samples, epochs[1]);
}

TEST(Epochs, StartingTheNextOneKeepsWhatWasDoneAhead) {
  FakeFileSystem files;
  fillFolder(files, 24);
  SessionOptions options = folderOptions(files);
  options.prefetch = 1;
  options.fetchAhead = 64; // 16 batches of 4; an epoch has 6
  auto session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  const uint64_t opened = files.filesRead();
  EXPECT_EQ(readEpoch(**session).samples.size(), 24u);
  while (files.filesRead() < opened + 24 + 17 * 4)
    std::this_thread::yield();
  ASSERT_TRUE((*session)->start(1));
  EXPECT_EQ(readEpoch(**session).samples.size(), 24u);
  EXPECT_LE(files.filesRead(), opened + 24 + 17 * 4 + 24);
}

/// A session with a parameter that no kernel reads.
Result<std::unique_ptr<Session>> withStrength(MemoryTable &table) {
  Pipeline pipeline = memoryPipeline();
  pipeline.param("strength", DType::f64, true);
  pipeline.plan.params[0]->slot = 12;
  SessionOptions options = table.options();
  options.params = {{"strength", 0.5}};
  return pipeline.open(options);
}

TEST(Epochs, OtherThreadsAskWhileParametersChange) {
  MemoryTable table(32);
  auto session = withStrength(table);
  ASSERT_TRUE(session);
  std::atomic<bool> isDone = false;
  std::atomic<int> asked = 0;
  std::thread other([&] {
    while (!isDone) {
      asked += (*session)->batchesPerEpoch() == 8 && (*session)->batchSize() == 4 &&
               (*session)->samplesPerEpoch() == 32 && (*session)->memory().fixed > 0;
    }
  });
  for (uint32_t i = 0; i < 50 || asked == 0; ++i)
    ASSERT_TRUE((*session)->start(i, {{"strength", 0.25 + i}}));
  isDone = true;
  other.join();
}

TEST(Epochs, ParametersChangeWithoutClosing) {
  MemoryTable table(32);
  auto session = withStrength(table);
  ASSERT_TRUE(session);
  const auto first = readEpoch(**session).samples;
  auto held = (*session)->next();
  ASSERT_TRUE(held && *held);
  ASSERT_TRUE((*session)->start(0, {{"strength", 0.75}}));
  EXPECT_EQ(readEpoch(**session).samples, first); // no kernel reads it
  EXPECT_EQ((*held)->epoch(), 1u);
  auto message = [&](std::vector<ParamValue> values) {
    Status status = (*session)->start(0, values);
    return status ? std::string("accepted") : status.error().message;
  };
  EXPECT_EQ(message({{"strenth", 0.5}}), "pipeline `test` has no run-time parameter `strenth`");
  EXPECT_EQ(message({{"strength", true}}),
            "parameter `strength` is of type f64, the value given is a bool");
  EXPECT_EQ(readEpoch(**session, 2).samples.size(), 8u);
}

TEST(Waiting, LooksWithoutWaitingAndCountsWhatItWaited) {
  FakeFileSystem files;
  fillFolder(files, 8);
  for (const char *name : {"/data/cat/a.jpg", "/data/cat/c.jpg", "/data/dog/b.jpg"})
    files.hold(name);
  SessionOptions options = folderOptions(files);
  auto session = folderPipeline().open(options);
  ASSERT_TRUE(session);
  int timeouts = 0;
  BatchPtr first;
  for (int64_t limit : {int64_t(0), int64_t(1'000'000), int64_t(0)}) {
    auto taken = (*session)->nextWithin(limit);
    ASSERT_TRUE(taken);
    timeouts += taken->what == Session::Taken::Timeout;
    if (taken->batch)
      first = std::move(taken->batch);
  }
  EXPECT_GE(timeouts, 2); // one of two batches has no held file, at most
  for (const char *name : {"/data/cat/a.jpg", "/data/cat/c.jpg", "/data/dog/b.jpg"})
    files.release(name);
  const size_t before = first ? 1 : 0;
  EXPECT_EQ(readEpoch(**session).samples.size(), 8 - 4 * before);
  const Statistics numbers = (*session)->statistics();
  EXPECT_GE(numbers.lateBatches, 1u);
  EXPECT_GT(numbers.longestWaitNs, 0);
  EXPECT_LE(numbers.lastWaitNs, numbers.longestWaitNs);
  EXPECT_LE(numbers.longestWaitNs, numbers[Stage::Wait].busyNs);
}

TEST(HeldBatches, TakeMemoryUpToTheBudgetAndUseItAgain) {
  MemoryTable table(400);
  SessionOptions options = table.options();
  options.prefetch = 1;
  options.growHeld = true;
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<BatchPtr> held;
    std::set<const void *> memory;
    for (int i = 0; i < 20; ++i) {
      auto batch = (*session)->next();
      ASSERT_TRUE(batch && *batch) << batch.error().message;
      memory.insert((*batch)->outputs()[0].data);
      held.push_back(std::move(*batch));
    }
    EXPECT_EQ(memory.size(), 20u);
    EXPECT_LE((*session)->statistics().blocks, 21);
  }
  // Room for two more than there are.
  const MemoryReport report = (*session)->memory();
  options.memoryBudget = report.fixed + 2 * (report.parts[0].second / 2);
  session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  std::vector<BatchPtr> held;
  Result<BatchPtr> batch = BatchPtr();
  while ((batch = (*session)->next()))
    held.push_back(std::move(*batch));
  EXPECT_EQ(held.size(), 4u);
  EXPECT_EQ(batch.error().message, "all 4 batches that the memory budget allows are held: release "
                                   "one, or raise the budget");
  held.pop_back();
  EXPECT_TRUE((*session)->next());
}

/// The rows of all ranks, by position, as DistributedSampler deals them out.
std::vector<int64_t> distributed(const std::vector<int64_t> &rows, int64_t world) {
  std::vector<int64_t> all = rows;
  for (size_t i = 0; all.size() % size_t(world); ++i)
    all.push_back(rows[i % rows.size()]);
  return all;
}

TEST(LastBatch, PadsAsDistributedSamplerDoes) {
  for (int64_t length : {1, 3, 10, 12, 31})
    for (uint32_t world : {1u, 2u, 3u, 8u})
      for (plan::Order order : {plan::Order::sequential, plan::Order::shuffled}) {
        MemoryTable table(length);
        SessionOptions options = table.options();
        options.threads = 1;
        std::vector<int64_t> whole(size_t(length), -1);
        options.last = LastBatch::Keep;
        auto alone = memoryPipeline(order).open(options);
        ASSERT_TRUE(alone);
        for (int64_t at = 0; at < length; ++at)
          whole[size_t(at)] = (*alone)->sample(0, at)->row;
        const std::vector<int64_t> expected = distributed(whole, world);
        options.last = LastBatch::Pad;
        options.world = world;
        for (options.rank = 0; options.rank < world; ++options.rank) {
          auto session = memoryPipeline(order).open(options);
          ASSERT_TRUE(session) << session.error().message;
          EXPECT_EQ((*session)->samplesPerEpoch(), int64_t(expected.size()) / world);
          int64_t batches = 0, samples = 0;
          for (;; ++batches) {
            auto batch = (*session)->next();
            ASSERT_TRUE(batch);
            if (!*batch)
              break;
            EXPECT_GT((*batch)->count(), 0);
            for (int64_t slot = 0; slot < (*batch)->count(); ++slot, ++samples) {
              const int64_t position = (*batch)->positions()[size_t(slot)];
              EXPECT_EQ(position, samples * world + options.rank);
              EXPECT_EQ((*batch)->rows()[size_t(slot)], expected[size_t(position)]);
              EXPECT_EQ((*session)->sample(0, position)->contentHash, (*batch)->contentHash(slot));
            }
          }
          EXPECT_EQ(samples, int64_t(expected.size()) / world);
          EXPECT_EQ(batches, (*session)->batchesPerEpoch());
        }
        options.rank = 0;
      }
}

TEST(LastBatch, IsWhatThePlanSays) {
  MemoryTable table(13);
  SessionOptions options = table.options();
  options.world = 2;
  const std::tuple<plan::Last, size_t, size_t> cases[] = {
      {plan::Last::drop, 6, 6}, {plan::Last::keep, 7, 6}, {plan::Last::pad, 7, 7}};
  for (const auto &[last, first, second] : cases)
    for (options.rank = 0; options.rank < 2; ++options.rank) {
      Pipeline p = memoryPipeline();
      p.plan.batch->size = 4;
      p.plan.batch->global = true;
      p.plan.batch->last = last;
      auto session = p.open(options);
      ASSERT_TRUE(session) << session.error().message;
      EXPECT_EQ(readEpoch(**session).samples.size(), options.rank ? second : first);
    }
}

TEST(LastBatch, PadsWhatIsLeftWhereMoreRanksGoOn) {
  MemoryTable table(13);
  SessionOptions options = table.options();
  options.last = LastBatch::Pad;
  auto first = memoryPipeline().open(options);
  ASSERT_TRUE(first);
  readEpoch(**first, 1);
  options.world = 4; // nine positions are left
  for (options.rank = 0; options.rank < 4; ++options.rank) {
    auto session = memoryPipeline().open(options);
    ASSERT_TRUE(session);
    ASSERT_TRUE((*session)->restore((*first)->state()));
    EXPECT_EQ(readEpoch(**session).samples.size(), 3u);
  }
}

TEST(Names, OfClassesAndRows) {
  FakeFileSystem files;
  fillFolder(files, 4);
  auto session = folderPipeline().open(folderOptions(files));
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->classNames(), (std::vector<std::string>{"cat", "dog"}));
  auto text = [&](int64_t row, const char *column) {
    auto found = (*session)->rowText(row, column);
    return found ? *found : found.error().message;
  };
  EXPECT_EQ(text(1, "name"), "cat/c.jpg");
  EXPECT_EQ(text(3, "name"), "dog/d.jpg");
  EXPECT_EQ(text(4, "name"), "row 4 of a table of 4");
  EXPECT_EQ(text(0, "label"), "the table has no column `label` of text");
  EXPECT_EQ(text(0, "nam"), "the table has no column `nam` of text");
}

TEST(GivenRows, ComeAsTheyAreGiven) {
  MemoryTable table(10);
  SessionOptions options = table.options();
  options.callerOrders = true;
  options.rank = 1;
  options.world = 2;
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ((*session)->batchesPerEpoch(), -1);
  auto what = [&] { return (*session)->nextWithin(-1)->what; };
  EXPECT_EQ(what(), Session::Taken::NoRows);
  ASSERT_TRUE((*session)->giveRows({7, 7, 2}));
  ASSERT_TRUE((*session)->giveRows({9}));
  ASSERT_TRUE((*session)->giveRows({}));
  ASSERT_TRUE((*session)->giveRows({}));
  ASSERT_TRUE((*session)->giveRows({0, 1, 2, 3}));
  auto taken = (*session)->nextWithin(-1);
  ASSERT_TRUE(taken && taken->batch);
  EXPECT_EQ(taken->batch->rows(), (std::vector<int64_t>{7, 7, 2}));
  EXPECT_EQ(taken->batch->positions(), (std::vector<int64_t>{1, 3, 5}));
  EXPECT_EQ((*session)->state(), "penstock-state 1 pipeline=0000000000001234 seed=7 epoch=0 "
                                 "position=6 bad=0 rows=9;;;0,1,2,3;");
  const std::string state = (*session)->state();
  taken = (*session)->nextWithin(-1);
  ASSERT_TRUE(taken && taken->batch);
  EXPECT_EQ(taken->batch->positions(), (std::vector<int64_t>{7}));
  EXPECT_EQ(what(), Session::Taken::EndOfEpoch);
  EXPECT_EQ(what(), Session::Taken::EndOfEpoch); // an epoch without rows
  taken = (*session)->nextWithin(-1);
  ASSERT_TRUE(taken && taken->batch);
  EXPECT_EQ(taken->batch->epoch(), 2u);
  EXPECT_EQ(taken->batch->positions(), (std::vector<int64_t>{1, 3, 5, 7}));
  EXPECT_EQ(what(), Session::Taken::NoRows);

  auto message = [&](std::vector<int64_t> rows) {
    return (*session)->giveRows(rows).error().message;
  };
  EXPECT_EQ(message({0, 1, 2, 3, 4}), "a batch of 5 rows, more than the batch size 4");
  EXPECT_EQ(message({10}), "row 10 of a table of 10");
  EXPECT_EQ(message({-1}), "row -1 of a table of 10");
  EXPECT_EQ((*session)->sample(0, 0).error().message,
            "rows come from the caller, so that no position has a row of its own");

  ASSERT_TRUE((*session)->restore(state));
  taken = (*session)->nextWithin(-1);
  ASSERT_TRUE(taken && taken->batch);
  EXPECT_EQ(taken->batch->rows(), (std::vector<int64_t>{9}));
  ASSERT_TRUE((*session)->start(5));
  EXPECT_EQ(what(), Session::Taken::NoRows); // a new start drops them

  auto plain = memoryPipeline().open(table.options());
  EXPECT_EQ((*plain)->restore(state).error().message,
            "the state is of a session whose rows came from the caller");
  EXPECT_EQ((*plain)->giveRows({1}).error().message,
            "this session's rows come from the pipeline's order");
  for (const char *bad : {"rows=1", "rows=1,;", "rows=,;", "rows=-1;", "rows=1;x", "rows=12;",
                          "rows=1,2,3,4,5;", "rows=1 ;"})
    EXPECT_FALSE((*session)->restore("penstock-state 1 pipeline=0000000000001234 seed=7 epoch=0 "
                                     "position=6 bad=0 " +
                                     std::string(bad)))
        << bad;
}

/// A sampler of the caller's: draws rows, without end where `length` is negative.
struct Sampler {
  uint64_t drawn = 0;
  int64_t length = -1;
  int64_t shortEach = 0; ///< every so many batches one is short
  int64_t asked = 0;

  /// Weighted, with repeats: small rows come most.
  int64_t row() {
    const double at = double((++drawn * 0x9E3779B97F4A7C15ull) >> 40) / double(1 << 24);
    return int64_t(10 * at * at);
  }
  int64_t fill(int64_t *rows, int64_t capacity) {
    int64_t count = shortEach && ++asked % shortEach == 0 ? 1 : capacity;
    if (length >= 0)
      count = std::min<int64_t>(count, length - int64_t(drawn % uint64_t(length + 1)));
    for (int64_t i = 0; i < count; ++i)
      rows[i] = row();
    if (length >= 0 && count == 0)
      ++drawn; // the end is a draw, too
    return count;
  }
};

TEST(GivenRows, AreAskedForLazilyAndResumed) {
  MemoryTable table(10);
  for (int64_t length : {int64_t(-1), int64_t(37)})
    for (int64_t shortest : {int64_t(0), int64_t(3)})
      for (bool again : {false, true}) {
        if (again && (length >= 0 || shortest)) // counted by rows alone
          continue;
        Sampler sampler, other;
        sampler.length = other.length = length;
        sampler.shortEach = other.shortEach = shortest;
        SessionOptions options = table.options();
        options.askAgain = again;
        options.nextRows = [&sampler](uint32_t, int64_t *rows, int64_t capacity) {
          return sampler.fill(rows, capacity);
        };
        auto session = memoryPipeline().open(options);
        ASSERT_TRUE(session);
        EXPECT_EQ(sampler.drawn, 0u);
        auto read = [](Session &s, int batches) {
          std::vector<std::string> lines;
          while (batches > 0) {
            auto taken = s.nextWithin(-1);
            EXPECT_TRUE(taken) << taken.error().message;
            if (!taken)
              break;
            lines.push_back("end");
            if (taken->what != Session::Taken::Batch)
              continue;
            lines.pop_back();
            --batches;
            for (int64_t slot = 0; slot < taken->batch->count(); ++slot)
              lines.push_back(line(*taken->batch, slot));
          }
          return lines;
        };
        read(**session, 11);
        EXPECT_LE(sampler.drawn, 4u * (11 + 2 + 1)); // two ahead, and one that waits
        const std::string state = (*session)->state();
        // The caller's sampler goes on where it was asked last, or where rows were delivered.
        other.drawn = again ? uint64_t((*session)->position()) : sampler.drawn;
        other.asked = sampler.asked;
        const auto expected = read(**session, 20);
        options.nextRows = [&other](uint32_t, int64_t *rows, int64_t capacity) {
          return other.fill(rows, capacity);
        };
        auto resumed = memoryPipeline().open(options);
        ASSERT_TRUE(resumed);
        ASSERT_TRUE((*resumed)->restore(state));
        EXPECT_EQ(read(**resumed, 20), expected);
      }
}

// Work done ahead for an epoch is of rows that the caller may not give again.
TEST(GivenRows, OfAnEpochThatStartsAnewAreGivenAnew) {
  MemoryTable table(10);
  SessionOptions options = table.options();
  options.callerOrders = true;
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  for (const std::vector<int64_t> &rows : {std::vector<int64_t>{1}, {}, {3}})
    ASSERT_TRUE((*session)->giveRows(rows));
  EXPECT_EQ((*session)->nextWithin(-1)->batch->rows(), (std::vector<int64_t>{1}));
  EXPECT_EQ((*session)->nextWithin(-1)->what, Session::Taken::EndOfEpoch);
  ASSERT_TRUE((*session)->start(1));
  ASSERT_TRUE((*session)->giveRows({8}));
  const auto taken = (*session)->nextWithin(-1);
  ASSERT_TRUE(taken && taken->batch);
  EXPECT_EQ(taken->batch->rows(), (std::vector<int64_t>{8}));
}

TEST(GivenRows, AreNotKnownYetOrCannotBe) {
  MemoryTable table(10);
  SessionOptions options = table.options();
  int64_t answer = SessionOptions::rowsNotYet;
  std::set<uint32_t> epochs;
  options.nextRows = [&](uint32_t epoch, int64_t *rows, int64_t) {
    epochs.insert(epoch);
    rows[0] = answer == 1 ? 3 : 99;
    return answer == 2 ? 1 : answer;
  };
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->nextWithin(-1)->what, Session::Taken::NoRows);
  answer = -7;
  EXPECT_EQ((*session)->nextWithin(-1).error().message,
            "asked for at most 4 rows of epoch 0, the caller answered -7");
  answer = 5;
  EXPECT_FALSE((*session)->nextWithin(-1));
  answer = 2;
  EXPECT_EQ((*session)->nextWithin(-1).error().message, "row 99 of a table of 10");
  answer = 1;
  EXPECT_EQ((*session)->nextWithin(-1)->what, Session::Taken::Batch);
  answer = 0; // ends one epoch after the other, and is not asked without end
  while ((*session)->nextWithin(-1)->what == Session::Taken::Batch) {
  }
  EXPECT_EQ(epochs, (std::set<uint32_t>{0, 1}));
}

TEST(GivenRows, ThatFailLoseNoBatchBefore) {
  MemoryTable table(10);
  SessionOptions options = table.options();
  options.prefetch = 3;
  int calls = 0;
  options.nextRows = [&](uint32_t, int64_t *rows, int64_t) -> int64_t {
    rows[0] = ++calls;
    return calls == 3 || calls == 6 ? -7 : 1;
  };
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  const auto next = [&] {
    auto taken = (*session)->nextWithin(-1);
    return !taken ? "error" : taken->batch ? std::to_string(taken->batch->rows()[0]) : "no batch";
  };
  for (const char *wanted : {"1", "2", "error", "4", "5", "error", "7", "8", "9"})
    EXPECT_EQ(next(), wanted);
  ASSERT_TRUE((*session)->start(1));
  calls = 1;
  EXPECT_EQ(next(), "2"); // and an error of what was asked for ahead, which nobody is told
  ASSERT_TRUE((*session)->start(2));
  EXPECT_EQ(next(), "4");
}

} // namespace

} // namespace penstock::test
