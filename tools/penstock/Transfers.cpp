// SPDX-License-Identifier: Apache-2.0
//
// Costs of each transfer level, as a table.

#include "tools/penstock/Transfers.h"
#include "tools/penstock/Overview.h"
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

using namespace penstock::cli;
using nlohmann::ordered_json;

/// `301,056`
static std::string grouped(double number) {
  std::string digits = std::to_string(std::llround(number));
  for (size_t at = digits.size(); at > 3; at -= 3)
    digits.insert(at - 3, ",");
  return digits;
}

/// Three digits: `0.0123`, `1.23`, `12.3`, `1,230`.
static std::string rounded(double number) {
  if (number >= 1000)
    return grouped(std::round(number / 10) * 10);
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", number);
  return text;
}

static std::string counted(double number, const std::string &what) {
  const std::string text = rounded(number);
  return text + " " + what + (text == "1" ? "" : "s");
}

static std::string padded(const std::string &text, size_t columns, bool right = true) {
  const std::string space(columns - std::min(columns, text.size()), ' ');
  return right ? space + text : text + space;
}

static std::string rowOf(const ordered_json &level) {
  auto us = [&](const char *where) {
    return padded(rounded(level[where]["seconds"].get<double>() * 1e6), 10);
  };
  const std::string limit = level["limit"];
  return "  " + padded(level["name"], 11, false) + padded(grouped(level["bytes"]), 11) +
         us("host") + us("bus") + us("gpu") + padded(rounded(level["samples_per_second"]), 13) +
         "   " + (limit == "gpu" ? "GPU" : limit) + "\n";
}

/// Lines of a level's part below the table: a word, then what is said of it.
static std::string entry(const std::string &word, const std::string &said) {
  std::string text;
  for (const std::string &line : wrapped(said, drawnColumns - 15, "  "))
    text += "    " + padded(text.empty() ? word : "", 11, false) + line + "\n";
  return text;
}

/// Lists the values that cross: large ones each, equal ones of one place once with their number,
/// and all small tables as a sum.
static std::string crossingsOf(const ordered_json &level) {
  const double large = 0.02 * level["bytes"].get<double>();
  std::map<std::string, int> counts;
  std::vector<std::string> order;
  double bytesOfSmall = 0;
  int small = 0;
  for (const ordered_json &part : level["crossing"]) {
    if (part["bytes"] < large) {
      bytesOfSmall += part["bytes"].get<double>();
      ++small;
      continue;
    }
    const std::string said =
        (part.contains("planes") ? "planes of " : "") + part["type"].get<std::string>() + " of " +
        part["from"].get<std::string>() + ", " + grouped(part["bytes"]) + " bytes";
    if (++counts[said] == 1)
      order.push_back(said);
  }
  std::string text;
  for (const std::string &said : order)
    text += entry("crosses",
                  counts[said] == 1 ? said : std::to_string(counts[said]) + " x " + said + " each");
  if (small)
    text += entry("crosses", std::to_string(small) + " small table" + (small > 1 ? "s" : "") +
                                 ", " + grouped(bytesOfSmall) + " bytes");
  return text.empty() ? entry("crosses", "nothing") : text;
}

static std::string partsOf(const ordered_json &level) {
  std::string text = "\n  " + level["name"].get<std::string>() + "\n" + crossingsOf(level);
  const ordered_json &host = level["host"], &gpu = level["gpu"];
  text += entry("host", grouped(host["decoded"]) + " elements decoded, " +
                            counted(host["kernels"], "kernel") + " with " +
                            grouped(host["operations"]) + " operations");
  if (const int64_t launches = gpu["launches"])
    text += entry("GPU", std::to_string(launches) + (launches == 1 ? " launch" : " launches") +
                             " a batch; " + grouped(gpu["operations"]) + " operations, and " +
                             grouped(gpu["bytes"]) + " bytes read and written");
  else
    text += entry("GPU", "nothing to compute");
  if (const double back = level["bytes_back"])
    text += entry("comes back", grouped(back) + " bytes of outputs");
  return text;
}

std::string penstock::cli::transfersText(const ordered_json &transfers) {
  std::string text = "pipeline " + transfers["pipeline"].get<std::string>() +
                     ": what a sample costs at each level of --transfer\n";
  const std::string machine = "on " + transfers["machine"].get<std::string>() + ": " +
                              counted(transfers["threads"], "thread") + ", " +
                              rounded(100 * transfers["gpu_share"].get<double>()) +
                              " % of the GPU's time";
  for (const std::string &line : wrapped(machine, drawnColumns - 2, "  "))
    text += "  " + line + "\n";
  text += "\n  " + padded("level", 11, false) + padded("bytes", 11) + padded("host, us", 10) +
          padded("bus, us", 10) + padded("GPU, us", 10) + padded("samples/s", 13) + "   limit\n";
  for (const ordered_json &level : transfers["levels"])
    text += rowOf(level);
  for (const ordered_json &level : transfers["levels"])
    text += partsOf(level);
  return text + "\n--transfer auto takes `" + transfers["auto"].get<std::string>() +
         "` there; --machine describes another machine\n";
}
