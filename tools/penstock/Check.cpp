// SPDX-License-Identifier: Apache-2.0
//
// penstock check: the errors of a file, and its parameters.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Program.h"
#include <cstring>
#include <nlohmann/json.hpp>

using namespace penstock::cli;

namespace {
struct CheckState {
  CompileOptions compile;
  bool json = false;
};
} // namespace

static void printParameters(const pst_program *program) {
  const size_t count = pst_program_parameter_count(program);
  std::printf("%s: no errors\n", pst_program_name(program));
  size_t width = 0;
  for (size_t i = 0; i < count; ++i)
    width = std::max(width, std::strlen(pst_program_parameter(program, i)->name));
  for (size_t i = 0; i < count; ++i) {
    const pst_parameter_info &info = *pst_program_parameter(program, i);
    std::printf("  %-*s  %-9s %-8s %s%s%s\n", static_cast<int>(width), info.name, info.type,
                info.is_static ? "static" : "run-time",
                info.default_value ? info.default_value : "(must be given)", *info.doc ? "  " : "",
                info.doc);
  }
}

/// docs/check.md describes it.
static void printJson(const Compilation &result, const std::string &file) {
  using nlohmann::ordered_json;
  ordered_json report{{"version", 1}, {"file", file}, {"ok", result.good}};
  const pst_program *program = result.program.get();
  const char *name = result.good ? pst_program_name(program) : nullptr;
  report["pipeline"] = name ? ordered_json(name) : ordered_json();
  if (program)
    report["messages"] = ordered_json::parse(pst_program_messages_json(program));
  else
    report["messages"].push_back({{"severity", "error"},
                                  {"file", nullptr},
                                  {"message", result.why},
                                  {"notes", ordered_json::array()},
                                  {"hint", nullptr}});
  report["parameters"] = ordered_json::array();
  for (size_t i = 0; result.good && i < pst_program_parameter_count(program); ++i) {
    const pst_parameter_info &info = *pst_program_parameter(program, i);
    report["parameters"].push_back(
        {{"name", info.name},
         {"type", info.type},
         {"kind", info.is_static ? "static" : "run-time"},
         {"default", info.default_value ? ordered_json(info.default_value) : ordered_json()},
         {"doc", info.doc}});
  }
  std::printf("%s\n", report.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

void penstock::cli::addCheck(CommandLine &line) {
  auto state = std::make_shared<CheckState>();
  Command command = line.command("check", "check a file and list its parameters");
  state->compile.addTo(command);
  command.flag("--json", state->json, "messages and parameters as JSON on stdout (docs/check.md)");
  command.runs("penstock check train.pipe", [state] {
    if (state->json) {
      const Compilation result = compileQuietly(state->compile, true);
      printJson(result, state->compile.file);
      return result.good ? exitOk : exitError;
    }
    const ProgramPtr program = compile(state->compile, true);
    if (program)
      printParameters(program.get());
    return program ? exitOk : exitError;
  });
}
