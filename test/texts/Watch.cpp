// SPDX-License-Identifier: Apache-2.0
//
// Work in a process that may die.
#include "test/texts/Watch.h"
#include "test/WholeTransfers.h"
#include <csignal>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

namespace penstock::texts {

namespace {

/// Numbers that one process does: what it leaves in memory does not add up.
constexpr uint64_t perProcess = 400;
/// Seconds of silence after which a process is taken to wait for ever.
constexpr int silenceSeconds = 120;
constexpr rlim_t memory = rlim_t(6) << 30;

/// Memory that both processes see.
struct Shared {
  volatile uint64_t number;
};

[[noreturn]] void child(Shared &shared, uint64_t end, int limitSeconds, int out, int errors,
                        const std::function<std::string(uint64_t)> &work) {
  dup2(errors, STDERR_FILENO);
  const rlimit none{0, 0}, most{memory, memory};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_AS, &most);
  for (; shared.number < end; shared.number = shared.number + 1) {
    const itimerval limit{{0, 0}, {limitSeconds, 0}};
    setitimer(ITIMER_PROF, &limit, nullptr); // ends the process
    const std::string fault = work(shared.number);
    const uint64_t head[2] = {shared.number, fault.size()};
    if (!test::writeAll(out, head, sizeof head) || !test::writeAll(out, fault.data(), fault.size()))
      _exit(1);
  }
  _exit(0);
}

/// Returns the end of a process, with its last output.
std::string epitaph(int status, int errors, int limitSeconds) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGPROF)
    return "hangs: more than " + std::to_string(limitSeconds) + " s of CPU time";
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
    return "hangs: nothing heard for " + std::to_string(silenceSeconds) + " s";
  std::string words(2000, '\0');
  const off_t size = lseek(errors, 0, SEEK_END);
  const ssize_t got = pread(errors, words.data(), words.size(), std::max<off_t>(0, size - 2000));
  words.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return "dies: " +
         (WIFSIGNALED(status) ? std::string(strsignal(WTERMSIG(status)))
                              : "exit " + std::to_string(WEXITSTATUS(status))) +
         (words.empty() ? "" : ": " + words);
}

} // namespace

void watch(uint64_t first, uint64_t end, int limitSeconds,
           const std::function<std::string(uint64_t)> &work,
           const std::function<void(uint64_t, const std::string &)> &found) {
  auto *shared = static_cast<Shared *>(
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  for (shared->number = first; shared->number < end;) {
    const uint64_t last = std::min(end, shared->number + perProcess);
    int pipes[2];
    const int errors = memfd_create("errors", 0);
    if (errors < 0 || pipe(pipes) != 0)
      throw std::runtime_error("no pipe");
    const pid_t process = fork();
    if (process == 0) {
      close(pipes[0]);
      child(*shared, last, limitSeconds, pipes[1], errors, work);
    }
    close(pipes[1]);
    for (;;) {
      pollfd ready{pipes[0], POLLIN, 0};
      uint64_t head[2];
      if (poll(&ready, 1, silenceSeconds * 1000) == 0)
        kill(process, SIGKILL);
      if (!test::readAll(pipes[0], head, sizeof head))
        break;
      std::string fault(head[1], '\0');
      if (!test::readAll(pipes[0], fault.data(), fault.size()))
        break;
      if (!fault.empty())
        found(head[0], fault);
    }
    close(pipes[0]);
    int status = 0;
    waitpid(process, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
      found(shared->number, epitaph(status, errors, limitSeconds));
      shared->number = shared->number + 1;
    }
    close(errors);
  }
  munmap(shared, sizeof(Shared));
}

} // namespace penstock::texts
