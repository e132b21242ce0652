// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/Parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace penstock::runtime {

void parallelFor(size_t count, int threads, const std::function<void(size_t)> &work) {
  std::atomic<size_t> next{0};
  std::once_flag once;
  std::exception_ptr thrown;
  auto run = [&] {
    try {
      for (size_t i; (i = next.fetch_add(1)) < count;)
        work(i);
    } catch (...) {
      std::call_once(once, [&] { thrown = std::current_exception(); });
      next = count;
    }
  };
  std::vector<std::thread> others;
  for (size_t i = 1; i < std::min(count, size_t(std::max(threads, 1))); ++i) {
    try {
      others.emplace_back(run);
    } catch (const std::exception &) {
      break; // no more threads to be had: those that are there do the work
    }
  }
  run();
  for (std::thread &thread : others)
    thread.join();
  if (thrown)
    std::rethrow_exception(thrown);
}

} // namespace penstock::runtime
