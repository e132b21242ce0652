//===- Target.cpp - the levels by name, and the host's ---------------------===//

#include "codegen/cpu/Target.h"

using namespace penstock::codegen;

Target Target::host() {
  __builtin_cpu_init();
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return {v4 ? CpuLevel::v4 : v3 ? CpuLevel::v3 : CpuLevel::v2};
}

std::optional<Target> Target::named(std::string_view name) {
  if (name.empty() || name == "host")
    return host();
  for (CpuLevel level : {CpuLevel::v2, CpuLevel::v3, CpuLevel::v4})
    if (Target{level}.describe() == name)
      return Target{level};
  return std::nullopt;
}

std::string Target::describe() const {
  return "x86-64-v" + std::to_string(static_cast<int>(level));
}
