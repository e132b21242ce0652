// SPDX-License-Identifier: Apache-2.0
//
// The standard streams, from a program's begin to its end.

#include "tools/penstock/Streams.h"
#include "tools/penstock/Options.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace penstock::cli;

std::string penstock::cli::printable(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool isCommand = ((c >= 0 && c < ' ') || c == 0x7f) && c != '\n' && c != '\t';
    char code[8] = {c, '\0'};
    if (isCommand)
      std::snprintf(code, sizeof code, "\\x%02x", unsigned(c));
    result += code;
  }
  return result;
}

void penstock::cli::holdStandardStreams() {
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", O_RDONLY); // takes the lowest number
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

int penstock::cli::finish(int exitCode) {
  errno = 0;
  if (std::ferror(stdout))
    (void)!write(STDOUT_FILENO, "\n", 1); // asks again why
  else if (std::fflush(stdout) == 0)
    return exitCode;
  if (errno == EPIPE) { // `penstock ops | head`: the reader has what it wants
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  std::fprintf(stderr, "penstock: error: cannot write to stdout%s%s\n", errno ? ": " : "",
               errno ? std::strerror(errno) : "");
  return exitCode == exitOk ? exitError : exitCode;
}
