// SPDX-License-Identifier: Apache-2.0
//
// penstock.cuh means what runtime/abi/scalar.h and random.h mean. It is compiled
// for the CPU here.

#include "codegen/cuda/shim.h"
namespace cuda {
#include "codegen/cuda/penstock.cuh"
}
#include "runtime/abi/kernel.h"
#include "runtime/abi/random.h"
#include "runtime/abi/scalar.h"

#include <cstddef>
#include <cstring>
#include <gtest/gtest.h>

using namespace penstock;

namespace {

template <typename T> std::vector<T> numbers() {
  std::vector<T> result;
  if constexpr (std::is_integral_v<T>) {
    for (int64_t value :
         {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{2}, int64_t{7}, int64_t{100}, int64_t{127},
          int64_t{-128}, int64_t{255}, int64_t{32767}, int64_t{-32768}, int64_t{65535},
          int64_t{INT32_MAX}, int64_t{INT32_MIN}, INT64_MAX, INT64_MIN})
      result.push_back(static_cast<T>(value));
  } else {
    for (double value :
         {0.0,       -0.0,   0.5,     -0.5,    1.5,          2.5,    -2.5,     1e-40,
          1e-7,      3.4e38, 65504.0, 65519.0, 65520.0,      1e300,  0x1p-149, 0x1p-24,
          0x1.8p-25, 0.3,    -7.25,   255.0,   2147483647.0, 9.3e18, -9.3e18}) {
      result.push_back(static_cast<T>(value));
      result.push_back(static_cast<T>(-value));
    }
    result.push_back(std::numeric_limits<T>::infinity());
    result.push_back(-std::numeric_limits<T>::infinity());
    result.push_back(std::numeric_limits<T>::quiet_NaN());
  }
  for (uint64_t i = 0; i < 60; ++i) {
    const uint64_t bits = random::mix(i, sizeof(T));
    if constexpr (std::is_integral_v<T>)
      result.push_back(static_cast<T>(bits));
    else if constexpr (sizeof(T) == 4)
      result.push_back(std::bit_cast<T>(static_cast<uint32_t>(bits)));
    else
      result.push_back(std::bit_cast<T>(bits));
  }
  return result;
}

/// Equal bits, where a NaN is any NaN: which one arithmetic leaves is not defined.
template <typename T> bool same(T a, T b) {
  return (a != a && b != b) || std::memcmp(&a, &b, sizeof a) == 0;
}

template <typename T> class Arithmetic : public testing::Test {};
using Types = testing::Types<uint8_t, int8_t, uint16_t, int16_t, int32_t, long long, float, double>;
TYPED_TEST_SUITE(Arithmetic, Types);

TYPED_TEST(Arithmetic, OfTwoNumbersIsThatOfTheHost) {
  using T = TypeParam;
  for (T a : numbers<T>())
    for (T b : numbers<T>()) {
      EXPECT_TRUE(same(cuda::pst_min(a, b), scalar::min(a, b))) << +a << " " << +b;
      EXPECT_TRUE(same(cuda::pst_max(a, b), scalar::max(a, b))) << +a << " " << +b;
      EXPECT_TRUE(same(cuda::pst_rem(a, b), scalar::rem(a, b))) << +a << " " << +b;
      if constexpr (std::is_integral_v<T>) {
        EXPECT_EQ(cuda::pst_add(a, b), scalar::add(a, b));
        EXPECT_EQ(cuda::pst_sub(a, b), scalar::sub(a, b));
        EXPECT_EQ(cuda::pst_mul(a, b), scalar::mul(a, b));
        EXPECT_EQ(cuda::pst_div(a, b), scalar::div(a, b)) << +a << " " << +b;
        EXPECT_EQ(cuda::pst_shl(a, b), scalar::shl(a, b));
        EXPECT_EQ(cuda::pst_shr(a, b), scalar::shr(a, b));
      }
    }
}

TYPED_TEST(Arithmetic, OfOneNumberIsThatOfTheHost) {
  using T = TypeParam;
  for (T a : numbers<T>()) {
    EXPECT_TRUE(same(cuda::pst_abs(a), scalar::abs(a)));
    if constexpr (std::is_integral_v<T>) {
      EXPECT_EQ(cuda::pst_neg(a), scalar::neg(a));
      EXPECT_EQ(cuda::pst_clamp<uint8_t>(a), scalar::saturate<uint8_t>(a));
      EXPECT_EQ(cuda::pst_clamp<int16_t>(a), scalar::saturate<int16_t>(a));
      EXPECT_EQ(cuda::pst_clamp<int32_t>(a), scalar::saturate<int32_t>(a));
      EXPECT_TRUE(same(cuda::pst_to_half((long long)a),
                       scalar::fromHalf(scalar::toHalf(scalar::oddDouble(a)))));
      EXPECT_TRUE(same(cuda::pst_to_brain((long long)a),
                       scalar::fromBfloat(scalar::toBfloat(scalar::oddDouble(a)))));
    } else {
      EXPECT_TRUE(same(cuda::pst_round(a), scalar::round(a))) << a;
      EXPECT_TRUE(same(cuda::pst_round_away(a), scalar::roundAway(a))) << a;
      EXPECT_EQ(cuda::pst_to_int<uint8_t>(a), scalar::floatToInt<uint8_t>(a)) << a;
      EXPECT_EQ(cuda::pst_to_int<int8_t>(a), scalar::floatToInt<int8_t>(a)) << a;
      EXPECT_EQ(cuda::pst_to_int<uint16_t>(a), scalar::floatToInt<uint16_t>(a)) << a;
      EXPECT_EQ(cuda::pst_to_int<int16_t>(a), scalar::floatToInt<int16_t>(a)) << a;
      EXPECT_EQ(cuda::pst_to_int<int32_t>(a), scalar::floatToInt<int32_t>(a)) << a;
      EXPECT_EQ(cuda::pst_to_int<long long>(a), scalar::floatToInt<long long>(a)) << a;
      EXPECT_EQ(cuda::pst_half_bits(cuda::pst_odd(a)), scalar::toHalf(a)) << a;
      EXPECT_EQ(cuda::pst_brain_bits(cuda::pst_odd(a)), scalar::toBfloat(a)) << a;
    }
  }
}

TEST(CudaHeader, EveryHalfWidensAsOnTheHost) {
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    ASSERT_TRUE(same(cuda::pst_half(bits), scalar::fromHalf(bits))) << bits;
    ASSERT_TRUE(same(cuda::pst_brain(bits), scalar::fromBfloat(bits))) << bits;
  }
}

