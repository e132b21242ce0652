// penstock compile: machine code, or what any stage before it looks like.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Program.h"
#include <chrono>
#include <cstring>
#include <fstream>
#include <unistd.h>

using namespace penstock::cli;

namespace {
struct State {
  CompileOptions compile;
  std::string emit, gpu;
  std::string output;
};
} // namespace

static int writeResult(const State &state, const char *data, size_t length) {
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

static int run(const State &state) {
  CompileOptions options = state.compile;
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
  const std::string stage = state.emit + (state.gpu.empty() ? "" : ":" + state.gpu);
  if (pst_program_emit(program.get(), stage.c_str(), &data, &length) != PST_OK) {
    std::fputs(pst_program_messages(program.get()), stderr);
    return exitError;
  }
  return writeResult(state, data, length);
}

void penstock::cli::addCompile(CommandLine &line) {
  auto state = std::make_shared<State>();
  Command command = line.command("compile", "compile a file, or print one of the compiler's stages");
  state->compile.addTo(command);
  command.option("--emit", state->emit, "print this stage")
      .oneOf({"ast", "pipe", "pipe-opt", "kernels", "schedule", "loops", "llvm",
                             "asm", "obj", "cuda", "ptx", "cubin"});
  command
      .option("--gpu", state->gpu,
                   "for ptx and cubin: the GPU's architecture; default: sm_75, the oldest")
      .typeName("ARCH");
  command.option("-o,--output", state->output, "write to this file; default: stdout");
  command.runs("penstock compile train.pipe --emit kernels", [state] { return run(*state); });
}
