#include "runtime/core/FakeFileSystem.h"
#include "runtime/core/Fetcher.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <future>
#include <latch>
#include <set>
#include <thread>

using namespace penstock::runtime;

namespace {

struct Fetch : testing::Test {
  FakeFileSystem files;
  std::unique_ptr<Fetcher> fetcher;

  void start(int threads, size_t capacity = 64) {
    auto made = makeThreadFetcher(files, {.threads = threads, .capacity = capacity});
    ASSERT_TRUE(made.ok()) << made.error().message;
    fetcher = std::move(*made);
  }
};

/// A request and what became of it.
struct Pending {
  Buffer buffer;
  std::promise<Fetched> promise;
  std::future<Fetched> result = promise.get_future();

  FetchRequest request(std::string path) {
    return {.path = std::move(path), .out = &buffer,
            .done = [this](Fetched fetched) { promise.set_value(std::move(fetched)); }};
  }
  std::string text() const {
    return {buffer.span().begin(), buffer.span().end()};
  }
  bool isCancelled() {
    Fetched fetched = result.get();
    return !fetched.status.ok() && fetched.status.error().code == Code::Cancelled;
  }
  bool isPending() const {
    return result.wait_for(std::chrono::seconds(0)) == std::future_status::timeout;
  }
};

TEST_F(Fetch, ReadsFiles) {
  start(3);
  std::vector<std::unique_ptr<Pending>> all;
  for (int i = 0; i < 200; ++i) {
    std::string path = "/" + std::to_string(i);
    files.addFile(path, "contents of " + path);
    all.push_back(std::make_unique<Pending>());
    ASSERT_TRUE(fetcher->submit(all.back()->request(path)).ok());
  }
  for (int i = 0; i < 200; ++i) {
    EXPECT_TRUE(all[size_t(i)]->result.get().status.ok());
    EXPECT_EQ(all[size_t(i)]->text(), "contents of /" + std::to_string(i));
  }
}

TEST_F(Fetch, ReportsErrors) {
  start(1);
  Pending missing, failing, large;
  files.addFile("/failing", "abc");
  files.setFaults("/failing", {.readErrno = EIO});
  files.addFile("/large", "abc");
  ASSERT_TRUE(fetcher->submit(missing.request("/none")).ok());
  ASSERT_TRUE(fetcher->submit(failing.request("/failing")).ok());
  FetchRequest request = large.request("/large");
  request.maxBytes = 2;
  ASSERT_TRUE(fetcher->submit(std::move(request)).ok());
  EXPECT_EQ(missing.result.get().status.error().code, Code::NotFound);
  EXPECT_EQ(failing.result.get().status.error().message,
            "cannot read /failing: Input/output error");
  EXPECT_EQ(large.result.get().status.error().code, Code::Limit);
}

TEST_F(Fetch, ASlowFileDoesNotHoldUpOthers) {
  files.addFile("/slow", "slow");
  files.addFile("/fast", "fast");
  files.hold("/slow");
  start(2);
  Pending slow, fast;
  ASSERT_TRUE(fetcher->submit(slow.request("/slow")).ok());
  files.waitForHeldReaders(1);
  ASSERT_TRUE(fetcher->submit(fast.request("/fast")).ok());
  EXPECT_TRUE(fast.result.get().status.ok());
  EXPECT_TRUE(slow.isPending());
  files.release("/slow");
  EXPECT_TRUE(slow.result.get().status.ok());
}

TEST_F(Fetch, TheQueueIsBounded) {
  files.addFile("/slow", "slow");
  files.hold("/slow");
  start(1, 2);
  Pending reading, queued[2], refused, waiting;
  ASSERT_TRUE(fetcher->submit(reading.request("/slow")).ok());
  files.waitForHeldReaders(1);
  for (Pending &pending : queued)
    ASSERT_TRUE(fetcher->submit(pending.request("/slow")).ok());
  FetchRequest request = refused.request("/slow");
  auto ticket = fetcher->trySubmit(request);
  ASSERT_TRUE(ticket.ok());
  EXPECT_EQ(*ticket, 0u);
  EXPECT_EQ(request.path, "/slow") << "a refused request is left alone";
  std::latch entered(1);
  std::thread submitter([&] {
    entered.count_down();
    EXPECT_TRUE(fetcher->submit(waiting.request("/slow")).ok());
  });
  entered.wait();
  EXPECT_TRUE(waiting.isPending());
  files.release("/slow");
  submitter.join();
  EXPECT_TRUE(waiting.result.get().status.ok());
}

TEST_F(Fetch, CancelTakesARequestOutOfTheQueue) {
  files.addFile("/slow", "slow");
  files.addFile("/next", "next");
  files.hold("/slow");
  start(1);
  Pending reading, queued;
  auto first = fetcher->submit(reading.request("/slow"));
  files.waitForHeldReaders(1);
  auto second = fetcher->submit(queued.request("/next"));
  EXPECT_TRUE(fetcher->cancel(*second));
  EXPECT_EQ(queued.result.get().status.error().message, "reading /next was cancelled");
  EXPECT_FALSE(fetcher->cancel(*second));
  EXPECT_FALSE(fetcher->cancel(*first)) << "it is being read";
  files.release("/slow");
  EXPECT_TRUE(reading.result.get().status.ok());
  EXPECT_FALSE(fetcher->cancel(*first));
  EXPECT_EQ(files.filesRead(), 1u);
}

TEST_F(Fetch, StopCancelsTheQueueAndWaitsForReaders) {
  files.addFile("/slow", "slow");
  files.hold("/slow");
  start(1, 2);
  Pending reading, queued[2], waiting, late;
  ASSERT_TRUE(fetcher->submit(reading.request("/slow")).ok());
  files.waitForHeldReaders(1);
  for (Pending &pending : queued)
    ASSERT_TRUE(fetcher->submit(pending.request("/slow")).ok());
  std::thread submitter([&] {
    auto ticket = fetcher->submit(waiting.request("/slow"));
    EXPECT_FALSE(ticket.ok());
  });
  std::thread stopper([&] { fetcher->stop(); });
  for (Pending &pending : queued)
    EXPECT_TRUE(pending.isCancelled());
  submitter.join();
  EXPECT_TRUE(reading.isPending()) << "stop() must wait for it";
  files.release("/slow");
  stopper.join();
  EXPECT_TRUE(reading.result.get().status.ok());
  EXPECT_EQ(fetcher->submit(late.request("/slow")).error().message, "reading was stopped");
  fetcher->stop();
}

TEST_F(Fetch, DestroyingAnIdleOneEndsItsThreads) {
  for (int i = 0; i < 50; ++i)
    start(4);
  fetcher.reset();
}

TEST_F(Fetch, ACallbackMaySubmitTheNext) {
  files.addFile("/x", "x");
  start(2, 4);
  std::atomic<int> count{0};
  std::promise<void> finished;
  Buffer buffer;
  std::function<void(Fetched)> next = [&](Fetched fetched) {
    EXPECT_TRUE(fetched.status.ok());
    if (++count == 100)
      return finished.set_value();
    EXPECT_TRUE(fetcher->submit({.path = "/x", .out = &buffer, .done = next}).ok());
  };
  ASSERT_TRUE(fetcher->submit({.path = "/x", .out = &buffer, .done = next}).ok());
  finished.get_future().wait();
  fetcher->stop();
}

TEST_F(Fetch, EachRequestIsAnsweredOnceHoweverItEnds) {
  for (int i = 0; i < 8; ++i)
    files.addFile("/" + std::to_string(i), "x");
  for (int round = 0; round < 25; ++round) {
    start(3, 4);
    std::atomic<int> accepted{0}, answered{0};
    std::vector<std::thread> users;
    for (int user = 0; user < 3; ++user)
      users.emplace_back([&, user] {
        std::vector<Buffer> buffers(30);
        std::atomic<int> mine{0};
        int sent = 0;
        for (int i = 0; i < 30; ++i) {
          auto ticket = fetcher->submit({.path = "/" + std::to_string(i % 9),
                                         .out = &buffers[size_t(i)],
                                         .done = [&](Fetched) { ++answered, ++mine; }});
          if (!ticket)
            break;
          ++accepted, ++sent;
          if ((i + user) % 3 == 0)
            fetcher->cancel(*ticket);
        }
        while (mine < sent)
          std::this_thread::yield();
      });
    for (int i = 0; i < round * 12; ++i)
      std::this_thread::yield();
    fetcher->stop();
    for (std::thread &user : users)
      user.join();
    EXPECT_EQ(accepted, answered);
  }
}

TEST_F(Fetch, MeasuresItsTime) {
  FakeClock clock(5);
  files.addFile("/x", "x");
  auto made = makeThreadFetcher(files, {.threads = 1, .clock = &clock});
  Pending pending;
  ASSERT_TRUE((*made)->submit(pending.request("/x")).ok());
  EXPECT_EQ(pending.result.get().busyNs, 5);
}

TEST_F(Fetch, RefusesSenselessOptions) {
  EXPECT_EQ(makeThreadFetcher(files, {.threads = 0}).error().message,
            "0 threads for reading files; 1 up to 256 are possible");
  EXPECT_EQ(makeThreadFetcher(files, {.capacity = 0}).error().message,
            "a queue for files needs room for one");
}

} // namespace
