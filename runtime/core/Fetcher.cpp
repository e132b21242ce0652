#include "runtime/core/Fetcher.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace penstock::runtime {

Fetcher::~Fetcher() = default;

namespace {

Error stoppedError() { return {Code::Cancelled, "reading was stopped"}; }

class ThreadFetcher final : public Fetcher {
public:
  ThreadFetcher(FileSystem &files, const FetcherOptions &options)
      : files(files), options(options) {}
  ~ThreadFetcher() override { stop(); }

  Status start();
  Result<Ticket> submit(FetchRequest request) override;
  Result<Ticket> trySubmit(FetchRequest &request) override;
  bool cancel(Ticket ticket) override;
  void stop() override;

private:
  struct Entry {
    Ticket ticket;
    FetchRequest request;
  };

  Ticket enqueue(FetchRequest &&request);
  void work();

  FileSystem &files;
  const FetcherOptions options;
  std::mutex lock;
  std::condition_variable hasWork, hasRoom;
  std::deque<Entry> queue;
  Ticket lastTicket = 0;
  bool stopping = false;
  std::mutex joining; // stop() may be called by two threads
  std::vector<std::thread> threads;
};

Status ThreadFetcher::start() {
  try {
    for (int i = 0; i < options.threads; ++i)
      threads.emplace_back([this] { work(); });
  } catch (const std::system_error &) {
    stop();
    return Error{Code::Limit, "the system gives no more than " +
                                  std::to_string(threads.size()) + " of " +
                                  std::to_string(options.threads) +
                                  " threads for reading files"};
  }
  return {};
}

Fetcher::Ticket ThreadFetcher::enqueue(FetchRequest &&request) {
  queue.push_back({++lastTicket, std::move(request)});
  return lastTicket;
}

Result<Fetcher::Ticket> ThreadFetcher::submit(FetchRequest request) {
  Ticket ticket;
  {
    std::unique_lock guard(lock);
    hasRoom.wait(guard, [&] { return stopping || queue.size() < options.capacity; });
    if (stopping)
      return stoppedError();
    ticket = enqueue(std::move(request));
  }
  hasWork.notify_one();
  return ticket;
}

Result<Fetcher::Ticket> ThreadFetcher::trySubmit(FetchRequest &request) {
  Ticket ticket;
  {
    std::lock_guard guard(lock);
    if (stopping)
      return stoppedError();
    if (queue.size() >= options.capacity)
      return Ticket(0);
    ticket = enqueue(std::move(request));
  }
  hasWork.notify_one();
  return ticket;
}

bool ThreadFetcher::cancel(Ticket ticket) {
  FetchRequest request;
  {
    std::lock_guard guard(lock);
    auto found = std::find_if(queue.begin(), queue.end(),
                              [&](const Entry &entry) { return entry.ticket == ticket; });
    if (found == queue.end())
      return false;
    request = std::move(found->request);
    queue.erase(found);
  }
  hasRoom.notify_one();
  request.done({Error{Code::Cancelled, "reading " + request.path + " was cancelled"}, 0});
  return true;
}

void ThreadFetcher::stop() {
  std::deque<Entry> left;
  {
    std::lock_guard guard(lock);
    stopping = true;
    left.swap(queue);
  }
  hasWork.notify_all();
  hasRoom.notify_all();
  for (Entry &entry : left)
    entry.request.done({stoppedError(), 0});
  std::lock_guard guard(joining);
  for (std::thread &thread : threads)
    if (thread.joinable())
      thread.join();
}

void ThreadFetcher::work() {
  for (;;) {
    Entry entry;
    {
      std::unique_lock guard(lock);
      hasWork.wait(guard, [&] { return stopping || !queue.empty(); });
      if (queue.empty())
        return;
      entry = std::move(queue.front());
      queue.pop_front();
    }
    hasRoom.notify_one();
    FetchRequest &request = entry.request;
    int64_t begin = options.clock ? options.clock->nowNs() : 0;
    Status status = files.readFile(request.path, *request.out, request.maxBytes);
    int64_t end = options.clock ? options.clock->nowNs() : 0;
    request.done({std::move(status), end - begin});
  }
}

} // namespace

Result<std::unique_ptr<Fetcher>> makeThreadFetcher(FileSystem &files,
                                                   const FetcherOptions &options) {
  if (options.threads < 1 || options.threads > 256)
    return Error{Code::InvalidArgument, std::to_string(options.threads) +
                                            " threads for reading files; 1 up to 256 "
                                            "are possible"};
  if (options.capacity < 1)
    return Error{Code::InvalidArgument, "a queue for files needs room for one"};
  auto fetcher = std::make_unique<ThreadFetcher>(files, options);
  if (Status status = fetcher->start(); !status)
    return status.error();
  return std::unique_ptr<Fetcher>(std::move(fetcher));
}

} // namespace penstock::runtime
