// SPDX-License-Identifier: Apache-2.0
//
// Penstock-texts.
#include "test/texts/Judge.h"
#include "test/texts/Mutate.h"
#include "test/texts/Watch.h"
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

using namespace penstock::texts;

namespace {

struct Kind {
  uint64_t count = 0, first = 0;
  std::string fault;
};

/// Without what differs from text to text: names, numbers, addresses.
std::string kindOf(const std::string &fault) {
  std::string kind;
  bool quoted = false;
  for (const char c : fault) {
    quoted ^= c == '`';
    if (!quoted && !std::isdigit(static_cast<unsigned char>(c)))
      kind += c;
  }
  return kind.substr(0, 400);
}

/// Takes one of eight texts to machine code, and one to words.
Depth depthOf(uint64_t number) {
  return number % 8 == 0 ? Depth::code : number % 8 == 4 ? Depth::words : Depth::lowering;
}

std::string faultAlone(const std::string &text, Depth depth, int limit) {
  std::string fault;
  watch(
      0, 1, limit, [&](uint64_t) { return faultOf(text, depth); },
      [&](uint64_t, const std::string &found) { fault = found; });
  return fault;
}

/// The text without lines, then without words, that it does not take.
std::string shrunk(std::string text, const std::string &kind, Depth depth, int limit) {
  for (const bool byLine : {true, false}) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part;
         byLine ? bool(std::getline(stream, part)) : bool(std::getline(stream, part, ' '));)
      parts.push_back(part + (byLine ? '\n' : ' '));
    auto joined = [](const std::vector<std::string> &all) {
      std::string result;
      for (const std::string &part : all)
        result += part;
      return result;
    };
    for (size_t size = std::max<size_t>(parts.size() / 2, 1); size > 0; size /= 2)
      for (size_t at = 0; at + size <= parts.size();) {
        std::vector<std::string> fewer = parts;
        fewer.erase(fewer.begin() + static_cast<ptrdiff_t>(at),
                    fewer.begin() + static_cast<ptrdiff_t>(at + size));
        if (kindOf(faultAlone(joined(fewer), depth, limit)) == kind)
          parts = std::move(fewer);
        else
          at += size;
      }
    text = joined(parts);
  }
  return text;
}

int usage() {
  std::cerr << "usage: penstock-texts [--seed S] [--count N] [--case K] [--limit SECONDS] [--keep "
               "FOLDER] [--print] "
               "[--no-shrink] [--text FILE]\n";
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  uint64_t seed = 1, count = 1000;
  int limit = 5;
  bool print = false, shrinks = true;
  std::string keep, file;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--print")
      print = true;
    else if (option == "--no-shrink")
      shrinks = false;
    else if (i + 1 == argc)
      return usage();
    else if (option == "--seed")
      seed = std::stoull(argv[++i]);
    else if (option == "--count")
      count = std::stoull(argv[++i]);
    else if (option == "--case")
      seed = std::stoull(argv[++i]), count = 0;
    else if (option == "--limit")
      limit = std::stoi(argv[++i]);
    else if (option == "--keep")
      keep = argv[++i];
    else if (option == "--text")
      file = argv[++i];
    else
      return usage();
  }
  const Corpus corpus = readCorpus(PENSTOCK_SOURCE_DIR);
  auto textOf = [&](uint64_t number) {
    if (file.empty())
      return mutated(corpus, number);
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  // A seed has a million texts.
  const uint64_t first = count ? seed * 1'000'000 : seed, end = first + (count ? count : 1);
  if (print)
    for (uint64_t number = first; number < end; ++number)
      std::cout << textOf(number) << "\n";
  // The compiler's library, and the trees of ours, once for all processes.
  faultOf("pipe 1\nuse vision\nuse signal\nuse points\nuse augment\n", Depth::lowering);
  std::map<std::string, Kind> kinds;
  uint64_t faults = 0;
  watch(
      first, end, limit, [&](uint64_t number) { return faultOf(textOf(number), depthOf(number)); },
      [&](uint64_t number, const std::string &fault) {
        ++faults;
        Kind &kind = kinds[kindOf(fault)];
        if (kind.count++ > 0)
          return;
        kind.first = number;
        kind.fault = fault;
        std::cout << "found, case " << number << ": " << fault << std::endl;
      });
  for (const auto &[name, kind] : kinds) {
    std::cout << "case " << kind.first << " and " << kind.count - 1 << " more: " << kind.fault
              << "\n";
    std::string text = textOf(kind.first);
    if (shrinks)
      text = shrunk(std::move(text), name, depthOf(kind.first), limit);
    std::cout << text << "\n";
    if (!keep.empty())
      std::ofstream(keep + "/case-" + std::to_string(kind.first) + ".pipe") << text;
  }
  std::cout << end - first << " texts, " << faults << " faults of " << kinds.size() << " kinds\n";
  return faults ? 1 : 0;
}
