// SPDX-License-Identifier: Apache-2.0
//
// The texts that are damaged.
#include "test/texts/Corpus.h"
#include "test/unit/dsl/Damages.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace fs = std::filesystem;

namespace penstock::texts {

static std::string read(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// In an order that does not depend on the machine.
static std::vector<fs::path> pipeFiles(const fs::path &folder) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".pipe")
      files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<std::pair<size_t, size_t>> callsIn(const std::string &text) {
  const auto spans = dsl::test::tokenSpans(text);
  std::vector<std::pair<size_t, size_t>> calls;
  std::vector<size_t> open; // tokens
  for (size_t i = 0; i < spans.size(); ++i) {
    const char first = text[spans[i].begin];
    if (first == '(') {
      open.push_back(i);
    } else if (first == ')' && !open.empty()) {
      const size_t at = open.back();
      open.pop_back();
      const bool isCall = at > 0 &&
                          std::isalpha(static_cast<unsigned char>(text[spans[at - 1].begin])) &&
                          spans[at - 1].end == spans[at].begin;
      calls.push_back({spans[isCall ? at - 1 : at].begin, spans[i].end});
    }
  }
  return calls;
}

/// Lines that belong together: up to where all brackets are closed, and stages behind.
static void takeStatements(const std::string &text, std::vector<std::string> &into) {
  std::istringstream lines(text);
  std::string line, all;
  int depth = 0;
  auto finish = [&] {
    if (!all.empty() && all.size() < 1500 && all.find_first_not_of(" \n}") != std::string::npos)
      into.push_back(all);
    all.clear();
    depth = 0;
  };
  while (std::getline(lines, line)) {
    const size_t begin = line.find_first_not_of(' ');
    if (begin == std::string::npos || line.compare(begin, 2, "//") == 0 ||
        line.starts_with("pipe ") || line.starts_with("use "))
      continue;
    if (line.find("pipeline ") == begin || line.find("batch ") == begin)
      continue;
    if (depth <= 0 && line.compare(begin, 2, "|>") != 0)
      finish();
    all += line + "\n";
    for (const char c : line)
      depth += (c == '(' || c == '[' || c == '{') - (c == ')' || c == ']' || c == '}');
  }
  finish();
}

static void takeStages(const std::string &text, std::vector<std::string> &into) {
  for (size_t at = text.find("|>"); at != std::string::npos; at = text.find("|>", at + 2)) {
    const size_t begin = text.find_first_not_of(" \n", at + 2);
    if (begin == std::string::npos)
      return;
    size_t end = begin;
    int depth = 0;
    while (end < text.size() &&
           (depth > 0 || (text[end] != '\n' && text.compare(end, 2, "|>") != 0))) {
      depth += (text[end] == '(' || text[end] == '{' || text[end] == '[') -
               (text[end] == ')' || text[end] == '}' || text[end] == ']');
      if (depth < 0)
        break;
      ++end;
    }
    into.push_back(text.substr(begin, end - begin));
  }
}

Corpus readCorpus(const std::string &root) {
  Corpus corpus;
  std::vector<std::string> all;
  for (const char *folder :
       {"examples", "test/texts/seeds", "test/dsl/inputs", "test/lit/Import", "stdlib"})
    for (const fs::path &path : pipeFiles(fs::path(root) / folder)) {
      std::string text = read(path);
      const bool isWhole =
          text.find("\npipeline ") != std::string::npos || text.starts_with("pipeline ");
      const bool isRefused = path.string().find("/errors/") != std::string::npos;
      if (isWhole && !isRefused)
        corpus.texts.push_back(text);
      // Those that need no files say most when they run.
      if (isWhole && !isRefused && text.find("synthetic(") != std::string::npos)
        corpus.texts.insert(corpus.texts.end(),
                            path.string().find("/seeds/") == std::string::npos ? 2 : 12, text);
      all.push_back(std::move(text));
    }
  for (const std::string &text : all) {
    takeStatements(text, corpus.statements);
    takeStages(text, corpus.stages);
    for (const auto &[begin, end] : callsIn(text))
      if (end - begin < 400)
        corpus.calls.push_back(text.substr(begin, end - begin));
  }
  return corpus;
}

} // namespace penstock::texts
