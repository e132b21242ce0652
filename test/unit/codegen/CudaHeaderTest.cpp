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

#include <algorithm>
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
      if (a == a) {
        EXPECT_EQ(cuda::pst_finite_half_bits(cuda::pst_odd(a)), scalar::toHalf(a)) << a;
        EXPECT_EQ(cuda::pst_finite_brain_bits(cuda::pst_odd(a)), scalar::toBfloat(a)) << a;
      }
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

/// Four bytes of a run as one word, wherever they stand, and as four numbers.
TEST(CudaHeader, FourBytesAreAWord) {
  cuda::pst_run<uint8_t, 16> run = {};
  for (int i = 0; i < 16; ++i)
    run.set(i, static_cast<uint8_t>(17 * i + 3));
  auto isWord = [&](unsigned word, int a, int b, int c, int d) {
    EXPECT_EQ(word, cuda::pst_bytes(run.at(a), run.at(b), run.at(c), run.at(d)));
    EXPECT_EQ(word, run.at(a) | run.at(b) << 8 | run.at(c) << 16 | unsigned(run.at(d)) << 24);
  };
  isWord(cuda::pst_bytes<0, 3, 6, 9>(run), 0, 3, 6, 9);
  isWord(cuda::pst_bytes<1, 4, 7, 10>(run), 1, 4, 7, 10);
  isWord(cuda::pst_bytes<2, 5, 8, 11>(run), 2, 5, 8, 11);
  isWord(cuda::pst_bytes<0, 1, 2, 3>(run), 0, 1, 2, 3);
  isWord(cuda::pst_bytes<4, 5, 6, 7>(run), 4, 5, 6, 7);
  isWord(cuda::pst_bytes<1, 3, 5, 7>(run), 1, 3, 5, 7);
  isWord(cuda::pst_bytes<3, 7, 11, 15>(run), 3, 7, 11, 15);
  isWord(cuda::pst_bytes<0, 4, 8, 12>(run), 0, 4, 8, 12);
}

TEST(CudaHeader, FourProductsAreThoseOfIntegers) {
  for (uint64_t i = 0; i < 2000; ++i) {
    int32_t weights[4], sum = static_cast<int32_t>(random::mix(i, 5));
    uint8_t bytes[4];
    uint32_t right = static_cast<uint32_t>(sum);
    for (uint64_t k = 0; k < 4; ++k) {
      const uint64_t bits = random::mix(i, k);
      weights[k] = static_cast<int32_t>(bits << 8) >> 8; // 24 bits with a sign
      if (i < 16)
        weights[k] = i & (1u << k) ? (1 << 23) - 1 : -(1 << 23);
      bytes[k] = static_cast<uint8_t>(bits >> 40);
      right += static_cast<uint32_t>(weights[k]) * bytes[k];
    }
    auto [a, b, c, d] = weights;
    EXPECT_EQ(static_cast<uint32_t>(cuda::pst_weigh(
                  sum, cuda::pst_first_halves(a, b, c, d), cuda::pst_last_halves(a, b, c, d),
                  cuda::pst_high_bytes(a, b, c, d),
                  cuda::pst_bytes(bytes[0], bytes[1], bytes[2], bytes[3]))),
              right);
  }
}

// A byte of a sum, and the same number as an f32, also of sums below 0 and beyond 255.
TEST(CudaHeader, SumsOfResamplings) {
  auto expectByte = [](int64_t sum) {
    const auto given = static_cast<int32_t>(sum);
    const int64_t byte = std::clamp<int64_t>(sum >> 22, 0, 255);
    EXPECT_EQ(cuda::pst_pillow(given), byte) << sum;
    EXPECT_EQ(cuda::pst_exact_pillow(given), static_cast<float>(byte)) << sum;
  };
  for (int64_t byte = -512; byte < 512; ++byte)
    for (int64_t rest : {int64_t(0), int64_t(1), int64_t(1) << 21, (int64_t(1) << 22) - 1})
      expectByte((byte << 22) + rest);
}

TEST(CudaHeader, BordersAreMirroredAnyNumberOfTimes) {
  for (int64_t n = 1; n < 6; ++n)
    for (int64_t i = -20; i < 20; ++i) {
      int64_t at = n == 1 ? 0 : i;
      while (at < 0 || at >= n)
        at = at < 0 ? -at : 2 * (n - 1) - at;
      EXPECT_EQ(cuda::pst_reflect(i, n), at) << i << " of " << n;
      for (at = i; at < 0 || at >= n;)
        at = at < 0 ? -1 - at : 2 * n - 1 - at;
      EXPECT_EQ(cuda::pst_symmetric(i, n), at) << i << " of " << n;
    }
}

//===--- rows ------------------------------------------------------------------===//

/// Elements with 64 readable bytes around them; element i has the bits of i + 1, others those of 0.
template <typename T> struct WithSlack {
  alignas(16) std::byte bytes[64 + 128 * sizeof(T) + 64] = {};
  T *at(size_t off) { return reinterpret_cast<T *>(bytes + 64) + off; }
  WithSlack(size_t off, int64_t count) {
    for (int64_t i = 0; i < count; ++i)
      at(off)[i] = static_cast<T>(i + 1);
  }
};

