// SPDX-License-Identifier: Apache-2.0
#include "test/unit/sched/Pipelines.h"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

namespace penstock::test {

namespace {

int64_t threadCount() {
  int64_t count = 0;
  for ([[maybe_unused]] const auto &entry : std::filesystem::directory_iterator("/proc/self/task"))
    ++count;
  return count;
}

/// The kernel may list a joined thread for a moment longer.
bool threadsAre(int64_t wanted) {
  for (int i = 0; i < 2000; ++i) {
    if (threadCount() <= wanted)
      return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

/// Cancels a session when it is looked at for the `at`-th time: between any two
/// steps of the work, on the thread that does it.
class TriggerClock final : public Clock {
public:
  explicit TriggerClock(int64_t at) : at(at) {}
  int64_t nowNs() const override {
    const int64_t look = ++looks;
    if (look == at)
      if (Session *target = session.load())
        target->cancel();
    return look;
  }
  std::atomic<Session *> session{nullptr};
  mutable std::atomic<int64_t> looks{0};

private:
  int64_t at;
};

TEST(Cancel, AtEveryPointLeavesNoThread) {
  MemoryTable table(64);
  FakeFileSystem files;
  fillFolder(files, 16);
  files.addFile("/data/cat/a.jpg", "damaged");
  const int64_t threads = threadCount();
  for (int kind : {0, 1})
    for (int64_t at = 1; at < 150; ++at) {
      TriggerClock clock(at);
      SessionOptions options = kind ? folderOptions(files) : table.options();
      options.clock = &clock;
      auto session = (kind ? folderPipeline() : memoryPipeline()).open(options);
      ASSERT_TRUE(session);
      clock.session = session->get();
      Result<BatchPtr> batch = BatchPtr();
      do
        batch = (*session)->next();
      while (batch && clock.looks < 2000);
      ASSERT_FALSE(batch);
      EXPECT_EQ(batch.error().code, Code::Cancelled);
      EXPECT_EQ(batch.error().message, "the session was cancelled");
      auto sample = (*session)->sample(0, 0);
      ASSERT_FALSE(sample);
      EXPECT_EQ(sample.error().code, Code::Cancelled);
      clock.session = nullptr;
    }
  EXPECT_TRUE(threadsAre(threads));
}

TEST(Cancel, ClosingAtAnyTimeLeavesNoThread) {
  FakeFileSystem files;
  fillFolder(files, 16);
  const int64_t threads = threadCount();
  for (int batches = 0; batches < 12; ++batches) {
    auto session = folderPipeline().open(folderOptions(files));
    ASSERT_TRUE(session);
    std::vector<BatchPtr> held;
    for (int i = 0; i < batches; ++i) {
      auto batch = (*session)->next();
      ASSERT_TRUE(batch);
      if (*batch && held.empty())
        held.push_back(std::move(*batch));
    }
    (*session)->close();
    (*session)->close();
    EXPECT_EQ((*session)->next().error().code, Code::Cancelled);
  }
  EXPECT_TRUE(threadsAre(threads));
}

TEST(Cancel, DoesNotWaitForASlowFile) {
  FakeFileSystem files;
  fillFolder(files, 8);
  files.hold("/data/cat/a.jpg");
  auto session = folderPipeline().open(folderOptions(files));
  ASSERT_TRUE(session);
  std::thread other([&] {
    files.waitForHeldReaders(1);
    (*session)->cancel();
  });
  Result<BatchPtr> batch = BatchPtr();
  do
    batch = (*session)->next();
  while (batch);
  EXPECT_EQ(batch.error().code, Code::Cancelled);
  other.join();
  files.release("/data/cat/a.jpg");
}

/// Calls of a kernel that are under way, and that were stopped.
struct Calls {
  std::atomic<int> begun{0}, running{0}, stopped{0};
};

/// A pipeline whose kernel goes on until it is asked to stop, but for the first calls.
Pipeline endlessPipeline(Calls &calls, int first = 0) {
  Pipeline p = memoryPipeline();
  static Calls *counted;
  static int ending;
  counted = &calls;
  ending = first;
  p.code[size_t(p.plan.steps[0]->kernel)] = [](pst_kernel_args *args) -> int32_t {
    if (counted->begun++ < ending)
      return 0;
    ++counted->running;
    while (!__atomic_load_n(args->stop, __ATOMIC_RELAXED))
      std::this_thread::yield();
    ++counted->stopped;
    --counted->running;
    return PST_KERNEL_STOPPED;
  };
  return p;
}

void waitFor(const std::atomic<int> &calls) {
  while (calls == 0)
    std::this_thread::yield();
}

// A stopped sample is neither bad nor delivered.
TEST(Cancel, StopsKernelsThatRun) {
  const int64_t threads = threadCount();
  MemoryTable table(40);
  Calls calls;
  Pipeline pipeline = endlessPipeline(calls);
  {
    auto session = pipeline.open(table.options());
    ASSERT_TRUE(session);
    std::thread other([&] {
      waitFor(calls.running);
      (*session)->cancel();
    });
    auto batch = (*session)->next();
    ASSERT_FALSE(batch);
    EXPECT_EQ(batch.error().code, Code::Cancelled);
    other.join();
    (*session)->close();
    EXPECT_EQ(calls.running, 0);
    EXPECT_TRUE((*session)->badSamples().empty());
    EXPECT_EQ((*session)->statistics().samples, 0u);
  }
  EXPECT_TRUE(threadsAre(threads));
}

TEST(Cancel, StopsASingleSample) {
  MemoryTable table(40);
  Calls calls;
  auto session = endlessPipeline(calls).open(table.options());
  ASSERT_TRUE(session);
  std::thread other([&] {
    waitFor(calls.running);
    (*session)->cancel();
  });
  auto sample = (*session)->sample(0, 3);
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().message, "the session was cancelled");
  other.join();
}

// Batches that run ahead are dropped, and do not hold up the next ones.
TEST(Cancel, ARestoreStopsKernelsThatRun) {
  MemoryTable table(40);
  Calls calls;
  SessionOptions options = table.options();
  options.threads = 1; // or the calls that end may be the second batch's
  auto session = endlessPipeline(calls, 4).open(options);
  ASSERT_TRUE(session);
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  waitFor(calls.running);
  ASSERT_TRUE((*session)->restore((*session)->state()));
  waitFor(calls.stopped);
  (*session)->close();
  EXPECT_EQ(calls.running, 0);
  EXPECT_TRUE((*session)->badSamples().empty());
}

TEST(Cancel, RestoringInMidFlightGivesTheSameSamples) {
  MemoryTable table(40);
  Pipeline pipeline = memoryPipeline();
  auto session = pipeline.open(table.options());
  ASSERT_TRUE(session);
  const std::string begin = (*session)->state();
  const std::vector<std::string> expected = readEpoch(**session).samples;
  for (int64_t batches = 0; batches < 10; ++batches) {
    ASSERT_TRUE((*session)->restore(begin));
    readEpoch(**session, batches);
    ASSERT_TRUE((*session)->restore(begin));
    EXPECT_EQ(readEpoch(**session).samples, expected);
  }
}

TEST(Cancel, HeldBatchesDoNotStopARestore) {
  MemoryTable table(40);
  SessionOptions options = table.options();
  options.prefetch = 1;
  auto session = memoryPipeline().open(options);
  ASSERT_TRUE(session);
  auto held = (*session)->next();
  ASSERT_TRUE(held && *held);
  ASSERT_TRUE((*session)->restore((*session)->state()));
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  EXPECT_EQ((*batch)->positions()[0], 4);
}

TEST(Cancel, BatchesMayBeReleasedOnAnyThread) {
  MemoryTable table(400);
  auto session = memoryPipeline().open(table.options());
  ASSERT_TRUE(session);
  int64_t seen = 0;
  for (;;) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch);
    if (!*batch)
      break;
    ++seen;
    std::thread([owned = std::move(*batch)]() mutable { owned.reset(); }).join();
  }
  EXPECT_EQ(seen, 100);
}

} // namespace

} // namespace penstock::test
