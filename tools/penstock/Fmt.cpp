// SPDX-License-Identifier: Apache-2.0
//
// penstock fmt: brings files into their one layout.

#include "api/c/penstock.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/Files.h"
#include "tools/penstock/Options.h"
#include <algorithm>

using namespace penstock::cli;

namespace {
struct FmtState {
  std::vector<std::string> files;
  bool check = false;
};
struct ReleaseText {
  void operator()(pst_text *text) const { pst_text_release(text); }
};
using TextPtr = std::unique_ptr<pst_text, ReleaseText>;
} // namespace

/// The layout of a text; null after a syntax error, which has been printed.
static TextPtr format(const std::string &text, const std::string &name) {
  pst_text *raw = nullptr;
  const pst_status status = pst_format(text.data(), text.size(), name.c_str(), &raw);
  TextPtr result(raw);
  std::fputs(pst_text_messages(raw), stderr);
  return status == PST_OK ? std::move(result) : nullptr;
}

static bool formatStandardInput(bool check) {
  std::string why;
  const std::optional<std::string> text = readStandardInput(why);
  if (!text)
    std::fprintf(stderr, "penstock: error: %s\n", why.c_str());
  const TextPtr result = text ? format(*text, "<stdin>") : nullptr;
  if (!result)
    return false;
  if (check && pst_text_data(result.get()) == *text)
    return true;
  std::fputs(check ? "<stdin>\n" : pst_text_data(result.get()), stdout);
  return !check;
}

static bool formatFile(const std::string &path, bool check) {
  std::string why;
  std::optional<std::string> text = readText(path, why);
  if (text && text->find('\0') != std::string::npos) {
    text.reset();
    why = path + " is no text" + (path.ends_with(".pstk") ? ", but a bundle" : "");
  }
  if (!text)
    std::fprintf(stderr, "penstock: error: %s\n", why.c_str());
  const TextPtr result = text ? format(*text, path) : nullptr;
  if (!result)
    return false;
  if (pst_text_data(result.get()) == *text)
    return true;
  if (check) {
    std::printf("%s\n", path.c_str());
    return false;
  }
  return replaceFile(path, pst_text_data(result.get()));
}

void penstock::cli::addFmt(CommandLine &line) {
  auto state = std::make_shared<FmtState>();
  Command command = line.command(
      "fmt", "bring files into the layout that all .pipe files have; only blanks and line breaks "
             "change");
  command
      .option("file", state->files,
              ".pipe files, folders with such files, or - to read stdin and write stdout")
      .required();
  command.flag("--check", state->check,
               "change nothing; name the files that would change, and exit with 1 if there "
               "are any");
  command.runs("penstock fmt --check train.pipe", [state] {
    bool good = true;
    for (const std::string &name : state->files)
      if (name == "-")
        good &= formatStandardInput(state->check);
      else
        for (const std::string &path : pipeFilesAt(name))
          good &= formatFile(path, state->check);
    return good ? exitOk : exitError;
  });
}
