// The penstock command.

#include "api/c/penstock.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/Options.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>

using namespace penstock::cli;

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
  CommandLine line("Penstock compiles the data side of a training job from a .pipe file and runs it.",
                   "penstock", (std::string("penstock ") + pst_version()).c_str(),
                   "penstock run examples/imagenet_train.pipe --set root=photos");
  addCheck(line);
  addRun(line);
  addCompile(line);
  addExplain(line);
  addSample(line);
  addView(line);
  addBench(line);
  addIndex(line);
  addPack(line);
  addFmt(line);
  addOps(line);
  addAccelerate(line);
  return finish(line.run(argc, argv));
}
