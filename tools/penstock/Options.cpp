// What the command line says.

#include "tools/penstock/Options.h"
#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>

using namespace penstock::cli;

static constexpr const char *exitCodes =
    "Exit codes: 0 success; 1 the file, a parameter or the data is at fault; 2 the command\n"
    "line is at fault; 130 interrupted.\n"
    "Results go to stdout, messages and progress to stderr. Progress is shown on a terminal only.";

CLI::Validator penstock::cli::wholeNumber(int64_t least, int64_t most) {
  return CLI::Validator(
      [least, most](const std::string &text) -> std::string {
        int64_t number = 0;
        const char *end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc() && stop == end && number >= least && number <= most)
          return {};
        constexpr int64_t largest = std::numeric_limits<int64_t>::max();
        const std::string wanted =
            most < largest ? " from " + std::to_string(least) + " to " + std::to_string(most)
            : least < 0    ? " of 64 bits"
                           : " of at least " + std::to_string(least);
        return "expected a whole number" + wanted + ", found `" + text + "`";
      },
      "");
}

CLI::Validator penstock::cli::positiveNumber() {
  return CLI::Validator(
      [](const std::string &text) -> std::string {
        double number = 0;
        const char *end = text.data() + text.size();
        const auto [stop, error] = std::from_chars(text.data(), end, number);
        if (error == std::errc() && stop == end && std::isfinite(number) && number > 0)
          return {};
        return "expected a number above 0, found `" + text + "`";
      },
      "");
}

void penstock::cli::addFooter(CLI::App &command, const std::string &example) {
  command.footer(std::string(exitCodes) + "\n\nExample: " + example);
}

void penstock::cli::addAllow(CLI::App &command, std::vector<std::string> &folders) {
  command
      .add_option("--allow", folders,
                  "a folder that links in the data may lead to; may be given often. Other links "
                  "out of the data's folders are refused")
      ->type_name("DIR")
      ->allow_extra_args(false);
}

std::vector<const char *> penstock::cli::pointersTo(const std::vector<std::string> &folders) {
  std::vector<const char *> pointers;
  for (const std::string &folder : folders)
    pointers.push_back(folder.c_str());
  return pointers;
}

void CompileOptions::addTo(CLI::App &command) {
  command.add_option("file", file, "the .pipe file")->required();
  command
      .add_option("--set", set,
                  "the value of a parameter, such as size=128 or noise=5%; may be given often")
      ->type_name("NAME=VALUE");
  command.add_option("--pipeline", pipeline, "which pipeline, where the file has several")
      ->type_name("NAME");
  const std::string group = "Compiler";
  command
      .add_option("--disable-pass", disabledPasses,
                  "leave out an optimising pass, to see what it is worth; it never changes a "
                  "result. An unknown name lists them")
      ->type_name("PASS")
      ->group(group);
  command
      .add_option("--target", target,
                  "x86-64-v2, x86-64-v3, x86-64-v4 or x86-64-v4-vnni; default: this machine")
      ->type_name("LEVEL")
      ->group(group);
  command
      .add_option("--from", from, "the file is MLIR of this stage (see --emit), not a .pipe file")
      ->check(CLI::IsMember({"pipe", "pipe-opt", "kernels", "schedule", "loops", "llvm"}))
      ->group(group);
  command.add_flag("--no-cache", noCache, "compile again, and keep nothing")->group(group);
}

void RunOptions::addTo(CLI::App &command) {
  addAllow(command, allowed);
  const std::string group = "Session";
  constexpr int64_t most32 = std::numeric_limits<uint32_t>::max();
  command.add_option("--seed", seed, "in place of the pipeline's seed")
      ->check(wholeNumber(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()))
      ->group(group);
  command.add_option("--epoch", epoch, "the first epoch; default: 0")
      ->check(wholeNumber(0, most32))
      ->group(group);
  command.add_option("--rank", rank, "place of this process among --world; default: 0")
      ->check(wholeNumber(0, most32))
      ->group(group);
  command.add_option("--world", world, "processes that share an epoch; default: 1")
      ->check(wholeNumber(1, 1 << 20))
      ->group(group);
  command
      .add_option(
          "--threads", threads,
          "computing threads; default: the processors that the affinity mask and cgroups allow")
      ->check(wholeNumber(0, 4096))
      ->group(group);
  command.add_option("--prefetch", prefetch, "batches prepared ahead; default: 2")
      ->check(wholeNumber(0, 4096))
      ->group(group);
  command
      .add_option("--on-error", onError,
                  "`fail` at the first bad sample, or the share of them that may be replaced, "
                  "such as 1%; default: the pipeline's")
      ->type_name("SHARE")
      ->group(group);
  command
      .add_option("--memory", memory,
                  "MiB of host memory that the fixed part may take; default: no limit")
      ->check(wholeNumber(0, std::numeric_limits<int64_t>::max() >> 20))
      ->type_name("MIB")
      ->group(group);
}

std::vector<std::pair<std::string, std::string>>
penstock::cli::splitSettings(const std::vector<std::string> &set) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string &entry : set) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::fprintf(stderr, "penstock: error: --set wants name=value, but found `%s`\n",
                   entry.c_str());
      std::exit(exitUsage);
    }
    result.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return result;
}
