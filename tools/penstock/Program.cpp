// SPDX-License-Identifier: Apache-2.0
//
// Compiling, as the commands need it.

#include "tools/penstock/Program.h"
#include "tools/penstock/Files.h"
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace penstock::cli;

static Compilation loadBundle(const CompileOptions &options,
                              const std::vector<pst_parameter> &parameters, bool forAnother) {
  Compilation result;
  const std::pair<const char *, bool> others[] = {
      {"-o", forAnother},
      {"--pipeline", !options.pipeline.empty()},
      {"--disable-pass", !options.disabledPasses.empty()},
      {"--target", !options.target.empty()},
      {"--gpu", !options.gpu.empty()},
      {"--transfer", !options.transfer.empty()},
      {"--machine", !options.machine.empty()},
      {"--from", !options.from.empty()},
      {"--no-cache", options.noCache}};
  for (auto [name, given] : others)
    if (given) {
      result.why = options.file + " is compiled: " + name + " does not apply to a bundle";
      return result;
    }
  pst_program *raw = nullptr;
  result.good =
      pst_program_load(options.file.c_str(), parameters.data(), parameters.size(), &raw) == PST_OK;
  result.program.reset(raw);
  return result;
}

/// `levels`: of a bundle that is written to `bundle`; null: a program to run.
static Compilation compileFile(const CompileOptions &options, bool checkOnly,
                               const std::vector<const char *> *levels, const char *bundle) {
  Compilation result;
  if (!options.transfer.empty() && options.gpu.empty() && !checkOnly) {
    result.why = "--transfer says what crosses to a GPU: it goes with --gpu";
    return result;
  }
  if (!options.machine.empty() && options.transfer != "auto" && options.transfer != "all") {
    result.why = "--machine says what transfers cost: it goes with --transfer auto or all";
    return result;
  }
  const std::optional<std::string> file = readText(options.file, result.why);
  if (!file)
    return result;
  std::optional<std::string> machine;
  if (!options.machine.empty() && !(machine = readText(options.machine, result.why)))
    return result;
  if (machine && !nlohmann::json::accept(*machine)) {
    result.why = options.machine + " is no JSON, and --machine reads a file of it (docs/cuda.md)";
    return result;
  }
  const std::string &text = *file;

  std::vector<pst_parameter> parameters;
  const auto settings = splitSettings(options.set);
  for (const auto &[name, value] : settings)
    parameters.push_back({name.c_str(), value.c_str()});
  if (options.isBundle || text.starts_with("PSTKB"))
    return loadBundle(options, parameters, bundle);
  std::vector<const char *> disabled;
  for (const std::string &pass : options.disabledPasses)
    disabled.push_back(pass.c_str());

  pst_compile_options request = PST_COMPILE_OPTIONS_INIT;
  request.pipeline = options.pipeline.empty() ? nullptr : options.pipeline.c_str();
  request.parameters = parameters.data();
  request.parameter_count = parameters.size();
  request.disabled_passes = disabled.data();
  request.disabled_pass_count = disabled.size();
  request.transfer = options.transfer.empty() ? nullptr : options.transfer.c_str();
  request.machine = machine ? machine->c_str() : nullptr;
  request.gpu = options.gpu.empty() ? nullptr : options.gpu.c_str();
  request.target = options.target.empty() || levels ? nullptr : options.target.c_str();
  request.cache_folder = options.noCache ? "" : nullptr;
  request.from = options.from.empty() ? nullptr : options.from.c_str();
  request.check_only = checkOnly;

  pst_program *raw = nullptr;
  const pst_status status =
      levels ? pst_compile_bundle(text.data(), text.size(), options.file.c_str(), &request,
                                  levels->data(), levels->size(), bundle, &raw)
             : pst_compile(text.data(), text.size(), options.file.c_str(), &request, &raw);
  result.program.reset(raw);
  result.good = status == PST_OK;
  return result;
}

Compilation penstock::cli::compileQuietly(const CompileOptions &options, bool checkOnly) {
  return compileFile(options, checkOnly, nullptr, nullptr);
}

static ProgramPtr withMessages(Compilation result) {
  if (result.program)
    std::fputs(pst_program_messages(result.program.get()), stderr);
  else
    std::fprintf(stderr, "penstock: error: %s\n", result.why.c_str());
  return result.good ? std::move(result.program) : nullptr;
}

ProgramPtr penstock::cli::compile(const CompileOptions &options, bool checkOnly) {
  return withMessages(compileQuietly(options, checkOnly));
}

ProgramPtr penstock::cli::compileBundle(const CompileOptions &options, const std::string &path) {
  std::vector<std::string> names;
  // Behind a comma stands a name, at the end too: an empty one is refused as unknown.
  std::stringstream list(options.target.empty() ? "" : options.target + ",");
  for (std::string name; std::getline(list, name, ',');)
    names.push_back(name);
  std::vector<const char *> levels;
  for (const std::string &name : names)
    levels.push_back(name.c_str());
  return withMessages(compileFile(options, false, &levels, path.c_str()));
}
