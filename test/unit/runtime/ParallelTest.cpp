// SPDX-License-Identifier: Apache-2.0
//
// Loops on several threads.
#include "runtime/core/Parallel.h"

#include <atomic>
#include <gtest/gtest.h>
#include <new>

using namespace penstock::runtime;

TEST(Parallel, doesEachOnce) {
  std::atomic<int> sum = 0;
  parallelFor(100, 4, [&](size_t i) { sum += int(i); });
  EXPECT_EQ(sum, 4950);
}

TEST(Parallel, throwsWhatWasThrownOnAnyThread) {
  for (int threads : {1, 4}) {
    std::atomic<int> done = 0;
    EXPECT_THROW(parallelFor(100000, threads,
                             [&](size_t) {
                               if (++done >= 10)
                                 throw std::bad_alloc();
                             }),
                 std::bad_alloc);
    EXPECT_LT(done, 100);
  }
}
