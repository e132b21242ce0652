// SPDX-License-Identifier: Apache-2.0
//
// Which x86-64 the code is made for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::codegen {

/// Recorded in a kernel's schedule and in images, by these numbers; each includes those below.
enum class CpuLevel : int { v2 = 2, v3 = 3, v4 = 4, v4vnni = 5 };

/// A feature level of the x86-64 psABI: v2 (SSE4.2), v3 (AVX2, FMA, F16C), v4
/// (AVX-512 F BW CD DQ VL); and one of ours, v4-vnni (v4 with VBMI and VNNI). Code
/// made for a level runs wherever it is offered, and gives the same bits on
/// every level.
struct Target {
  CpuLevel level = CpuLevel::v2;

  /// The highest level that this machine offers.
  static Target host();
  /// "x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni"; "" and "host" mean host().
  static std::optional<Target> named(std::string_view name);
  /// The name that named() reads.
  std::string describe() const;
  /// LLVM's name of the processor, and the features to add to it.
  std::string processor() const;
  std::string features() const;
};

} // namespace penstock::codegen
