// SPDX-License-Identifier: Apache-2.0
//
// The picture of a pipeline as SVG: boxes in rows, each below all that it reads.

#include "tools/penstock/Overview.h"
#include <algorithm>
#include <cmath>
#include <sstream>

using namespace penstock::cli;

namespace {

constexpr int boxWidth = 380, gap = 40, lineHeight = 17, margin = 56, columns = 56;

struct Placed {
  std::vector<std::string> title, lines;
  int row = 0, x = 0, y = 0, height = 0;
  int middle() const { return x + boxWidth / 2; }
};

class Drawing {
public:
  explicit Drawing(const Overview &overview) : overview(overview) {}
  std::string draw();

private:
  const Overview &overview;
  std::vector<Placed> placed;
  std::ostringstream out;
  int width = 0, height = 0, top = 0;

  void measure();
  void place();
  void box(size_t number);
  void flows(size_t number);
  void text(int x, int y, const std::string &words, const char *style);
};

} // namespace

static std::string escaped(const std::string &text) {
  std::string out;
  for (char c : text)
    switch (c) {
    case '&':
      out += "&amp;";
      break;
    case '<':
      out += "&lt;";
      break;
    case '>':
      out += "&gt;";
      break;
    case '"':
      out += "&quot;";
      break;
    default:
      out += c;
    }
  return out;
}

void Drawing::text(int x, int y, const std::string &words, const char *style) {
  out << "<text x=\"" << x << "\" y=\"" << y << "\" class=\"" << style << "\">" << escaped(words)
      << "</text>\n";
}

/// Measures what each box says, and the row in which it stands.
void Drawing::measure() {
  placed.resize(overview.boxes.size());
  for (size_t i = 0; i < placed.size(); ++i) {
    const OverviewBox &box = overview.boxes[i];
    Placed &here = placed[i];
    here.title = wrapped((box.kind == "output" ? "output " : "") + box.title, columns - 8);
    std::string facts = box.place;
    if (box.launches > 1)
      facts += (facts.empty() ? "" : ", ") + std::to_string(box.launches) + " kernels";
    if (!facts.empty())
      here.lines.push_back(facts);
    for (const std::string &line : box.lines)
      for (const std::string &part : wrapped(line, columns, "  "))
        here.lines.push_back(part);
    here.height = 14 + lineHeight * static_cast<int>(here.title.size() + here.lines.size());
    for (const OverviewFlow &flow : box.flows)
      if (flow.from < i)
        here.row = std::max(here.row, placed[flow.from].row + 1);
  }
  int lowest = 0;
  for (const Placed &here : placed)
    lowest = std::max(lowest, here.row);
  for (size_t i = 0; i < placed.size(); ++i)
    if (overview.boxes[i].kind == "output")
      placed[i].row = lowest;
}

void Drawing::place() {
  int rows = 0, most = 0;
  for (const Placed &box : placed)
    rows = std::max(rows, box.row + 1);
  std::vector<std::vector<size_t>> byRow(static_cast<size_t>(rows));
  for (size_t i = 0; i < placed.size(); ++i)
    byRow[static_cast<size_t>(placed[i].row)].push_back(i);
  for (const auto &row : byRow)
    most = std::max(most, static_cast<int>(row.size()));
  width = std::max(620, 2 * margin + most * boxWidth + (most - 1) * gap);
  int y = top;
  for (const auto &row : byRow) {
    const int count = static_cast<int>(row.size());
    int x = (width - count * boxWidth - (count - 1) * gap) / 2, tallest = 0, labels = 1;
    for (size_t i : row) {
      int lines = 0;
      for (const OverviewFlow &flow : overview.boxes[i].flows)
        lines += flow.reason.empty() ? 1 : 2;
      labels = std::max(labels, lines);
    }
    y += row == byRow.front() ? 0 : 40 + lineHeight * labels;
    for (size_t i : row) {
      placed[i].x = x;
      placed[i].y = y;
      x += boxWidth + gap;
      tallest = std::max(tallest, placed[i].height);
    }
    y += tallest;
  }
  height = y + margin;
}

void Drawing::box(size_t number) {
  const OverviewBox &box = overview.boxes[number];
  const Placed &here = placed[number];
  out << "<rect class=\"" << box.kind << "\" x=\"" << here.x << "\" y=\"" << here.y << "\" width=\""
      << boxWidth << "\" height=\"" << here.height << "\" rx=\"6\"/>\n";
  if (box.share >= 0) {
    const int bar = std::max(1, static_cast<int>(std::lround(box.share * boxWidth)));
    out << "<rect class=\"time\" x=\"" << here.x << "\" y=\"" << here.y + here.height - 5
        << "\" width=\"" << bar << "\" height=\"5\" rx=\"2\"/>\n";
    const int percent = static_cast<int>(std::lround(100 * box.share));
    text(here.x + boxWidth - 10, here.y + lineHeight + 2,
         percent ? std::to_string(percent) + " %" : "< 1 %", "share");
  }
  int y = here.y + lineHeight + 2;
  for (const std::string &line : here.title) {
    text(here.x + 10, y, line, "title");
    y += lineHeight;
  }
  for (const std::string &line : here.lines) {
    text(here.x + 10, y, line, "line");
    y += lineHeight;
  }
}

