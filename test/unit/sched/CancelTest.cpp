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
