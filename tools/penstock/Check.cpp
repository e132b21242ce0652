// penstock check: is the file right, and which parameters does it have.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Program.h"
#include <CLI/CLI.hpp>
#include <cstring>

using namespace penstock::cli;

namespace {
struct State {
  CompileOptions compile;
  bool json = false;
};
} // namespace

static void printParameters(const pst_program *program) {
  const size_t count = pst_program_parameter_count(program);
  std::printf("%s: no errors\n", pst_program_name(program));
  size_t width = 0;
  for (size_t i = 0; i < count; ++i)
    width =
        std::max(width, std::strlen(pst_program_parameter(program, i)->name));
  for (size_t i = 0; i < count; ++i) {
    const pst_parameter_info &info = *pst_program_parameter(program, i);
    std::printf("  %-*s  %-9s %-8s %s%s%s\n", static_cast<int>(width),
                info.name, info.type, info.is_static ? "static" : "run-time",
                info.default_value ? info.default_value : "(must be given)",
                *info.doc ? "  " : "", info.doc);
  }
}

void penstock::cli::addCheck(CLI::App &app, int &exitCode) {
  auto state = std::make_shared<State>();
  CLI::App *command =
      app.add_subcommand("check", "check a file and list its parameters");
  state->compile.addTo(*command);
  command->add_flag("--json", state->json,
                    "messages as a JSON array on stdout");
  addFooter(*command, "penstock check train.pipe");
  command->callback([state, &exitCode] {
    const ProgramPtr program = compile(
        state->compile, true, state->json ? Messages::json : Messages::text);
    if (program && !state->json)
      printParameters(program.get());
    exitCode = program ? exitOk : exitError;
  });
}
