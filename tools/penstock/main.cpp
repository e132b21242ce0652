// The penstock command.

#include "api/c/penstock.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/Options.h"
#include "tools/penstock/Session.h"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

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

/// A closed standard stream must not become the first file that is opened. What
/// cannot be written is seen at the end: a reader that has gone ends no program.
static void holdStandardStreams() {
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", O_RDONLY); // takes the lowest number
  std::signal(SIGPIPE, SIG_IGN);
}

/// The exit code, or, where results are lost, a message and that of an error.
static int finish(int exitCode) {
  errno = 0;
  if (std::ferror(stdout))
    (void)!write(STDOUT_FILENO, "\n", 1); // asks again why
  else if (std::fflush(stdout) == 0)
    return exitCode;
  std::fprintf(stderr, "penstock: error: cannot write to stdout%s%s\n", errno ? ": " : "",
               errno ? std::strerror(errno) : "");
  return exitCode == exitOk ? exitError : exitCode;
}

int main(int argc, char **argv) {
  holdStandardStreams();
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
    return finish(app.exit(error) == 0 ? exitOk : exitUsage);
  }
  return finish(exitCode);
}
