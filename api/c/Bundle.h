// SPDX-License-Identifier: Apache-2.0
//
// Compiled programs to carry elsewhere.
#pragma once

#include "api/c/Program.h"
#include "runtime/core/Status.h"

namespace penstock::api {

/// Cached compilations in one portable file: programs for some levels of the CPU, each with its
/// plan, which says how much memory that code needs; several per level where it was compiled for
/// all levels of transfers.
struct Bundle {
  struct Level {
    std::string target; ///< "x86-64-v3"
    std::vector<Compiled> programs;
  };
  /// Defaults of their parameters are what runs where nobody gives another value: of a static one
  /// what was compiled in.
  std::vector<Level> levels;
  std::vector<std::pair<std::string, std::string>>
      settings; ///< of parameters, when it was compiled

  bool has(const std::string &target) const;
  /// Returns the programs for the highest level that this machine offers. Unsupported if all are
  /// higher.
  runtime::Result<std::vector<Compiled>> take();

  /// Replaces the file in one step. The error names it.
  runtime::Status write(const std::string &path) const;
  /// Reads a bundle. Errors: NotFound; Corrupt for a damaged file, or no bundle; Unsupported for
  /// the format of another version.
  static runtime::Result<Bundle> read(const std::string &path);
  /// As read(), of a file's bytes; `path` is for messages.
  static runtime::Result<Bundle> parse(std::string bytes, const std::string &path);
};

} // namespace penstock::api
