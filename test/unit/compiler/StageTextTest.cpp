// SPDX-License-Identifier: Apache-2.0
//
// The text of a stage is data: whatever number stands in it, the compiler refuses it
// with a message or goes on, and never crashes. Numbers of every kind of line are
// replaced, one at a time, each in a process of its own.
//
// PENSTOCK_MUTANTS in the environment asks for all of them.
#include "api/c/penstock.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

struct ReleaseProgram {
  void operator()(pst_program *program) const { pst_program_release(program); }
};
using Program = std::unique_ptr<pst_program, ReleaseProgram>;

std::string textOf(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(std::string(PENSTOCK_SOURCE_DIR) + "/" + path).rdbuf();
  return text.str();
}

Program load(const std::string &text, const std::string &from) {
  pst_compile_options options = PST_COMPILE_OPTIONS_INIT;
  options.from = from.empty() ? nullptr : from.c_str();
  options.check_only = 1;
  options.cache_folder = "";
  options.target = "x86-64-v4-vnni";
  pst_program *program = nullptr;
  pst_compile(text.data(), text.size(), "text", &options, &program);
  return Program(program);
}

/// The text at a stage; empty after an error.
std::string emit(const Program &program, const std::string &stage) {
  const char *data = nullptr;
  size_t length = 0;
  if (pst_program_emit(program.get(), stage.c_str(), &data, &length) != PST_OK)
    return {};
  return {data, length};
}

/// Returns a line without its numbers and names.
std::string kindOf(const std::string &line) {
  static const std::regex names("%[A-Za-z0-9_$.#:]*"), numbers("-?[0-9]+");
  return std::regex_replace(std::regex_replace(line, names, "%"), numbers, "0");
}

struct Mutant {
  size_t line, begin, length;
  std::string number;
};

/// Places of numbers, one for each place in a kind of line.
std::vector<Mutant> mutantsOf(const std::vector<std::string> &lines) {
  static const std::regex number("(^|[^A-Za-z0-9_%@.\"#])(-?[0-9]+)(?![0-9.x_]|[ef][0-9+-])");
  static const char *const others[] = {"0", "-1", "3", "16", "9223372036854775807"};
  std::set<std::string> seen;
  std::vector<Mutant> mutants;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (!seen.insert(kindOf(lines[i])).second)
      continue;
    size_t found = 0; // tables of the code hold many, all alike
    for (std::sregex_iterator at(lines[i].begin(), lines[i].end(), number), end;
         at != end && found < 6; ++at, ++found)
      for (const char *other : others)
        if (at->str(2) != other)
          mutants.push_back({i, static_cast<size_t>(at->position(2)), at->str(2).size(), other});
  }
  return mutants;
}

enum Outcome { compiled, refused, crashed };

/// Compiles a text in a process of its own, and returns how that ended.
Outcome outcomeOf(const std::string &text, const std::string &stage) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit seconds{20, 20}, none{0, 0};
#ifndef PENSTOCK_SANITIZED // they map terabytes
    const rlimit memory{8ULL << 30, 8ULL << 30};
    setrlimit(RLIMIT_AS, &memory);
#endif
    setrlimit(RLIMIT_CPU, &seconds);
    setrlimit(RLIMIT_CORE, &none);
    const Program program = load(text, stage);
    const bool good = *pst_program_messages(program.get()) == 0 && !emit(program, "llvm").empty();
    if (!good && *pst_program_messages(program.get()) == 0)
      std::abort(); // nobody says what is wrong
    _exit(good ? compiled : refused);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? static_cast<Outcome>(WEXITSTATUS(status)) : crashed;
}

struct StageText : testing::TestWithParam<std::tuple<const char *, const char *>> {};

TEST_P(StageText, NoNumberCrashesTheCompiler) {
  const auto [path, stage] = GetParam();
  std::istringstream text(emit(load(textOf(path), ""), stage));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);)
    lines.push_back(line);
  ASSERT_FALSE(lines.empty());
  std::map<Outcome, size_t> count;
  const std::vector<Mutant> mutants = mutantsOf(lines);
#ifdef PENSTOCK_SANITIZED // each process costs four times as much
  constexpr size_t usual = 20;
#else
  constexpr size_t usual = 80;
#endif
  const size_t step = std::getenv("PENSTOCK_MUTANTS") ? 1 : 1 + mutants.size() / usual;
  for (size_t i = 0; i < mutants.size(); i += step) {
    const Mutant &mutant = mutants[i];
    std::vector<std::string> changed = lines;
    changed[mutant.line].replace(mutant.begin, mutant.length, mutant.number);
    std::string whole;
    for (const std::string &line : changed)
      whole += line + "\n";
    const Outcome outcome = outcomeOf(whole, stage);
    ++count[outcome];
    EXPECT_NE(outcome, crashed) << "line " << mutant.line + 1 << ": " << changed[mutant.line];
  }
  std::printf("%zu texts compile, %zu are refused\n", count[compiled], count[refused]);
  EXPECT_GT(count[compiled], 0u);
  EXPECT_GT(count[refused], 0u);
}

std::string nameOf(const testing::TestParamInfo<StageText::ParamType> &info) {
  std::string name = std::get<0>(info.param) + std::string("_") + std::get<1>(info.param);
  return std::regex_replace(name, std::regex("[^A-Za-z0-9]+"), "_");
}

INSTANTIATE_TEST_SUITE_P(Examples, StageText,
                         testing::Values(std::tuple("examples/probes/h_choose.pipe", "pipe"),
                                         std::tuple("examples/probes/i_points.pipe", "pipe-opt"),
                                         std::tuple("examples/jpeg_robust.pipe", "kernels"),
                                         std::tuple("examples/imagenet_train.pipe", "schedule"),
                                         std::tuple("examples/probes/h_choose.pipe", "schedule"),
                                         std::tuple("examples/probes/a_autocontrast.pipe", "loops"),
                                         std::tuple("examples/probes/a_autocontrast.pipe", "llvm")),
                         nameOf);

} // namespace
