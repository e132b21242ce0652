// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Workers.h"

#include <algorithm>
#ifdef __x86_64__
#include <immintrin.h>
#endif
#include <optional>
#include <pthread.h>
#include <signal.h>
#include <string>
#include <system_error>

namespace penstock::runtime {

Result<std::unique_ptr<Workers>> Workers::start(int count) {
  std::unique_ptr<Workers> workers(new Workers);
  // Signals are for the threads of the program that embeds us.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<Error> failure;
  for (int i = 0; i < count && !failure; ++i)
    try {
      workers->threads.emplace_back([self = workers.get(), i] { self->run(i); });
    } catch (const std::system_error &error) { // the library's one way to say so
      failure =
          Error{Code::Limit, "cannot start thread " + std::to_string(i + 1) + " of " +
                                 std::to_string(count) + ": " + error.code().message() +
                                 "; `ulimit -u`, a cgroup or memory (`ulimit -v`) may limit them"};
    }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (failure)
    return *failure;
  return workers;
}

Workers::~Workers() { stop(); }

bool Workers::later(const Entry &a, const Entry &b) {
  return a.rank != b.rank ? a.rank > b.rank : a.number > b.number;
}

void Workers::submit(uint64_t rank, Task task) {
  {
    std::lock_guard guard(lock);
    if (stopping)
      return;
    heap.push_back({rank, submitted++, std::move(task)});
    std::push_heap(heap.begin(), heap.end(), later);
  }
  wake.notify_one();
}

void Workers::stop() {
  std::vector<Entry> dropped;
  {
    std::lock_guard guard(lock);
    stopping = true;
    dropped.swap(heap);
  }
  wake.notify_all();
  for (std::thread &thread : threads)
    if (thread.joinable())
      thread.join();
}

void Workers::run(int worker) {
  pthread_setname_np(pthread_self(), "penstock");
  FloatMode mode;
  std::unique_lock guard(lock);
  for (;;) {
    wake.wait(guard, [&] { return stopping || !heap.empty(); });
    if (stopping)
      return;
    std::pop_heap(heap.begin(), heap.end(), later);
    Task task = std::move(heap.back().task);
    heap.pop_back();
    guard.unlock();
    task(worker);
    task = nullptr; // its captures go before the lock is taken
    guard.lock();
  }
}

FloatMode::FloatMode() : saved() {
  std::fegetenv(&saved);
  std::fesetenv(FE_DFL_ENV); // clears what flushes subnormals, too
}
FloatMode::~FloatMode() { std::fesetenv(&saved); }

} // namespace penstock::runtime
