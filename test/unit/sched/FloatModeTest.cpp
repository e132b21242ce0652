// SPDX-License-Identifier: Apache-2.0
//
// Independence of samples from the floating-point mode of the caller's thread.
#include "runtime/sched/Workers.h"

#include <cfenv>
#include <cstdlib>
#include <future>
#include <gtest/gtest.h>

using namespace penstock::runtime;

namespace {

/// Rounds upwards and flushes subnormals, until its end.
class StrangeMode {
public:
  StrangeMode() : saved() {
    std::fegetenv(&saved);
    std::fesetround(FE_UPWARD);
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#elif defined(__aarch64__)
    uint64_t mode;
    asm volatile("mrs %0, fpcr" : "=r"(mode));
    asm volatile("msr fpcr, %0" : : "r"(mode | uint64_t(1) << 24));
#endif
  }
  ~StrangeMode() { std::fesetenv(&saved); }

private:
  std::fenv_t saved;
};

bool roundsToNearest() {
  volatile float one = 1, small = 0x1p-30f;
  volatile float sum = one + small;
  return sum == 1;
}

bool keepsSubnormals() {
  volatile float smallest = 0x1p-126f, half = 0.5f;
  volatile float product = smallest * half;
  return product > 0;
}

} // namespace

TEST(FloatMode, isTheDefaultAndThenTheCallersAgain) {
  StrangeMode strange;
  ASSERT_FALSE(roundsToNearest());
  ASSERT_FALSE(keepsSubnormals());
  {
    FloatMode mode;
    EXPECT_TRUE(roundsToNearest());
    EXPECT_TRUE(keepsSubnormals());
  }
  EXPECT_FALSE(roundsToNearest());
  EXPECT_FALSE(keepsSubnormals());
}

// What flushes subnormals belongs to one unit of x86, and the C library's rounding of text to the
// other.
TEST(FloatMode, isOfTextToo) {
  StrangeMode strange;
  EXPECT_NE(std::strtod("0.3", nullptr), 0.3);
  FloatMode mode;
  EXPECT_EQ(std::strtod("0.3", nullptr), 0.3);
}

TEST(FloatMode, leavesTheCallersFlags) {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_UNDERFLOW);
  {
    FloatMode mode;
    volatile double zero = 0;
    volatile double infinite = 1 / zero;
    (void)infinite;
  }
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT), FE_UNDERFLOW);
  std::feclearexcept(FE_ALL_EXCEPT);
}

TEST(FloatMode, ofWorkersIsNotThatOfWhoStartsThem) {
  StrangeMode strange;
  std::promise<bool> nearest, subnormals;
  auto workers = Workers::start(1);
  ASSERT_TRUE(workers.ok());
  (*workers)->submit(0, [&](int) {
    nearest.set_value(roundsToNearest());
    subnormals.set_value(keepsSubnormals());
  });
  EXPECT_TRUE(nearest.get_future().get());
  EXPECT_TRUE(subnormals.get_future().get());
}
