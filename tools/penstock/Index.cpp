// SPDX-License-Identifier: Apache-2.0
//
// penstock index: checkpoints of all JPEG files of a data set.

#include "tools/penstock/Commands.h"
#include "tools/penstock/Files.h"
#include "tools/penstock/Options.h"
#include "tools/penstock/Prepare.h"
#include "tools/penstock/Progress.h"
#include <nlohmann/json.hpp>

using namespace penstock::cli;

namespace {
struct IndexState {
  std::string path, out, root, column, separator;
  std::vector<std::string> allowed;
  int threads = 0;
  bool rows = false, json = false;
};
} // namespace

static void printIndexed(const nlohmann::ordered_json &report) {
  const auto number = [&](const char *name) { return report[name].get<uint64_t>(); };
  const auto count = [&](const char *name) { return grouped(int64_t(number(name))); };
  for (const auto &warning : report["warnings"])
    std::fprintf(stderr, "penstock: warning: %s\n", warning.get<std::string>().c_str());
  std::printf("%s images, %s with checkpoints", count("images").c_str(), count("indexed").c_str());
  if (number("earlier"))
    std::printf(" (%s images of an earlier run)", count("earlier").c_str());
  std::printf("\n");
  for (const auto &[reason, left] : report["left_out"].items())
    std::printf("%s without: %s\n", grouped(left.get<int64_t>()).c_str(), reason.c_str());
  size_t shown = 0;
  for (const auto &file : report["left_out_files"])
    if (shown++ < 10)
      std::printf("  %s: %s\n", file["name"].get<std::string>().c_str(),
                  file["reason"].get<std::string>().c_str());
  if (shown > 10)
    std::printf("  ... (more of them with --json)\n");
  if (number("others"))
    std::printf("%s other files\n", count("others").c_str());
  std::printf("%s: %s of the data\n", report["file"].get<std::string>().c_str(),
              share(number("index_bytes"), number("data_bytes")).c_str());
}

static void printRows(const nlohmann::ordered_json &report) {
  const auto number = [&](const char *name) { return report[name].get<uint64_t>(); };
  std::printf("%s rows in %s %s: %s of the data\n", grouped(int64_t(number("rows"))).c_str(),
              grouped(int64_t(number("shards"))).c_str(),
              number("shards") == 1 ? "shard" : "shards",
              share(number("index_bytes"), number("data_bytes")).c_str());
}

static int run(const IndexState &state) {
  if (state.separator.size() > 1) {
    std::fprintf(stderr,
                 "penstock: error: --separator wants one byte, such as `;`, but found `%s`\n",
                 state.separator.c_str());
    return exitUsage;
  }
  if (!wantsFiles({{"--out", state.out}}) || !keepsWhatIsRead({{"--out", state.out}}, {state.path}))
    return exitUsage;
  pst_prepare_options options = PST_PREPARE_OPTIONS_INIT;
  const auto text = [](const std::string &value) {
    return value.empty() ? nullptr : value.c_str();
  };
  options.threads = state.threads;
  const std::vector<const char *> allowed = pointersTo(state.allowed);
  options.allowed_folders = allowed.data();
  options.allowed_folder_count = allowed.size();
  options.rows = state.rows;
  options.out = text(state.out);
  options.root = text(state.root);
  options.column = text(state.column);
  options.separator = state.separator.empty() ? 0 : state.separator[0];
  return prepare(
      options, [&](pst_text **report) { return pst_index(state.path.c_str(), &options, report); },
      state.rows ? printRows : printIndexed, state.json);
}

void penstock::cli::addIndex(CommandLine &line) {
  auto state = std::make_shared<IndexState>();
  Command command = line.command(
      "index", "write checkpoints of all JPEG files of a data set, so that parts of them are "
               "decoded faster; or where the rows of tar files lie (--rows)");
  command
      .option("path", state->path,
              "a folder with all below it, a .tar file, or a list with a file name per line")
      .required();
  command.option("--out", state->out,
                 "the file, or a folder for it; default: .penstock-index in the folder, or "
                 "beside the file");
  command.option("--threads", state->threads, "default: all processors that this process may use")
      .within(0, 4096);
  command.option("--root", state->root,
                 "the folder of the files that a list names; default: that of the list");
  command.option("--column", state->column,
                 "of a table: the column of file names, by name or by number from 0");
  command.option("--separator", state->separator, "of a table's columns; default: ,");
  command.flag("--rows", state->rows,
               "of tar files: where their rows lie, as <file>.index beside each, in place of "
               "checkpoints; copied to where they are served, it spares each machine reading all "
               "their headers there");
  command.flag("--json", state->json, "report as JSON on stdout");
  addAllow(command, state->allowed);
  command.runs("penstock index photos --threads 8", [state] { return run(*state); });
}
