// The penstock command.

#include "api/c/penstock.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/Options.h"
#include "tools/penstock/Session.h"
#include <CLI/CLI.hpp>

using namespace penstock::cli;

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
  addFmt(app, exitCode);
  addOps(app, exitCode);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &error) {
    // Help and version are no errors; all else is the command line's fault.
    return app.exit(error) == 0 ? exitOk : exitUsage;
  }
  return exitCode;
}
