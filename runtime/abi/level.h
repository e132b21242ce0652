// SPDX-License-Identifier: Apache-2.0
//
// Architectures, and the levels of each that code is compiled for.
#pragma once

#include <cstdint>
#include <string_view>
#ifdef __aarch64__
#include <sys/auxv.h>
#endif

namespace penstock::level {

enum class Architecture { x86, arm64 };

/// A level of a processor's architecture. Schedules, plans and images have its number.
struct Level {
  uint32_t number;
  std::string_view name;
  Architecture architecture = Architecture::x86;
};

/// Levels of the x86-64 psABI: v2 (SSE4.2), v3 (AVX2, FMA, F16C), v4 (AVX-512 F BW CD DQ VL); and
/// one of ours, v4-vnni (v4 with VBMI and VNNI). 64-bit ARM: armv8-a, with Neon. A level includes
/// the ones of its architecture before it.
inline constexpr Level all[] = {{2, "x86-64-v2"},
                                {3, "x86-64-v3"},
                                {4, "x86-64-v4"},
                                {5, "x86-64-v4-vnni"},
                                {64, "armv8-a", Architecture::arm64}};

/// Returns the level of this number; null if there is none.
constexpr const Level *numbered(int64_t number) {
  for (const Level &level : all)
    if (level.number == number)
      return &level;
  return nullptr;
}

/// Returns the architecture of a level; x86 for a number that is none.
constexpr Architecture architectureOf(int64_t number) {
  const Level *level = numbered(number);
  return level ? level->architecture : Architecture::x86;
}

/// Returns whether this machine runs code of a level.
inline bool isOffered(const Level &level) {
#if defined(__x86_64__)
  if (level.architecture != Architecture::x86)
    return false;
  __builtin_cpu_init();
  const bool v2 = __builtin_cpu_supports("sse4.2");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  switch (level.number) {
  case 2:
    return v2;
  case 3:
    return v3;
  case 4:
    return v4;
  default:
    return v4 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
  }
#elif defined(__aarch64__)
  constexpr unsigned long floats = 1, neon = 2; // bits of AT_HWCAP
  return level.architecture == Architecture::arm64 &&
         (getauxval(AT_HWCAP) & (floats | neon)) == (floats | neon);
#else
  return false;
#endif
}

} // namespace penstock::level
