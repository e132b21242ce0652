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

enum class Messages { text, json };

/// Reads and compiles the file. Prints messages to stderr (json: to stdout);
/// null where there were errors.
ProgramPtr compile(const CompileOptions &options, bool checkOnly = false,
                   Messages messages = Messages::text);

} // namespace penstock::cli
