#include "runtime/sched/Workers.h"

#include <algorithm>
#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace penstock::runtime {

Workers::Workers(int count) {
  // Signals are for the threads of the program that embeds us.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 0; i < count; ++i)
    threads.emplace_back([this, i] { run(i); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

FloatMode::FloatMode() : saved(_mm_getcsr()) { _mm_setcsr(0x1F80); }
FloatMode::~FloatMode() { _mm_setcsr(saved); }

int defaultThreads(int ranks) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  int cores = sched_getaffinity(0, sizeof mask, &mask) == 0
                  ? CPU_COUNT(&mask)
                  : int(std::thread::hardware_concurrency());
  return std::max(1, cores / std::max(1, ranks));
}

} // namespace penstock::runtime
