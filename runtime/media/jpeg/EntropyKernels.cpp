// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/jpeg/EntropyKernels.h"

#include <algorithm>
#include <cstring>
#ifdef __x86_64__
#include <immintrin.h>
#endif

// The levels are those of x86-64-v2 ... v4, which do not have these instructions.
#define HWY_DISABLE_PCLMUL_AES
// Highway compiles the middle of this file once per level of instructions.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/media/jpeg/EntropyKernels.cpp"
#include <hwy/foreach_target.h> // IWYU pragma: keep

#include <hwy/highway.h>

#ifndef PENSTOCK_ENTROPY_KERNELS_ONCE
#define PENSTOCK_ENTROPY_KERNELS_ONCE
namespace penstock::runtime {
namespace {

/// Natural order of the coefficient that ends at an index (one before it), and
/// the last one's for all indices that no coefficient has.
constexpr std::array<uint8_t, 256> zigzagOrder = [] {
  std::array<uint8_t, 256> order{};
  order.fill(63);
  int row = 0, column = 0;
  for (size_t index = 1; index <= 64; ++index) {
    order[index] = uint8_t(row * 8 + column);
    const bool up = (row + column) % 2 == 0;
    if (up && column == 7)
      ++row;
    else if (up && row == 0)
      ++column;
    else if (!up && row == 7)
      ++column;
    else if (!up && column == 0)
      ++row;
    else
      row += up ? -1 : 1, column += up ? 1 : -1;
  }
  return order;
}();

/// Zigzag positions of the coefficients in natural order.
constexpr std::array<int16_t, 64> zigzagPlaces = [] {
  std::array<int16_t, 64> places{};
  for (int16_t index = 0; index < 64; ++index)
    places[zigzagOrder[size_t(index) + 1]] = index;
  return places;
}();

} // namespace
} // namespace penstock::runtime
#endif

HWY_BEFORE_NAMESPACE();
namespace penstock::runtime {
namespace {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Bits deposited by a mask, which the levels from x86-64-v3 on have.
#undef PENSTOCK_DEPOSIT
#if HWY_ARCH_X86_64 && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
#define PENSTOCK_DEPOSIT
#endif
#include "runtime/media/jpeg/EntropyLoop-inl.h"
#include "runtime/media/jpeg/ProgressiveLoop-inl.h"

#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
constexpr size_t step = 8;

/// Copies `step` bytes; the place of the first 0xFF among them, or `step`.
HWY_INLINE size_t copyToFirst(const uint8_t *in, uint8_t *out) {
  const uint64_t bytes = load64(in), inverse = ~bytes;
  std::memcpy(out, in, step);
  const uint64_t found = (inverse - 0x0101010101010101u) & ~inverse & 0x8080808080808080u;
  if (!found)
    return step;
  for (size_t i = 0;; ++i)
    if (in[i] == 0xFF)
      return i;
}
#else
const hn::ScalableTag<uint8_t> bytesTag;
constexpr size_t step = HWY_LANES(uint8_t);

HWY_INLINE size_t copyToFirst(const uint8_t *in, uint8_t *out) {
  const auto bytes = hn::LoadU(bytesTag, in);
  hn::StoreU(bytes, bytesTag, out);
  const intptr_t found = hn::FindFirstTrue(bytesTag, hn::Eq(bytes, hn::Set(bytesTag, 0xFF)));
  return found < 0 ? step : size_t(found);
}
#endif

// 0xFF occurs once in some hundred bytes, so whole vectors are copied, and what
// follows a 0xFF is copied again. Compressing every vector costs more.
EntropyKernels::Unstuffed unstuff(const uint8_t *in, const uint8_t *end, uint8_t *out,
                                  uint8_t *outEnd) {
  while (size_t(end - in) > step && size_t(outEnd - out) >= step) {
    const size_t found = copyToFirst(in, out);
    if (found == step) {
      in += step;
      out += step;
      continue;
    }
    if (in[found + 1] != 0)
      return {in + found, out + found, true};
    in += found + 2;
    out += found + 1;
  }
  while (in < end && out < outEnd) {
    const uint8_t byte = *in;
    if (byte == 0xFF) {
      if (end - in < 2 || in[1] != 0)
        return {in, out, true};
      ++in;
    }
    ++in;
    *out++ = byte;
  }
  return {in, out, in == end};
}

const uint8_t *findMarker(const uint8_t *in, const uint8_t *end) {
  uint8_t ignored[step];
  while (size_t(end - in) > step) {
    const size_t found = copyToFirst(in, ignored);
    if (found < step && in[found + 1] != 0)
      return in + found;
    in += found < step ? found + 2 : step;
  }
  for (; end - in >= 2; ++in)
    if (in[0] == 0xFF && in[1] != 0)
      return in;
  return end;
}

constexpr EntropyKernels kernels(const char *name) {
  return {name,     unstuff,  findMarker, decodeMcu,  countMcus,
          decodeDc, refineDc, decodeBand, refineBand, unzigzag};
}

} // namespace HWY_NAMESPACE
} // namespace
} // namespace penstock::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace penstock::runtime {
namespace {

// Each takes what a CPU has beside vectors, too: shifts by three operands.
#if HWY_TARGETS & HWY_AVX3
constexpr EntropyKernels avx512 = N_AVX3::kernels("avx512");
#endif
#if HWY_TARGETS & HWY_AVX2
constexpr EntropyKernels avx2 = N_AVX2::kernels("avx2");
#endif
#if HWY_TARGETS & HWY_SSE4
constexpr EntropyKernels sse4 = N_SSE4::kernels("sse4");
#endif
#if HWY_TARGETS & HWY_AVX2
// Zen 1 and 2 deposit bits in hundreds of cycles.
constexpr EntropyKernels avx2WithoutDeposits = [] {
  EntropyKernels all = avx2;
  all.refineBand = sse4.refineBand;
  return all;
}();

const EntropyKernels *avx2OfThisCpu() {
  const bool slow = __builtin_cpu_is("znver1") || __builtin_cpu_is("znver2");
  return slow ? &avx2WithoutDeposits : &avx2;
}
#endif
#if HWY_TARGETS & HWY_EMU128
constexpr EntropyKernels scalar = N_EMU128::kernels("scalar");
#else
constexpr EntropyKernels scalar = HWY_STATIC_DISPATCH(kernels)("baseline");
#endif

// Not Highway's own detection: its library measures a clock when it is loaded,
// 2 ms in every process. Only its headers are used.
struct Available {
  std::array<const EntropyKernels *, 4> list{};
  size_t count = 0;

  Available() {
#if HWY_TARGETS & HWY_AVX3
    if (__builtin_cpu_supports("x86-64-v4"))
      list[count++] = &avx512;
#endif
#if HWY_TARGETS & HWY_AVX2
    if (__builtin_cpu_supports("x86-64-v3"))
      list[count++] = avx2OfThisCpu();
#endif
#if HWY_TARGETS & HWY_SSE4
    if (__builtin_cpu_supports("x86-64-v2"))
      list[count++] = &sse4;
#endif
    list[count++] = &scalar;
  }
};

} // namespace

std::span<const EntropyKernels *const> entropyKernels() {
  static const Available available;
  return {available.list.data(), available.count};
}

} // namespace penstock::runtime
#endif
