// SPDX-License-Identifier: Apache-2.0
//
// Sessions, as the commands need them.

#include "tools/penstock/Session.h"
#include "tools/penstock/Streams.h"
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <pthread.h>
#include <sstream>
#include <system_error>
#include <unistd.h>

using namespace penstock::cli;

/// A GPU's number; a usage error ends the program.
static int32_t parseDevice(const std::string &text) {
  char *end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  const bool isDigit = text[0] >= '0' && text[0] <= '9'; // strtol() skips blanks and takes signs
  if (!isDigit || *end || number > 4096) {
    std::fprintf(stderr,
                 "penstock: error: --device wants the number of a GPU, or `cpu`, but found `%s`\n",
                 text.c_str());
    std::exit(exitUsage);
  }
  return static_cast<int32_t>(number);
}

/// "fail", "5%" or "0.05"; usage errors end the program.
static double parseOnError(const std::string &text) {
  if (text == "fail")
    return -1;
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() && *end == '%') {
    value /= 100;
    ++end;
  }
  if (text.empty() || *end || !(value >= 0 && value <= 1)) { // NaN, too
    std::fprintf(stderr,
                 "penstock: error: --on-error wants `fail` or a fraction such as 1%%, "
                 "but found "
                 "`%s`\n",
                 text.c_str());
    std::exit(exitUsage);
  }
  return value;
}

/// Prints how to give a value to a parameter that has no default and no value.
static void hintAtMissing(const pst_program *program, const std::string &error) {
  for (size_t i = 0; i < pst_program_parameter_count(program); ++i) {
    const std::string name = pst_program_parameter(program, i)->name;
    if (error == "parameter `" + name + "` needs a value")
      std::fprintf(stderr, "hint: `--set %s=...`\n", name.c_str());
  }
}

SessionPtr penstock::cli::openSession(const ProgramPtr &program, const RunOptions &options,
                                      Wanted wanted) {
  if (!program)
    return nullptr;
  pst_session_options run = PST_SESSION_OPTIONS_INIT;
  double onError = 0;
  if (options.seed)
    run.seed = &*options.seed;
  if (!options.onError.empty()) {
    onError = parseOnError(options.onError);
    run.on_error = &onError;
  }
  if (options.device == "cpu")
    run.device = PST_DEVICE_CPU;
  else if (!options.device.empty())
    run.device_number = parseDevice(options.device);
  run.epoch = options.epoch;
  run.rank = options.rank;
  run.world = options.world;
  run.threads = options.threads;
  run.prefetch = options.prefetch;
  run.fetch_threads = options.fetchThreads;
  run.memory_budget = options.memory << 20;
  const std::vector<const char *> allowed = pointersTo(options.allowed);
  run.allowed_folders = allowed.data();
  run.allowed_folder_count = allowed.size();
  run.remote_cache = options.remoteCache.empty() ? nullptr : options.remoteCache.c_str();
  run.remote_cache_bytes = options.remoteCacheBytes;
  run.samples_only = wanted == Wanted::Samples;
  pst_session *raw = nullptr;
  const pst_status status = pst_session_open(program.get(), &run, &raw);
  SessionPtr session(raw);
  std::istringstream warnings(pst_session_warnings(raw));
  for (std::string line; std::getline(warnings, line);)
    std::fprintf(stderr, "penstock: warning: %s\n", line.c_str());
  if (status == PST_OK)
    return session;
  std::fprintf(stderr, "penstock: error: %s\n", printable(pst_session_error(raw)).c_str());
  hintAtMissing(program.get(), pst_session_error(raw));
  return nullptr;
}

static sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

Interrupts::Interrupts() {
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  try {
    waiter = std::thread([this] { wait(); });
  } catch (const std::system_error &) { // then an interrupt ends the process, whatever it does
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  }
}

void Interrupts::wait() {
  const sigset_t set = interrupts();
  const timespec tick{0, 50'000'000};
  // `timeout` sends two of what is one: to the process, and to its group.
  constexpr std::chrono::milliseconds together{200};
  std::chrono::steady_clock::time_point first;
  while (!done) {
    if (sigtimedwait(&set, nullptr, &tick) <= 0)
      continue;
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard guard(lock);
    if (wasSeen && now - first < together)
      continue;
    if (wasSeen || !action) {
      std::fputs("interrupted\n", stderr);
      _exit(exitInterrupted);
    }
    first = now;
    wasSeen = true;
    action();
  }
}

void Interrupts::whenSeen(std::function<void()> wanted) {
  const std::lock_guard guard(lock);
  action = std::move(wanted);
}

Interrupts::~Interrupts() {
  done = true;
  if (!waiter.joinable())
    return;
  waiter.join();
  // What is still to be written may find no reader: the process ends there as any does.
  const sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}
