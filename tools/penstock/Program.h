// SPDX-License-Identifier: Apache-2.0
//
// Compiling, as the commands need it.
#pragma once

#include "api/c/penstock.h"
#include "tools/penstock/Options.h"
#include <memory>

namespace penstock::cli {

struct ReleaseProgram {
  void operator()(pst_program *program) const { pst_program_release(program); }
};
using ProgramPtr = std::unique_ptr<pst_program, ReleaseProgram>;

/// A program with its messages, or why the file could not be read.
struct Compilation {
  ProgramPtr program; ///< null: the file could not be read
  bool good = false;  ///< no errors
  std::string why;
};

/// Reads and compiles the file, or loads it where it is a bundle; prints nothing.
Compilation compileQuietly(const CompileOptions &options, bool checkOnly);
/// Compiles as compileQuietly(); prints messages to stderr, and returns null after errors.
ProgramPtr compile(const CompileOptions &options, bool checkOnly = false);
/// Compiles for the levels that `--target` lists and writes a bundle; the program cannot be run.
ProgramPtr compileBundle(const CompileOptions &options, const std::string &path);

} // namespace penstock::cli
