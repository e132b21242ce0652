// SPDX-License-Identifier: Apache-2.0
//
// The graph of a pipeline as boxes, with the measured share of time of each.

#include "tools/penstock/Overview.h"
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

using namespace penstock::cli;
using nlohmann::ordered_json;

std::vector<std::string> penstock::cli::wrapped(const std::string &text, size_t columns,
                                                const std::string &indent) {
  std::vector<std::string> lines;
  std::string rest = text;
  while (rest.size() > columns) {
    size_t space = rest.rfind(' ', columns);
    if (space == std::string::npos || space <= indent.size())
      space = columns; // one long word
    lines.push_back(rest.substr(0, space));
    rest = indent + rest.substr(rest[space] == ' ' ? space + 1 : space);
  }
  lines.push_back(rest);
  return lines;
}

static std::string textOf(const ordered_json &object, const char *field) {
  return object.value(field, std::string());
}

/// `u8[h=?, byte=? max 9]` as a user writes it: `u8[h, byte <= 9]`.
static std::string written(std::string type) {
  for (const auto &[theirs, ours] :
       {std::pair<std::string, std::string>{"=? max ", " <= "}, {"=?", ""}})
    for (size_t at = type.find(theirs); at != std::string::npos; at = type.find(theirs, at))
      type.replace(at, theirs.size(), ours);
  return type;
}

/// Nanoseconds that a profile gives to each box.
static std::vector<double> timesOf(const ordered_json &graph, const ordered_json &profile) {
  const ordered_json stages = profile.value("stages", ordered_json::object());
  const ordered_json kernels = profile.value("kernels", ordered_json::object());
  auto stage = [&](const char *name) {
    return stages.contains(name) ? stages[name].value("busy_ns", 0.0) : 0.0;
  };
  size_t sources = 0, decodes = 0;
  for (const ordered_json &box : graph["boxes"]) {
    sources += box["kind"] == "source";
    decodes += box["kind"] == "decode";
  }
  std::vector<double> times;
  for (const ordered_json &box : graph["boxes"]) {
    double time = 0;
    if (box["kind"] == "source")
      time = (stage("select") + stage("fetch") + stage("probe")) / static_cast<double>(sources);
    if (box["kind"] == "decode")
      time = stage("decode") / static_cast<double>(decodes);
    for (const ordered_json &kernel : box["kernels"])
      if (const std::string name = kernel.get<std::string>(); kernels.contains(name))
        time += kernels[name].value("busy_ns", 0.0);
    times.push_back(time);
  }
  return times;
}

Overview penstock::cli::overviewOf(const ordered_json &graph, const ordered_json *profile) {
  Overview result;
  result.title = textOf(graph, "pipeline");
  for (const char *field : {"summary", "place"}) {
    std::string text = textOf(graph, field);
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      // Sums over extents that differ from sample to sample are for `--all`.
      if (const std::string line = text.substr(begin, end - begin);
          line.find(" x ") == std::string::npos)
        result.summary.push_back(line);
      begin = end + 1;
    }
  }
  for (const ordered_json &box : graph["boxes"]) {
    OverviewBox &added = result.boxes.emplace_back();
    added.kind = textOf(box, "kind");
    added.title = textOf(box, "title");
    added.place = textOf(box, "place");
    added.launches = box.value("launches", size_t(0));
    for (const ordered_json &line : box["lines"])
      added.lines.push_back(line.get<std::string>());
    for (const ordered_json &flow : box["in"]) {
      const std::string bytes = textOf(flow, "bytes");
      added.flows.push_back({flow["from"].get<size_t>(),
                             written(textOf(flow, "what")) + (bytes.empty() ? "" : ", " + bytes),
                             textOf(flow, "not_fused")});
    }
  }
  if (!profile)
    return result;
  const std::vector<double> times = timesOf(graph, *profile);
  double all = 0;
  for (double time : times)
    all += time;
  for (size_t i = 0; i < times.size() && all > 0; ++i)
    if (result.boxes[i].kind != "output")
      result.boxes[i].share = times[i] / all;
  char line[160];
  std::snprintf(line, sizeof line, "of %lld samples in %.2f s on %d threads, limited by %s",
                static_cast<long long>(profile->value("samples", int64_t(0))),
                profile->value("elapsed_ns", 0.0) * 1e-9, profile->value("threads", 0),
                profile->value("limit", std::string("nothing")).c_str());
  result.summary.emplace_back(line);
  return result;
}