TEST(CudaHeader, DrawsAreThoseOfTheHost) {
  for (uint64_t i = 0; i < 200; ++i) {
    const uint64_t id = random::mix(i, 3);
    const auto part = [&](uint64_t k) { return static_cast<int64_t>(random::mix(i, k)); };
    const random::Key host{static_cast<uint64_t>(part(4)), static_cast<uint64_t>(part(5)) >> 16,
                           static_cast<uint32_t>(part(6)), static_cast<uint16_t>(part(7))};
    const cuda::pst_key key = cuda::pst_key_mix(
        cuda::pst_key_view(
            cuda::pst_key_of(part(4), static_cast<int64_t>(host.position), host.epoch, 0),
            host.view),
        part(8));
    const random::Key mixed = host.mixed(static_cast<uint64_t>(part(8)));
    const auto element = static_cast<int64_t>(i % 9);
    const uint64_t bits = random::bits(mixed, id, static_cast<uint64_t>(element));
    EXPECT_EQ(static_cast<uint64_t>(cuda::pst_draw_bits(key, id, element)), bits);
    EXPECT_EQ(cuda::pst_draw_uniform(key, id, element, -2, 3), random::uniform(bits, -2, 3));
    EXPECT_EQ(cuda::pst_draw_integer(key, id, element, -5, part(9)),
              random::integer(bits, -5, part(9)));
    const int64_t n = part(10) & 1023, at = part(11) & 511;
    EXPECT_EQ(static_cast<uint64_t>(cuda::pst_draw_permutation(key, id, element, n, at)),
              random::permute(bits, static_cast<uint64_t>(n), static_cast<uint64_t>(at)));
  }
}

TEST(CudaHeader, StatesLieAsInTheKernelsAbi) {
  static_assert(sizeof(cuda::pst_sample_status) == sizeof(::pst_sample_status) &&
                offsetof(cuda::pst_sample_status, check) == offsetof(::pst_sample_status, check) &&
                offsetof(cuda::pst_sample_status, values) == offsetof(::pst_sample_status, values));
}

TEST(CudaHeader, WhatDependsOnAFailedCheckIsLeftOut) {
  cuda::pst_sample_status states[3] = {};
  cuda::pst_fail(states, 2, 7, -1, 1);
  EXPECT_EQ(states[2].check, 7);
  EXPECT_EQ(states[2].values[0], -1);
  EXPECT_EQ(states[2].values[1], 1);
  EXPECT_FALSE(cuda::pst_left_out(states, 1));
  EXPECT_TRUE(cuda::pst_left_out(states, 2));
  cuda::pst_fail(states, 0, 3, 0, 0);
  EXPECT_TRUE(cuda::pst_left_out(states, 1));
}

TEST(CudaHeader, BordersMoveIndicesInside) {
  // -4 .. 6 of the elements 0 1 2.
  const int edge[] = {0, 0, 0, 0, 0, 1, 2, 2, 2, 2, 2}, wrap[] = {2, 0, 1, 2, 0, 1, 2, 0, 1, 2, 0};
  const int reflect[] = {0, 1, 2, 1, 0, 1, 2, 1, 0, 1, 2},
            symmetric[] = {2, 2, 1, 0, 0, 1, 2, 2, 1, 0, 0};
  for (int i = -4; i <= 6; ++i) {
    EXPECT_EQ(cuda::pst_edge(i, 3), edge[i + 4]);
    EXPECT_EQ(cuda::pst_wrap(i, 3), wrap[i + 4]);
    EXPECT_EQ(cuda::pst_reflect(i, 3), reflect[i + 4]);
    EXPECT_EQ(cuda::pst_symmetric(i, 3), symmetric[i + 4]);
  }
  EXPECT_EQ(cuda::pst_reflect(5, 1), 0);
  EXPECT_EQ(cuda::pst_floor_div(-7, 3), -3);
  EXPECT_EQ(cuda::pst_floor_div(7, 0), 0);
}

} // namespace
