// SPDX-License-Identifier: Apache-2.0
//
// penstock pack: an image folder as large tar files.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Options.h"
#include "tools/penstock/Prepare.h"
#include "tools/penstock/Progress.h"
#include <nlohmann/json.hpp>

using namespace penstock::cli;

namespace {
struct PackState {
  std::string path, out;
  std::vector<std::string> allowed;
  uint64_t shardSize = 0;
  int threads = 0;
  bool verify = false, json = false;
};
} // namespace

static void printPacked(const nlohmann::ordered_json &report) {
  const auto number = [&](const char *name) { return report[name].get<uint64_t>(); };
  const auto count = [&](const char *name) { return grouped(int64_t(number(name))); };
  std::printf("%s images in %s %s", count("images").c_str(), count("shards").c_str(),
              number("shards") == 1 ? "shard" : "shards");
  if (number("earlier"))
    std::printf(" (%s of an earlier run)", count("earlier").c_str());
  std::printf(": %s of the data\n", share(number("out_bytes"), number("data_bytes")).c_str());
  if (number("renamed"))
    std::printf("%s members have other names than their files: theirs have a second dot, or differ "
                "behind the dot only\n",
                count("renamed").c_str());
  if (!report["left_out"].empty())
    std::printf("%s left out\n", grouped(int64_t(report["left_out"].size())).c_str());
  for (const auto &file : report["left_out"])
    std::printf("  %s: %s\n", file["name"].get<std::string>().c_str(),
                file["reason"].get<std::string>().c_str());
  if (number("verified_bytes"))
    std::printf("verified: all %s bytes\n", count("verified_bytes").c_str());
  std::string extensions;
  for (const auto &extension : report["extensions"])
    extensions += (extensions.empty() ? "" : ";") + extension.get<std::string>();
  std::printf("to read: tar_shards(shards, data = column(\"%s\", bytes), label = column(\"cls\", "
              "i64))\n",
              extensions.c_str());
}

static int run(const PackState &state) {
  pst_prepare_options options = PST_PREPARE_OPTIONS_INIT;
  options.threads = state.threads;
  const std::vector<const char *> allowed = pointersTo(state.allowed);
  options.allowed_folders = allowed.data();
  options.allowed_folder_count = allowed.size();
  options.verify = state.verify;
  options.shard_size = state.shardSize;
  return prepare(
      options,
      [&](pst_text **report) {
        return pst_pack(state.path.c_str(), state.out.c_str(), &options, report);
      },
      printPacked, state.json);
}

void penstock::cli::addPack(CommandLine &line) {
  auto state = std::make_shared<PackState>();
  Command command = line.command(
      "pack", "rewrite an image folder as large tar files with labels and checkpoints; the images' "
              "bytes stay as they are");
  command.option("folder", state->path, "a folder of class folders").required();
  command.option("out", state->out, "the folder of the tar files; made where it is missing")
      .required();
  command.bytes("--shard-size", state->shardSize, "bytes of a tar file, as 256M; default: 1G");
  command
      .option("--threads", state->threads,
              "tar files at a time; default: all processors that this process may use")
      .within(0, 4096);
  command.flag("--verify", state->verify, "compare all bytes with the data at the end");
  command.flag("--json", state->json, "report as JSON on stdout");
  addAllow(command, state->allowed);
  command.runs("penstock pack photos shards --verify", [state] { return run(*state); });
}