void Drawing::flows(size_t number) {
  const Placed &here = placed[number];
  int label = here.y - 14;
  const auto &all = overview.boxes[number].flows;
  for (size_t i = all.size(); i-- > 0;) {
    const OverviewFlow &flow = all[i];
    const Placed &from = placed[flow.from];
    const bool far = here.row - from.row > 1;
    int x0 = from.middle(), y0 = from.y + from.height, x1 = here.middle(), y1 = here.y;
    int bendX = 0, bendY = std::max(20, (y1 - y0) / 2);
    if (far && std::abs(x0 - x1) < boxWidth) { // around what stands between
      x0 = from.x, y0 = from.y + from.height / 2, x1 = here.x, y1 = here.y + here.height / 2;
      bendX = -gap - 10, bendY = 0;
    }
    out << "<path class=\"flow\" d=\"M" << x0 << " " << y0 << " C" << x0 + bendX << " "
        << y0 + bendY << " " << x1 + bendX << " " << y1 - bendY << " " << x1 << " " << y1
        << "\" marker-end=\"url(#arrow)\"/>\n";
    const std::string name = far ? overview.boxes[flow.from].title + ": " : "";
    if (!flow.reason.empty()) {
      text(here.middle() + 8, label, "not fused: " + flow.reason, "reason");
      label -= lineHeight;
    }
    text(here.middle() + 8, label, name.substr(0, 30) + flow.what, "what");
    label -= lineHeight;
  }
}

std::string Drawing::draw() {
  measure();
  top = margin + 30 + lineHeight * static_cast<int>(overview.summary.size());
  place();
  for (size_t i = 0; i < placed.size(); ++i)
    flows(i);
  for (size_t i = 0; i < placed.size(); ++i)
    box(i);
  text(margin, margin + 8, overview.title, "head");
  int y = margin + 30;
  for (const std::string &line : overview.summary) {
    text(margin, y, line, "line");
    y += lineHeight;
  }
  // Words beside the arrows may be longer than boxes are wide.
  size_t longest = 0;
  for (const std::string &line : overview.summary)
    longest = std::max(longest, line.size());
  int right = std::max(width, 2 * margin + static_cast<int>(longest * 7));
  for (size_t i = 0; i < placed.size(); ++i)
    for (const OverviewFlow &flow : overview.boxes[i].flows)
      right = std::max(
          right,
          placed[i].middle() + margin +
              static_cast<int>(
                  7 * std::max(flow.what.size() + 30 * (placed[i].row - placed[flow.from].row > 1),
                               flow.reason.size() + 11)));
  std::ostringstream file;
  file
      << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << right << "\" height=\"" << height
      << "\" viewBox=\"0 0 " << right << " " << height << "\">\n"
      << "<title>" << escaped(overview.title) << "</title>\n"
      << "<style>\n"
         "text { font: 12px sans-serif; fill: #24292f }\n"
         ".head { font-size: 18px; font-weight: bold }\n"
         ".title { font-size: 13px; font-weight: bold }\n"
         ".share { font-size: 13px; font-weight: bold; text-anchor: end; fill: #b35900 }\n"
         ".what, .reason { paint-order: stroke; stroke: white; stroke-width: 4px }\n"
         ".line { fill: #57606a }\n"
         ".reason { fill: #a40e26; font-style: italic }\n"
         "rect { stroke: #8c959f; stroke-width: 1 }\n"
         ".source { fill: #ddf4ff } .decode { fill: #fff8c5 } .kernel { fill: #dafbe1 } .output { "
         "fill: #fbefff }\n"
         ".time { fill: #e36209; stroke: none }\n"
         ".flow { fill: none; stroke: #57606a; stroke-width: 1.5 }\n"
         "</style>\n"
      << "<defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"7\" "
         "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" "
         "fill=\"#57606a\"/></marker></defs>\n"
      << "<rect width=\"100%\" height=\"100%\" style=\"fill: white; stroke: none\"/>\n"
      << out.str() << "</svg>\n";
  return file.str();
}

std::string penstock::cli::overviewSvg(const Overview &overview) {
  return Drawing(overview).draw();
}
