// SPDX-License-Identifier: Apache-2.0
//
// penstock compile: machine code, or the text of any stage before it.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Files.h"
#include "tools/penstock/Program.h"
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace penstock::cli;

namespace {
struct CompileState {
  CompileOptions compile;
  std::string emit;
  std::string output;
};
} // namespace

static int writeStage(const CompileState &state, const char *data, size_t length) {
  if (!state.output.empty() && state.output != "-") {
    std::ofstream file(state.output, std::ios::binary);
    file.write(data, static_cast<std::streamsize>(length));
    if (file.flush())
      return exitOk;
    std::fprintf(stderr, "penstock: error: cannot write %s: %s\n", state.output.c_str(),
                 std::strerror(errno));
    return exitError;
  }
  if ((state.emit == "obj" || state.emit == "cubin") && isatty(STDOUT_FILENO)) {
    std::fprintf(stderr,
                 "penstock: error: machine code is not for a terminal; give it a name with -o\n");
    return exitUsage;
  }
  return std::fwrite(data, 1, length, stdout) == length ? exitOk : exitError;
}

/// `train.pstk: imagenet_train for 3 levels of the CPU, 412 KiB, in 640 ms`.
static int writeBundle(const CompileState &state) {
  if (!state.output.ends_with(".pstk")) {
    std::fprintf(stderr, "penstock: error: what -o writes is a bundle, whose name ends in .pstk; "
                         "--emit prints a stage\n");
    return exitUsage;
  }
  const auto start = std::chrono::steady_clock::now();
  const ProgramPtr program = compileBundle(state.compile, state.output);
  if (!program)
    return exitError;
  const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
  std::error_code gone; // then it has no bytes
  const uintmax_t bytes = std::filesystem::file_size(state.output, gone);
  std::printf("%s: %s, %ju KiB, in %.0f ms; `penstock-run %s` runs it\n", state.output.c_str(),
              pst_program_name(program.get()), (gone ? 0 : bytes + 1023) / 1024, time.count(),
              state.output.c_str());
  return exitOk;
}

static int run(const CompileState &state) {
  CompileOptions options = state.compile;
  if (!keepsWhatIsRead({{"-o", state.output}}, {options.file, options.machine}))
    return exitUsage;
  if (state.emit.empty() && !state.output.empty())
    return writeBundle(state);
  // With --gpu, the kernels that it runs beside the host; else all kernels.
  std::string gpu;
  if (state.emit == "ptx" || state.emit == "cubin")
    gpu = options.gpu;
  const auto start = std::chrono::steady_clock::now();
  // The stages before code need no code.
  const ProgramPtr program = compile(options, !state.emit.empty());
  if (!program)
    return exitError;
  if (state.emit.empty()) {
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
    std::printf("%s: compiled in %.0f ms%s\n", pst_program_name(program.get()), time.count(),
                pst_program_from_cache(program.get()) ? " (from the cache)" : "");
    return exitOk;
  }
  const char *data = nullptr;
  size_t length = 0;
  const std::string stage = state.emit + (gpu.empty() ? "" : ":" + gpu);
  if (pst_program_emit(program.get(), stage.c_str(), &data, &length) != PST_OK) {
    std::fputs(pst_program_messages(program.get()), stderr);
    return exitError;
  }
  return writeStage(state, data, length);
}

void penstock::cli::addCompile(CommandLine &line) {
  auto state = std::make_shared<CompileState>();
  Command command = line.command(
      "compile",
      "compile a file, write a bundle that runs elsewhere, or print one of the compiler's stages");
  state->compile.addTo(command);
  command.option("--emit", state->emit, "print this stage")
      .oneOf({"ast", "pipe", "pipe-opt", "kernels", "schedule", "loops", "llvm", "asm", "obj",
              "cuda", "ptx", "cubin"});
  command.option(
      "-o,--output", state->output,
      "write to this file: the stage (default: stdout), or without --emit a bundle, train.pstk, "
      "with code for the levels of --target");
  command.runs("penstock compile train.pipe -o train.pstk", [state] { return run(*state); });
}
