// SPDX-License-Identifier: Apache-2.0
//
// Traits of an architecture for LLVM and the linker. Each has a file.
#pragma once

#include "codegen/cpu/Target.h"
#include "runtime/abi/level.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

namespace penstock::codegen {

/// A place in code or data that refers to another; both as bytes from the beginning of the image.
struct Reference {
  uint32_t type; ///< as ELF numbers it
  uint64_t place;
  int64_t to; ///< with what is to be added
  uint8_t *bytes;
};

/// A level as LLVM names it.
struct Processor {
  const char *name;
  const char *features = "";        ///< to add
  const char *vectorBits = nullptr; ///< to prefer, where LLVM would take fewer
};

struct Architecture {
  const char *triple;
  const char *intrinsics; ///< prefix of the names of its own
  uint64_t page;          ///< that code and data may not share
  void (*initialise)();   ///< LLVM's part of it; takes its time, once
  Processor (*processorOf)(CpuLevel level);
  /// The lowest level that has an intrinsic which schedules ask for by name.
  std::optional<CpuLevel> (*levelOf)(llvm::StringRef intrinsic);
  enum class Fit { yes, tooFar, notRelative };
  /// Writes a PC-relative reference.
  Fit (*relocate)(const Reference &reference);
};

extern const Architecture x86, arm64;
/// By the numbers of level::Architecture.
inline constexpr const Architecture *architectures[] = {&x86, &arm64};

inline const Architecture &architectureOf(const Target &target) {
  return *architectures[static_cast<size_t>(
      level::architectureOf(static_cast<int64_t>(target.level)))];
}

} // namespace penstock::codegen
