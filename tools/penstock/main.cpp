// The penstock command.

#include "api/c/penstock.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/Options.h"
#include "tools/penstock/Session.h"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>

using namespace penstock::cli;

/// False, and a message, where the first word is no command of ours.
static bool knowsCommand(const CLI::App &app, const char *word) {
  const auto commands = app.get_subcommands(nullptr);
  const auto isNamed = [&](const CLI::App *command) { return command->check_name(word); };
  if (!word || *word == '-' || std::any_of(commands.begin(), commands.end(), isNamed))
    return true;
  std::fprintf(stderr, "penstock: error: there is no command `%s`; the commands are:", word);
  for (const CLI::App *command : commands)
    std::fprintf(stderr, " %s", command->get_name().c_str());
  std::fprintf(stderr, "\n");
  return false;
}

int main(int argc, char **argv) {
  CLI::App app("Penstock compiles the data side of a training job from a .pipe "
               "file and runs it.",
               "penstock");
  addFooter(app, "penstock run examples/imagenet_train.pipe --set root=photos");
  app.set_version_flag("--version", std::string("penstock ") + pst_version());
  app.require_subcommand(1);

  int exitCode = exitOk;
  addCheck(app, exitCode);
  addRun(app, exitCode);
  addCompile(app, exitCode);
  addExplain(app, exitCode);
  addSample(app, exitCode);
  addView(app, exitCode);
  addBench(app, exitCode);
  addIndex(app, exitCode);
  addPack(app, exitCode);
  addFmt(app, exitCode);
  addOps(app, exitCode);
  if (!knowsCommand(app, argv[1]))
    return exitUsage;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // Help and version are no errors; all else is the command line's fault.
    return app.exit(error) == 0 ? exitOk : exitUsage;
  }
  return exitCode;
}
