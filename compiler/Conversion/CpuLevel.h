//===- CpuLevel.h - which x86-64 code is made for --------------------------===//
#ifndef PENSTOCK_COMPILER_CONVERSION_CPULEVEL_H
#define PENSTOCK_COMPILER_CONVERSION_CPULEVEL_H

namespace penstock::conversion {

/// What generated code may use; each level includes the ones below. Recorded
/// in a kernel's schedule, printed in images.
/// v4vnni is v4 with the VNNI and VBMI extensions (Ice Lake, Zen 4).
enum class CpuLevel : int { v2 = 2, v3 = 3, v4 = 4, v4vnni = 5 };

/// Bytes of the widest register of a level.
constexpr int widestRegister(CpuLevel level) {
  return level >= CpuLevel::v4 ? 64 : level == CpuLevel::v3 ? 32 : 16;
}

} // namespace penstock::conversion

#endif
