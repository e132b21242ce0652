// SPDX-License-Identifier: Apache-2.0
//
// penstock run: every batch of some epochs, delivered and dropped.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Files.h"
#include "tools/penstock/Progress.h"
#include "tools/penstock/Session.h"
#include "tools/penstock/Streams.h"
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <unistd.h>
#include <vector>

using namespace penstock::cli;

namespace {
struct RunState {
  CompileOptions compile;
  RunOptions run;
  uint32_t epochs = 1;
  int64_t batches = 0;
  std::string stateFile;
  std::string hashes;
  std::string profile;
  bool json = false;
};
} // namespace

static bool isOfSameSample(const pst_bad_sample &a, const pst_bad_sample &b) {
  return a.epoch == b.epoch && a.position == b.position;
}

static std::string amount(size_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

static void printBadSamples(pst_session *session) {
  const pst_bad_sample *bad = nullptr;
  size_t count = 0;
  pst_session_bad_samples(session, &bad, &count);
  constexpr size_t shown = 20;
  std::vector<bool> isSubstitute(count);
  for (size_t i = 0; i < count; ++i)
    for (size_t before = i; before-- > 0 && isOfSameSample(bad[before], bad[i]);)
      isSubstitute[i] = isSubstitute[i] || bad[before].substitute == bad[i].row;
  for (size_t i = 0; i < std::min(count, shown); ++i)
    std::fprintf(stderr, "bad %s: epoch %u, position %lld: %s: %s\n",
                 isSubstitute[i] ? "substitute" : "sample", bad[i].epoch,
                 static_cast<long long>(bad[i].position), printable(bad[i].name).c_str(),
                 printable(bad[i].reason).c_str());
  if (count > shown)
    std::fprintf(stderr, "... and %zu more (all of them with --json)\n", count - shown);
  if (count == 0)
    return;
  const auto substitutes = size_t(std::count(isSubstitute.begin(), isSubstitute.end(), true));
  std::string sum = amount(count - substitutes, "bad sample");
  if (std::all_of(bad, bad + count, [](const auto &one) { return one.substitute >= 0; }))
    sum += ", each filled by a substitute";
  if (substitutes > 0)
    sum += "; " + amount(substitutes, "substitute") + (substitutes == 1 ? " was" : " were") +
           " bad, too";
  std::fprintf(stderr, "%s\n", sum.c_str());
}

static nlohmann::ordered_json videosOf(const pst_video_statistics &videos) {
  nlohmann::ordered_json result = {
      {"packets", videos.packets},           {"restarts", videos.restarts},
      {"indexes_made", videos.indexes_made}, {"indexes_reused", videos.indexes_reused},
      {"index_bytes", videos.index_bytes},   {"late_bytes", videos.late_bytes}};
  for (const pst_video_reading &reading : videos.readings)
    if (reading.count > 0)
      result["clips"][reading.name] = reading.count;
  return result;
}

static void printJson(pst_session *session) {
  pst_statistics numbers{};
  numbers.size = sizeof numbers;
  pst_session_statistics(session, &numbers);
  nlohmann::ordered_json result;
  result["samples"] = numbers.samples;
  result["batches"] = numbers.batches;
  result["seconds"] = static_cast<double>(numbers.elapsed_ns) * 1e-9;
  result["samples_per_second"] =
      numbers.elapsed_ns > 0
          ? static_cast<double>(numbers.samples) * 1e9 / static_cast<double>(numbers.elapsed_ns)
          : 0.0;
  result["threads"] = numbers.threads;
  result["limit"] = numbers.limit;
  pst_session_info info{};
  info.size = sizeof info;
  pst_session_get_info(session, &info);
  result["processors"] = {{"mask", info.processors}};
  if (info.processor_quota > 0) {
    result["processors"]["quota"] = info.processor_quota;
    result["processors"]["limit"] = info.processor_limit;
  }
  result["memory"] = {{"fixed", info.fixed_memory}, {"most_per_sample", info.sample_memory}};
  if (info.device_memory || info.pinned_memory) {
    result["memory"]["gpu"] = info.device_memory;
    result["memory"]["pinned"] = info.pinned_memory;
  }
  result["decoded_blocks"] = numbers.decoded_blocks;
  for (const pst_jpeg_statistics &path : numbers.jpeg_entropy)
    if (path.count > 0)
      result["jpeg_entropy"][path.name] = path.count;
  if (numbers.index_uses + numbers.index_misses > 0)
    result["jpeg_index"] = {{"uses", numbers.index_uses}, {"misses", numbers.index_misses}};
  if (numbers.videos.packets + numbers.videos.indexes_made > 0)
    result["videos"] = videosOf(numbers.videos);
  result["fetched_bytes"] = numbers.fetched_bytes;
  result["delivered_bytes"] = numbers.delivered_bytes;
  for (const pst_stage_statistics &stage : numbers.stages)
    result["stages"][stage.name] = {{"count", stage.count}, {"busy_ns", stage.busy_ns}};
  const pst_bad_sample *bad = nullptr;
  size_t count = 0;
  pst_session_bad_samples(session, &bad, &count);
  result["bad_samples"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < count; ++i)
    result["bad_samples"].push_back({{"epoch", bad[i].epoch},
                                     {"position", bad[i].position},
                                     {"row", bad[i].row},
                                     {"name", bad[i].name},
                                     {"reason", bad[i].reason},
                                     {"substitute", bad[i].substitute}});
  std::printf("%s\n", result.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

/// For `explain --profile`.
static bool writeProfile(const std::string &path, const pst_program *program,
                         pst_session *session) {
  pst_statistics numbers{};
  numbers.size = sizeof numbers;
  pst_session_statistics(session, &numbers);
  nlohmann::ordered_json result = {{"version", 1},
                                   {"pipeline", pst_program_name(program)},
                                   {"samples", numbers.samples},
                                   {"elapsed_ns", numbers.elapsed_ns},
                                   {"threads", numbers.threads},
                                   {"limit", numbers.limit}};
  for (const pst_stage_statistics &stage : numbers.stages)
    result["stages"][stage.name] = {{"count", stage.count}, {"busy_ns", stage.busy_ns}};
  const pst_kernel_statistics *kernels = nullptr;
  size_t count = 0;
  pst_session_kernels(session, &kernels, &count);
  result["kernels"] = nlohmann::ordered_json::object();
  for (size_t i = 0; i < count; ++i)
    result["kernels"][kernels[i].name] = {{"count", kernels[i].count},
                                          {"busy_ns", kernels[i].busy_ns}};
  return replaceFile(path, result.dump(2) + "\n");
}

static bool restoreState(pst_session *session, const std::string &path) {
  if (access(path.c_str(), F_OK) != 0)
    return true; // nothing to resume from: a first run
  std::string why;
  const std::optional<std::string> text = readFile(path, why);
  if (!text) {
    std::fprintf(stderr, "penstock: error: %s\n", why.c_str());
    return false;
  }
  const std::string state = text->substr(0, text->find('\n'));
  if (pst_session_restore(session, state.c_str()) == PST_OK)
    return true;
  std::fprintf(stderr, "penstock: error: %s: %s\n", path.c_str(),
               printable(pst_session_error(session)).c_str());
  return false;
}

/// False where the disk is full.
static bool writeHashes(std::ostream &file, const pst_batch *batch) {
  char line[64];
  const int64_t *positions = pst_batch_positions(batch);
  for (int64_t slot = 0; slot < pst_batch_count(batch); ++slot) {
    std::snprintf(line, sizeof line, "%u %lld %016llx\n", pst_batch_epoch(batch),
                  static_cast<long long>(positions[slot]),
                  static_cast<unsigned long long>(pst_batch_content_hash(batch, slot)));
    file << line;
  }
  return bool(file.flush());
}

static int cannotWrite(const std::string &path) {
  std::fprintf(stderr, "penstock: error: cannot write %s: %s\n", path.c_str(),
               std::strerror(errno));
  return exitError;
}

static int runAll(const RunState &state, const pst_program *program, pst_session *session,
                  const Interrupts &interrupts) {
  pst_session_info info{};
  info.size = sizeof info;
  pst_session_get_info(session, &info);
  if (!state.json && isatty(STDERR_FILENO))
    std::fprintf(stderr,
                 "%s rows, %s samples of this rank per epoch in batches of %s; %d "
                 "threads, %s MiB fixed, at most %s MiB for one sample\n",
                 grouped(info.table_length).c_str(), grouped(info.samples_per_epoch).c_str(),
                 grouped(info.batch_size).c_str(), info.threads,
                 grouped(static_cast<int64_t>((info.fixed_memory + (1 << 20) - 1) >> 20)).c_str(),
                 grouped(static_cast<int64_t>(info.sample_memory >> 20)).c_str());
  std::ofstream file;
  std::ostream *hashes = state.hashes == "-" ? &std::cout : nullptr;
  if (!state.hashes.empty() && !hashes) {
    file.open(state.hashes, std::ios::app);
    if (!file)
      return cannotWrite(state.hashes);
    hashes = &file;
  }

  Progress progress(info.samples_per_epoch);
  const auto saveState = [&] {
    return state.stateFile.empty() ||
           replaceFile(state.stateFile, pst_session_state(session) + std::string("\n"));
  };
  int64_t batches = 0, samples = 0;
  int64_t epochs = int64_t(info.epoch) - state.run.epoch; // of a resumed run: those behind it
  pst_status status = PST_OK;
  while (epochs < state.epochs && (state.batches == 0 || batches < state.batches)) {
    pst_batch *raw = nullptr;
    status = pst_session_next(session, &raw);
    const BatchPtr batch(raw);
    if (status == PST_END_OF_EPOCH) {
      ++epochs;
      samples = 0;
      if (!saveState())
        return exitError;
      continue;
    }
    if (status != PST_OK)
      break;
    ++batches;
    samples += pst_batch_count(raw);
    if (hashes && !writeHashes(*hashes, raw))
      return cannotWrite(state.hashes);
    if (!saveState())
      return exitError;
    progress.update(session, pst_batch_epoch(raw), samples);
  }
  progress.finish();
  if (state.json)
    printJson(session);
  else
    printBadSamples(session);
  if (status == PST_ERROR) {
    std::fprintf(stderr, "penstock: error: %s\n", printable(pst_session_error(session)).c_str());
    return exitError;
  }
  if (!state.profile.empty() && !writeProfile(state.profile, program, session))
    return exitError;
  if (!state.json)
    std::fputs(summary(session).c_str(), stdout);
  if (interrupts.seen()) {
    std::fputs("interrupted\n", stderr);
    return exitInterrupted;
  }
  return exitOk;
}

static int run(const RunState &state) {
  constexpr int64_t all = int64_t(1) << 32;
  if (state.run.epoch + int64_t(state.epochs) > all) {
    std::fprintf(
        stderr, "penstock: error: --epoch %lld and --epochs %u go beyond the last epoch, %lld\n",
        static_cast<long long>(state.run.epoch), state.epochs, static_cast<long long>(all - 1));
    return exitUsage;
  }
  if (!wantsFiles({{"--profile", state.profile}, {"--state", state.stateFile}}) ||
      !keepsWhatIsRead(
          {{"--profile", state.profile}, {"--hashes", state.hashes}, {"--state", state.stateFile}},
          {state.compile.file, state.compile.machine}))
    return exitUsage;
  Interrupts interrupts;
  const ProgramPtr program = compile(state.compile);
  if (!program)
    return exitError;
  const SessionPtr session = openSession(program, state.run);
  if (!session || (!state.stateFile.empty() && !restoreState(session.get(), state.stateFile)))
    return exitError;
  interrupts.whenSeen([&session] { pst_session_cancel(session.get()); });
  const int code = runAll(state, program.get(), session.get(), interrupts);
  interrupts.whenSeen([] {}); // the session ends before they do
  return code;
}

static void addOptions(Command &command, const std::shared_ptr<RunState> &state) {
  state->run.addTo(command);
  command
      .option("--epochs", state->epochs,
              "epochs to run, with those that a resumed run has behind it; default: 1")
      .within(0, std::numeric_limits<uint32_t>::max());
  command.option("--batches", state->batches, "stop after so many batches; default: 0, at the end")
      .within(0, std::numeric_limits<int64_t>::max());
  command.option("--state", state->stateFile,
                 "resume from this file if it is there, and save the "
                 "state in it after each "
                 "batch");
  command.option("--hashes", state->hashes,
                 "append `epoch position hash` of every sample to this file; - is stdout");
  command
      .option("--profile", state->profile,
              "write where the time went to this file, for `penstock explain --profile`")
      .typeName("FILE");
  command.flag("--json", state->json, "report as JSON on stdout");
}

void penstock::cli::addRunBundle(CommandLine &line) {
  auto state = std::make_shared<RunState>();
  Command command = line.only();
  state->compile.addBundleTo(command);
  addOptions(command, state);
  command.runs("penstock-run train.pstk --set root=photos", [state] { return run(*state); });
}

void penstock::cli::addRun(CommandLine &line) {
  auto state = std::make_shared<RunState>();
  Command command =
      line.command("run", "compile a file, or load a bundle, and run it over its data");
  state->compile.addTo(command);
  addOptions(command, state);
  command.runs("penstock run train.pipe --set root=photos --set per_rank=64",
               [state] { return run(*state); });
}
