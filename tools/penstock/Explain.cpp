// SPDX-License-Identifier: Apache-2.0
//
// penstock explain: the compiler's decisions, as a picture and in words.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Files.h"
#include "tools/penstock/Overview.h"
#include "tools/penstock/Program.h"
#include "tools/penstock/Transfers.h"
#include <nlohmann/json.hpp>

using namespace penstock::cli;
using nlohmann::ordered_json;

namespace {
struct ExplainState {
  CompileOptions compile;
  bool all = false, json = false;
  std::string svg;
  std::string profile;
};
} // namespace

static bool refuse(const std::string &path) {
  std::fprintf(stderr, "penstock: error: %s was not written by `penstock run --profile`\n",
               path.c_str());
  return false;
}

/// Reads what `run --profile` wrote. False, and a message, where it is something else.
static bool readProfile(const std::string &path, const std::string &pipeline,
                        ordered_json &profile) {
  std::string why;
  const std::optional<std::string> text = readText(path, why);
  if (!text) {
    std::fprintf(stderr, "penstock: error: %s\n", why.c_str());
    return false;
  }
  profile = ordered_json::parse(*text, nullptr, false);
  const bool isProfile = profile.is_object() && profile.contains("kernels") &&
                         profile["kernels"].is_object() && profile.contains("stages") &&
                         profile["stages"].is_object() && profile.contains("pipeline") &&
                         profile["pipeline"].is_string();
  if (!isProfile)
    return refuse(path);
  if (const std::string of = profile["pipeline"]; of != pipeline) {
    std::fprintf(stderr, "penstock: error: %s is a profile of pipeline `%s`, and this is `%s`\n",
                 path.c_str(), of.c_str(), pipeline.c_str());
    return false;
  }
  return true;
}

/// Prints the costs of each transfer level. Returns the exit code.
static int runTransfers(const ExplainState &state, pst_program *program) {
  const char *text = nullptr;
  if (pst_program_transfers(program, &text) != PST_OK) {
    std::fputs(pst_program_messages(program), stderr);
    return exitError;
  }
  const std::string shown = state.json ? text : transfersText(ordered_json::parse(text));
  std::fputs(shown.c_str(), stdout);
  return exitOk;
}

static int run(const ExplainState &state) {
  if (!keepsWhatIsRead({{"--svg", state.svg}},
                       {state.compile.file, state.compile.machine, state.profile}))
    return exitUsage;
  const ProgramPtr program = compile(state.compile, true);
  if (!program)
    return exitError;
  if (state.compile.transfer == "all")
    return runTransfers(state, program.get());
  const char *text = nullptr;
  if ((state.all ? pst_program_explain : pst_program_overview)(program.get(), &text) != PST_OK) {
    std::fputs(pst_program_messages(program.get()), stderr);
    return exitError;
  }
  if (state.all || state.json) {
    std::fputs(text, stdout);
    return exitOk;
  }
  const ordered_json graph = ordered_json::parse(text);
  ordered_json profile;
  if (!state.profile.empty() && !readProfile(state.profile, graph["pipeline"], profile))
    return exitError;
  Overview overview;
  try {
    overview = overviewOf(graph, state.profile.empty() ? nullptr : &profile);
  } catch (const ordered_json::exception &) { // a number that is none
    refuse(state.profile);
    return exitError;
  }
  if (!state.svg.empty())
    return writeResult(state.svg, overviewSvg(overview)) ? exitOk : exitError;
  std::fputs(overviewText(overview).c_str(), stdout);
  return exitOk;
}

void penstock::cli::addExplain(CommandLine &line) {
  auto state = std::make_shared<ExplainState>();
  Command command = line.command(
      "explain",
      "draw what the compiler made of a pipeline: what is decoded, which operators are one "
      "kernel, what moves between kernels and why they are not one");
  state->compile.addTo(command);
  const Option all =
      command.flag("--all", state->all,
                   "all in words: every kernel and decision, and which parameters are static");
  command.option("--svg", state->svg, "write the picture to this file, as SVG; - is stdout")
      .typeName("FILE")
      .excludes(all);
  command.flag("--json", state->json, "the picture as JSON, for programs").excludes(all);
  command
      .option("--profile", state->profile,
              "show where the time went: a file that `penstock run --profile FILE` wrote")
      .typeName("FILE")
      .excludes(all);
  command.runs("penstock explain train.pipe --set size=128 --svg train.svg",
               [state] { return run(*state); });
}
