// SPDX-License-Identifier: Apache-2.0
//
// Options of the command line, common to several commands.

#include "tools/penstock/Options.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>

using namespace penstock::cli;

void penstock::cli::addAllow(Command &command, std::vector<std::string> &folders) {
  command
      .option(
          "--allow", folders,
          "a folder that links in the data may lead to, or a URL whose files lists may name; may "
          "be given often. Others are refused")
      .typeName("DIR")
      .oneValueEach();
}

std::vector<const char *> penstock::cli::pointersTo(const std::vector<std::string> &folders) {
  std::vector<const char *> pointers;
  for (const std::string &folder : folders)
    pointers.push_back(folder.c_str());
  return pointers;
}

static void addSet(Command &command, std::vector<std::string> &set) {
  command
      .option("--set", set,
              "the value of a parameter, such as size=128 or noise=5%; may be given often")
      .typeName("NAME=VALUE");
}

void CompileOptions::addBundleTo(Command &command) {
  isBundle = true;
  command.option("file", file, "the bundle (penstock compile -o)").required();
  addSet(command, set);
}

void CompileOptions::addTo(Command &command) {
  command.option("file", file, "the .pipe file; what runs it takes a bundle (compile -o), too")
      .required();
  addSet(command, set);
  command.option("--pipeline", pipeline, "which pipeline, where the file has several")
      .typeName("NAME");
  const char *group = "Compiler";
  command
      .option("--disable-pass", disabledPasses,
              "leave out an optimising pass, to see what it is worth; it never changes a "
              "result. An unknown name lists them")
      .typeName("PASS")
      .group(group);
  command
      .option("--target", target,
              "what to compile for, such as x86-64-v3 or armv8-a; an unknown name lists them. "
              "Default: this machine. For a bundle a list, with commas; default: x86-64-v2, v3 "
              "and v4")
      .typeName("LEVEL")
      .group(group);
  command
      .option(
          "--gpu", gpu,
          "run kernels of pixels on a GPU: sm_90, a list with commas, or native, this machine's; "
          "with --emit cuda, ptx or cubin, what runs there (without it, every kernel, for sm_75)")
      .typeName("ARCH")
      .group(group);
  command
      .option("--transfer", transfer,
              "what crosses to the GPU: pixels (the default), as decoded; planes, JPEG files as "
              "luma and chroma; resampled, what the CPU "
              "has resampled and warped; final, outputs alone; auto, the one of these that costs "
              "least; all, every one: `explain` says what each costs, and programs can change it")
      .typeName("LEVEL")
      .group(group);
  command
      .option(
          "--machine", machine,
          "what the machine does in a second, for --transfer auto and all: a file of JSON, which "
          "docs/cuda.md describes")
      .typeName("FILE")
      .group(group);
  command.option("--from", from, "the file is MLIR of this stage (see --emit), not a .pipe file")
      .oneOf({"pipe", "pipe-opt", "kernels", "schedule", "loops", "llvm"})
      .group(group);
  command.flag("--no-cache", noCache, "compile again, and keep nothing").group(group);
}

void RunOptions::addTo(Command &command) {
  addAllow(command, allowed);
  const char *group = "Session";
  constexpr int64_t most32 = std::numeric_limits<uint32_t>::max();
  command.option("--seed", seed, "in place of the pipeline's seed")
      .within(std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max())
      .group(group);
  command.option("--epoch", epoch, "the first epoch; default: 0").within(0, most32).group(group);
  command.option("--rank", rank, "place of this process among --world; default: 0")
      .within(0, most32)
      .group(group);
  command.option("--world", world, "processes that share an epoch; default: 1")
      .within(1, 1 << 20)
      .group(group);
  command
      .option("--threads", threads,
              "computing threads; default: the processors that the affinity mask and cgroups allow")
      .within(0, 4096)
      .group(group);
  command
      .option("--device", device,
              "the number of the GPU, or `cpu`: outputs that stand `on gpu` are delivered in the "
              "host's memory; default: 0")
      .typeName("GPU")
      .group(group);
  command.option("--prefetch", prefetch, "batches prepared ahead; default: 2")
      .within(0, 1024)
      .group(group);
  command
      .option("--fetch-threads", fetchThreads,
              "files that are read, or asked for, at a time; default: 8, and 32 where some are "
              "behind URLs")
      .within(0, 4096)
      .group(group);
  command
      .option("--on-error", onError,
              "`fail` at the first bad sample, or the share of them that may be replaced, "
              "such as 1%; default: the pipeline's")
      .typeName("SHARE")
      .group(group);
  command
      .option("--memory", memory,
              "MiB of host memory that the fixed part may take; default: no limit")
      .within(0, std::numeric_limits<int64_t>::max() >> 20)
      .typeName("MIB")
      .group(group);
  command
      .option("--remote-cache", remoteCache,
              "a folder on a disk of this machine in which what is read of URLs is kept, for all "
              "epochs and processes; default: none")
      .typeName("DIR")
      .group(group);
  command
      .bytes("--remote-cache-size", remoteCacheBytes,
             "the most that it may take, as 500G; default: all but a twentieth of the disk")
      .group(group);
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
    const std::string name = entry.substr(0, equals), value = entry.substr(equals + 1);
    const auto known = std::find_if(result.begin(), result.end(),
                                    [&](const auto &before) { return before.first == name; });
    if (known == result.end()) {
      result.emplace_back(name, value);
    } else if (known->second != value) {
      std::fprintf(stderr, "penstock: error: --set gives `%s` two values, `%s` and `%s`\n",
                   name.c_str(), known->second.c_str(), value.c_str());
      std::exit(exitUsage);
    }
  }
  return result;
}
