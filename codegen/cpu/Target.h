// SPDX-License-Identifier: Apache-2.0
//
// Targets of code generation: levels of CPU architectures, and their names.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace penstock::codegen {

/// Recorded in a kernel's schedule and in images; the numbers are those of runtime/abi/level.h,
/// of which x86-64's have names here.
enum class CpuLevel : int { v2 = 2, v3 = 3, v4 = 4, v4vnni = 5 };

/// A level of an architecture (runtime/abi/level.h). Code made for a level runs wherever it is
/// offered, and gives the same bits on every level.
struct Target {
  CpuLevel level = CpuLevel::v2;

  /// The highest level that this machine offers.
  static Target host();
  /// A level by its name, such as "x86-64-v3"; "" and "host" mean host().
  static std::optional<Target> named(std::string_view name);
  /// All names, for a message: "x86-64-v2, .. and armv8-a".
  static std::string names();
  /// The name that named() reads.
  std::string describe() const;
  /// Returns whether code made for `other` runs on all machines of this level.
  bool includes(const Target &other) const;
};

} // namespace penstock::codegen
