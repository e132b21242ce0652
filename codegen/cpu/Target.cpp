// SPDX-License-Identifier: Apache-2.0
//
// The levels by name, and the host's.
#include "codegen/cpu/Target.h"
#include <algorithm>

using namespace penstock::codegen;

Target Target::host() {
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  const bool vnni =
      v4 && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi");
  return {vnni ? CpuLevel::v4vnni : v4 ? CpuLevel::v4 : v3 ? CpuLevel::v3 : CpuLevel::v2};
}

std::optional<Target> Target::named(std::string_view name) {
  if (name.empty() || name == "host")
    return host();
  for (CpuLevel level : {CpuLevel::v2, CpuLevel::v3, CpuLevel::v4, CpuLevel::v4vnni})
    if (Target{level}.describe() == name)
      return Target{level};
  return std::nullopt;
}

std::string Target::describe() const {
  return level == CpuLevel::v4vnni ? "x86-64-v4-vnni" : processor();
}

std::string Target::processor() const {
  return "x86-64-v" +
         std::to_string(std::min(static_cast<int>(level), static_cast<int>(CpuLevel::v4)));
}

std::string Target::features() const {
  return level == CpuLevel::v4vnni ? "+avx512vbmi,+avx512vnni" : "";
}
