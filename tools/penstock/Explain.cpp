// penstock explain: what the compiler did, in words.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Program.h"
#include <CLI/CLI.hpp>

using namespace penstock::cli;

void penstock::cli::addExplain(CLI::App &app, int &exitCode) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App *command = app.add_subcommand(
      "explain", "say what the compiler decided and why: which parameters are static, what is fused, what "
                 "moves between kernels");
  options->addTo(*command);
  addFooter(*command, "penstock explain train.pipe --set size=128");
  command->callback([options, &exitCode] {
    exitCode = exitError;
    const ProgramPtr program = compile(*options, true);
    const char *text = nullptr;
    if (!program)
      return;
    if (pst_program_explain(program.get(), &text) != PST_OK) {
      std::fputs(pst_program_messages(program.get()), stderr);
      return;
    }
    std::fputs(text, stdout);
    exitCode = exitOk;
  });
}
