// SPDX-License-Identifier: Apache-2.0
//
// penstock ops: every operator with its documentation, and a search in it.

#include "api/c/penstock.h"
#include "tools/penstock/Commands.h"
#include "tools/penstock/Options.h"
#include <algorithm>
#include <nlohmann/json.hpp>

using namespace penstock::cli;
using nlohmann::ordered_json;

namespace {
struct OpsState {
  std::vector<std::string> words;
  bool json = false;
};
} // namespace

/// All operators; an empty list, and a message, where the library has none.
static ordered_json loadOperators() {
  pst_text *text = nullptr;
  const pst_status status = pst_operators(&text);
  ordered_json all = ordered_json::array();
  if (status == PST_OK)
    all = ordered_json::parse(pst_text_data(text));
  else
    std::fputs(pst_text_messages(text), stderr);
  pst_text_release(text);
  return all;
}

static std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

static std::string fieldOf(const ordered_json &entry, const char *field) {
  return entry[field].get<std::string>();
}

/// Scores an operator as an answer to a word: 0 none, 1 by its text, 2 by its name, 3 by being the
/// name of its module, 4 by being its name.
static int answers(const ordered_json &entry, const std::string &word) {
  const std::string name = lowered(fieldOf(entry, "name"));
  if (name == word)
    return 4;
  if (lowered(fieldOf(entry, "module")) == word)
    return 3;
  if (name.find(word) != std::string::npos)
    return 2;
  return lowered(fieldOf(entry, "doc")).find(word) != std::string::npos ? 1 : 0;
}

/// Returns the operators that answer all words; if some answer by their names alone,
/// only those.
static ordered_json search(const ordered_json &all, const std::vector<std::string> &words,
                           int &best) {
  std::vector<std::pair<int, const ordered_json *>> found;
  best = 0;
  for (const ordered_json &entry : all) {
    int worst = 4;
    for (const std::string &word : words)
      worst = std::min(worst, answers(entry, lowered(word)));
    if (worst)
      found.emplace_back(worst, &entry);
    best = std::max(best, worst);
  }
  ordered_json result = ordered_json::array();
  for (const auto &[quality, entry] : found)
    if (best < 3 || quality == best)
      result.push_back(*entry);
  return result;
}

/// The first sentence of a comment, on one line.
static std::string headline(std::string doc) {
  std::replace(doc.begin(), doc.end(), '\n', ' ');
  size_t end = doc.find(". ");
  while (end != std::string::npos && end > 0 && doc[end - 1] == '.') // `0 .. 1`
    end = doc.find(". ", end + 1);
  return end == std::string::npos ? doc : doc.substr(0, end + 1);
}

static void printList(const ordered_json &entries) {
  size_t width = 0;
  for (const ordered_json &entry : entries)
    width = std::max(width, fieldOf(entry, "name").size());
  std::string module;
  for (const ordered_json &entry : entries) {
    if (fieldOf(entry, "module") != module) {
      std::printf("%s%s\n", module.empty() ? "" : "\n", fieldOf(entry, "module").c_str());
      module = fieldOf(entry, "module");
    }
    std::printf("  %-*s  %s\n", static_cast<int>(width), fieldOf(entry, "name").c_str(),
                headline(fieldOf(entry, "doc")).c_str());
  }
}

static void printWhole(const ordered_json &entry) {
  const std::string module = fieldOf(entry, "module");
  std::printf("%s (%s%s)\n", fieldOf(entry, "name").c_str(), fieldOf(entry, "kind").c_str(),
              module == "intrinsics" || module == "prelude" ? ", always there"
                                                            : (", use " + module).c_str());
  for (const ordered_json &signature : entry["signatures"])
    std::printf("  %s\n", signature.get<std::string>().c_str());
  std::string doc = fieldOf(entry, "doc");
  for (size_t at = doc.find('\n'); at != std::string::npos; at = doc.find('\n', at + 3))
    doc.replace(at, 1, "\n  ");
  if (!doc.empty())
    std::printf("\n  %s\n", doc.c_str());
  std::printf("\n  %s\n", fieldOf(entry, "usage").c_str());
  for (const ordered_json &example : entry["examples"])
    std::printf("  %s:%d: %s\n", fieldOf(example, "file").c_str(), example["line"].get<int>(),
                fieldOf(example, "text").c_str());
}

static int run(const OpsState &state) {
  const ordered_json all = loadOperators();
  if (all.empty())
    return exitError;
  int best = 0;
  const ordered_json found = state.words.empty() ? all : search(all, state.words, best);
  if (state.json) {
    std::printf("%s\n", found.dump(2).c_str());
    return found.empty() ? exitError : exitOk;
  }
  if (found.empty()) {
    std::string words;
    for (const std::string &word : state.words)
      words += (words.empty() ? "" : " ") + word;
    std::fprintf(stderr,
                 "penstock: no operator has `%s` in its name or description\n"
                 "hint: `penstock ops` lists all\n",
                 words.c_str());
    return exitError;
  }
  if (best < 4 && found.size() > 1) {
    printList(found);
    return exitOk;
  }
  for (const ordered_json &entry : found) {
    std::fputs(&entry == &found.front() ? "" : "\n", stdout);
    printWhole(entry);
  }
  return exitOk;
}

void penstock::cli::addOps(CommandLine &line) {
  auto state = std::make_shared<OpsState>();
  Command command = line.command(
      "ops", "list the operators of the language, or those that have all words in their name or "
             "description");
  command.option("word", state->words, "the name of an operator or of a module, or words");
  command.flag("--json", state->json, "as JSON on stdout (see pst_operators in penstock.h)");
  command.runs("penstock ops blur", [state] { return run(*state); });
}
