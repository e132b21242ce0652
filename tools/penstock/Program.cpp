// Compiling, as the commands need it.

#include "tools/penstock/Program.h"
#include "tools/penstock/Files.h"
#include <cstdio>

using namespace penstock::cli;

Compilation penstock::cli::compileQuietly(const CompileOptions &options, bool checkOnly) {
  Compilation result;
  const std::optional<std::string> file = readFile(options.file, result.why);
  if (!file)
    return result;
  const std::string &text = *file;

  std::vector<pst_parameter> parameters;
  const auto settings = splitSettings(options.set);
  for (const auto &[name, value] : settings)
    parameters.push_back({name.c_str(), value.c_str()});
  std::vector<const char *> disabled;
  for (const std::string &pass : options.disabledPasses)
    disabled.push_back(pass.c_str());

  pst_compile_options request = PST_COMPILE_OPTIONS_INIT;
  request.pipeline = options.pipeline.empty() ? nullptr : options.pipeline.c_str();
  request.parameters = parameters.data();
  request.parameter_count = parameters.size();
  request.disabled_passes = disabled.data();
  request.disabled_pass_count = disabled.size();
  request.target = options.target.empty() ? nullptr : options.target.c_str();
  request.cache_folder = options.noCache ? "" : nullptr;
  request.from = options.from.empty() ? nullptr : options.from.c_str();
  request.check_only = checkOnly;

  pst_program *raw = nullptr;
  const pst_status status =
      pst_compile(text.data(), text.size(), options.file.c_str(), &request, &raw);
  result.program.reset(raw);
  result.good = status == PST_OK;
  return result;
}

ProgramPtr penstock::cli::compile(const CompileOptions &options, bool checkOnly) {
  Compilation result = compileQuietly(options, checkOnly);
  if (result.program)
    std::fputs(pst_program_messages(result.program.get()), stderr);
  else
    std::fprintf(stderr, "penstock: error: %s\n", result.why.c_str());
  return result.good ? std::move(result.program) : nullptr;
}
