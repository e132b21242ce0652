// SPDX-License-Identifier: Apache-2.0
//
// penstock bench: the speed of a pipeline here, and its limit.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Progress.h"
#include "tools/penstock/Session.h"
#include "tools/penstock/Streams.h"
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

using namespace penstock::cli;

namespace {
struct BenchState {
  CompileOptions compile;
  RunOptions run;
  double seconds = 5;
  int64_t warmup = 2;
  bool json = false;
};
struct Measured {
  int64_t samples = 0;
  double seconds = 0;
  double cpuSeconds = 0;
  bool ok = false;
};
} // namespace

static double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// Takes batches (epoch after epoch) for some seconds, after `warmup` batches
/// that do not count.
static Measured measure(const BenchState &state, pst_session *session) {
  Measured result;
  double start = 0, cpuStart = 0;
  for (int64_t batches = 0;;) {
    if (batches == state.warmup) {
      start = now(CLOCK_MONOTONIC);
      cpuStart = now(CLOCK_PROCESS_CPUTIME_ID);
    }
    pst_batch *raw = nullptr;
    const pst_status status = pst_session_next(session, &raw);
    const BatchPtr batch(raw);
    if (status == PST_END_OF_EPOCH)
      continue;
    if (status != PST_OK) {
      std::fprintf(stderr, "penstock: error: %s\n", printable(pst_session_error(session)).c_str());
      return result;
    }
    if (++batches <= state.warmup)
      continue;
    result.samples += pst_batch_count(raw);
    result.seconds = now(CLOCK_MONOTONIC) - start;
    result.cpuSeconds = now(CLOCK_PROCESS_CPUTIME_ID) - cpuStart;
    if (result.seconds >= state.seconds)
      break;
  }
  result.ok = true;
  return result;
}

static int run(const BenchState &state) {
  const Interrupts interrupts;
  const ProgramPtr program = compile(state.compile);
  const SessionPtr session = openSession(program, state.run);
  if (!session)
    return exitError;
  pst_session_info info{};
  info.size = sizeof info;
  pst_session_get_info(session.get(), &info);
  const Measured measured = measure(state, session.get());
  if (!measured.ok)
    return exitError;
  const double rate = static_cast<double>(measured.samples) / measured.seconds;
  const double cpu = measured.cpuSeconds / static_cast<double>(measured.samples);
  if (!state.json) {
    std::printf("%s samples/s, %.1f us of processor time per sample, %d threads\n",
                grouped(static_cast<int64_t>(rate)).c_str(), cpu * 1e6, info.threads);
    std::fputs(summary(session.get()).c_str(), stdout);
    return exitOk;
  }
  const nlohmann::ordered_json result = {{"samples", measured.samples},
                                         {"seconds", measured.seconds},
                                         {"samples_per_second", rate},
                                         {"cpu_seconds_per_sample", cpu},
                                         {"threads", info.threads}};
  std::printf("%s\n", result.dump(2).c_str());
  return exitOk;
}

void penstock::cli::addBench(CommandLine &line) {
  auto state = std::make_shared<BenchState>();
  Command command = line.command("bench", "measure samples per second for some seconds");
  state->compile.addTo(command);
  state->run.addTo(command);
  command.option("--seconds", state->seconds, "how long; default: 5").positive();
  command.option("--warmup", state->warmup, "batches that do not count; default: 2")
      .within(0, std::numeric_limits<int64_t>::max());
  command.flag("--json", state->json, "report as JSON on stdout");
  command.runs("penstock bench train.pipe --set root=photos --seconds 10",
               [state] { return run(*state); });
}