/// Loads 4 pixels of a row from every column, at every alignment and step, as they lie and with
/// `fill` around them.
template <typename T, int group> void loadsRows() {
  constexpr int64_t columns = 11, length = 4;
  constexpr int count = length * group;
  for (size_t off = 0; off < 16 / sizeof(T); ++off) {
    WithSlack<T> memory(off, columns * group);
    for (int64_t step : {1, -1, 2, 0})
      for (int64_t column = -length - 3; column < columns + length + 3; ++column) {
        const int64_t last = column + step * (length - 1);
        cuda::pst_run<T, count> plain = {}, padded = {};
        cuda::pst_take_padded<group>(padded, memory.at(off), 0, column, step, columns, T(99));
        const bool isInside = std::min(column, last) >= 0 && std::max(column, last) < columns;
        if (isInside)
          cuda::pst_take_row<group>(plain, memory.at(off), column * group, step);
        for (int i = 0; i < count; ++i) {
          const int64_t place = column + i / group * step;
          const bool isOne = place >= 0 && place < columns;
          const T right = isOne ? static_cast<T>(place * group + i % group + 1) : T(99);
          EXPECT_EQ(padded.at(i), right) << off << " " << step << " " << column << " " << i;
          if (isInside)
            EXPECT_EQ(plain.at(i), right) << off << " " << step << " " << column << " " << i;
        }
      }
    // A row that is not there is not read.
    cuda::pst_run<T, count> none = {};
    cuda::pst_take_padded<group>(none, static_cast<const T *>(nullptr), 0, -1, 1, 0, T(99));
    EXPECT_EQ(none.at(count - 1), T(99));
  }
}
TEST(CudaRows, AreLoadedFromAnyAddressInAnyDirection) {
  loadsRows<uint8_t, 1>();
  loadsRows<uint8_t, 3>();
  loadsRows<uint8_t, 4>();
  loadsRows<int16_t, 1>();
  loadsRows<uint16_t, 3>();
  loadsRows<float, 1>();
  loadsRows<float, 3>();
  loadsRows<double, 2>();
}

/// Strips begin at boundaries of 16 bytes, and have each pixel of a row, or the ends do, once.
template <typename T, int group, int length> void takesApart() {
  alignas(16) static T memory[16 * group];
  for (int64_t at = 0; at < 16 * group; at += group)
    for (int64_t size = 0; size < 5 * length; ++size) {
      std::vector<int> times(static_cast<size_t>(size));
      const int64_t head = cuda::pst_head<group, length>(memory, at);
      EXPECT_LT(head, length);
      for (int64_t begin = head; begin + length <= size; begin += length) {
        if (length * group * sizeof(T) % 16 == 0)
          EXPECT_EQ(reinterpret_cast<uintptr_t>(memory + at + begin * group) % 16, 0u);
        for (int64_t i = 0; i < length; ++i)
          ++times[static_cast<size_t>(begin + i)];
      }
      const int64_t ends = cuda::pst_ends<length>(head, size);
      for (int64_t number = 0; number < 2 * (length - 1); ++number) {
        const int64_t place = cuda::pst_loose<length>(number, head, size);
        EXPECT_EQ(place < size, number < ends) << at << " " << size;
        if (place < size)
          ++times[static_cast<size_t>(place)];
      }
      EXPECT_EQ(std::ranges::count(times, 1), size) << at << " " << size;
    }
}
TEST(CudaRows, AreTakenApartAtBoundariesOfWords) {
  takesApart<uint8_t, 1, 16>();
  takesApart<uint8_t, 3, 16>();
  takesApart<uint8_t, 4, 4>();
  takesApart<uint8_t, 1, 6>();
  takesApart<uint16_t, 1, 8>();
  takesApart<uint16_t, 3, 8>();
  takesApart<float, 1, 4>();
  takesApart<float, 3, 4>();
  takesApart<double, 1, 2>();
  takesApart<double, 3, 2>();
}

TEST(CudaRows, MoveToTheFrontByWholeWords) {
  cuda::pst_run<uint16_t, 24> row = {};
  for (int i = 0; i < 24; ++i)
    row.set(i, static_cast<uint16_t>(1000 + i));
  cuda::pst_next<6>(row);
  for (int i = 0; i < 24; ++i)
    EXPECT_EQ(row.at(i), i < 18 ? 1006 + i : 1000 + i);
  cuda::pst_run<double, 3> numbers = {};
  for (int i = 0; i < 3; ++i)
    numbers.set(i, i + 0.5);
  cuda::pst_next<2>(numbers);
  EXPECT_EQ(numbers.at(0), 2.5);
}

TEST(CudaRows, AreStoredFromAnyElementOn) {
  cuda::pst_run<uint16_t, 24> row = {};
  for (int i = 0; i < 24; ++i)
    row.set(i, static_cast<uint16_t>(1000 + i));
  for (int off = 0; off < 8; ++off)
    for (int first : {0, 8, 16}) {
      alignas(16) uint16_t memory[32] = {};
      cuda::pst_put_row<8>(memory, off, row, first);
      for (int i = 0; i < 32; ++i)
        EXPECT_EQ(memory[i], i >= off && i < off + 8 ? 1000 + first + i - off : 0);
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
