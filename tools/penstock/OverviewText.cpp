// SPDX-License-Identifier: Apache-2.0
//
// The picture of a pipeline in characters.

#include "tools/penstock/Overview.h"
#include <algorithm>
#include <cmath>

using namespace penstock::cli;

static std::string times(size_t count, char c) { return std::string(count, c); }

/// `resize, normalize (3 kernels)`
static std::string titleOf(const OverviewBox &box) {
  return box.title + (box.launches > 1 ? " (" + std::to_string(box.launches) + " kernels)" : "");
}

static std::string percent(double share) {
  const int whole = static_cast<int>(std::lround(100 * share));
  return whole == 0 ? "under 1 %" : std::to_string(whole) + " %";
}

/// Draws the edges into box `to`, with an arrow below.
static std::string flowsInto(const Overview &overview, size_t to) {
  const OverviewBox &box = overview.boxes[to];
  std::string text;
  for (const OverviewFlow &flow : box.flows) {
    const bool above = flow.from + 1 == to;
    const std::string from = above ? "" : "from [" + std::to_string(flow.from + 1) + "]: ";
    for (const std::string &line : wrapped(from + flow.what, drawnColumns - 6))
      text += "    | " + line + "\n";
    if (!flow.reason.empty())
      for (const std::string &line : wrapped("not fused: " + flow.reason, drawnColumns - 8, "  "))
        text += "    |   " + line + "\n";
  }
  return text.empty() ? "\n" : text + "    v\n";
}

static std::string boxText(const OverviewBox &box, size_t number) {
  const std::string share = box.share < 0 ? "" : " " + percent(box.share) + " of the time -";
  const std::string right = (box.place.empty() ? "" : " " + box.place + " -") + share + "+";
  const size_t room = drawnColumns - 4 - right.size();
  const std::vector<std::string> title =
      wrapped("[" + std::to_string(number + 1) + "] " + titleOf(box), room - 3);
  std::string head = "+- " + title[0] + " ";
  std::string text = head +
                     times(drawnColumns - std::min(drawnColumns, head.size() + right.size()), '-') +
                     right + "\n";
  auto line = [&](const std::string &inner) {
    text += "| " + inner + times(drawnColumns - 4 - std::min(drawnColumns - 4, inner.size()), ' ') +
            " |\n";
  };
  for (size_t i = 1; i < title.size(); ++i)
    line("  " + title[i]);
  for (const std::string &entry : box.lines)
    for (const std::string &part : wrapped(entry, drawnColumns - 4, "  "))
      line(part);
  if (box.share >= 0) {
    const size_t bar =
        static_cast<size_t>(std::lround(box.share * static_cast<double>(drawnColumns - 4)));
    if (bar > 0)
      line(times(bar, '#'));
  }
  return text + "+" + times(drawnColumns - 2, '-') + "+\n";
}

std::string penstock::cli::overviewText(const Overview &overview) {
  std::string text = "pipeline " + overview.title + "\n";
  for (const std::string &entry : overview.summary)
    for (const std::string &line : wrapped(entry, drawnColumns - 2, "  "))
      text += "  " + line + "\n";
  text += "\n";
  for (size_t i = 0; i < overview.boxes.size(); ++i) {
    const OverviewBox &box = overview.boxes[i];
    if (box.kind != "source" && !(box.kind == "output" && box.flows.empty()))
      text += flowsInto(overview, i);
    if (box.kind != "output") {
      text += boxText(box, i);
      continue;
    }
    const std::string from = box.flows.empty() ? ", a number of each sample" : "";
    for (const std::string &line : wrapped("output " + box.title + from, drawnColumns - 2, "  "))
      text += "  " + line + "\n";
  }
  return text;
}
