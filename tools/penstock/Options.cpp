// What the command line says.

#include "tools/penstock/Options.h"
#include <CLI/CLI.hpp>

using namespace penstock::cli;

void CompileOptions::addTo(CLI::App &command) {
  command.add_option("file", file, "the .pipe file")->required();
  command
      .add_option("--set", set,
                  "a parameter's value, as name=value; may be given often")
      ->type_name("NAME=VALUE");
  command.add_option("--pipeline", pipeline,
                     "which pipeline, where the file has several");
  command.add_option("--disable-pass", disabledPasses,
                     "leave out an optimising pass (see explain)");
  command.add_option(
      "--target", target,
      "x86-64-v2, x86-64-v3, x86-64-v4 or x86-64-v4-vnni; default: this machine");
  command
      .add_option("--from", from,
                  "the file is MLIR of this stage, not a .pipe file")
      ->check(CLI::IsMember(
          {"pipe", "pipe-opt", "kernels", "schedule", "loops", "llvm"}));
  command.add_flag("--no-cache", noCache, "compile again, and keep nothing");
}

void RunOptions::addTo(CLI::App &command) {
  command.add_option("--seed", seed, "in place of the pipeline's seed");
  command.add_option("--epoch", epoch, "the first epoch");
  command.add_option("--rank", rank, "place of this process among --world");
  command.add_option("--world", world, "processes that share an epoch");
  command.add_option("--threads", threads,
                     "computing threads; default: the cores of this process");
  command.add_option("--prefetch", prefetch,
                     "batches prepared ahead; default: 2");
  command.add_option("--on-error", onError,
                     "fail, or the fraction of bad samples allowed (1%)");
  command.add_option("--memory", memory,
                     "MiB of host memory that the fixed part may take");
}

std::vector<std::pair<std::string, std::string>>
penstock::cli::splitSettings(const std::vector<std::string> &set) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string &entry : set) {
    const size_t equals = entry.find('=');
    if (equals == std::string::npos || equals == 0) {
      std::fprintf(stderr, "penstock: --set wants name=value, but found `%s`\n",
                   entry.c_str());
      std::exit(exitUsage);
    }
    result.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return result;
}
