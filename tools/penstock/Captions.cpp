// SPDX-License-Identifier: Apache-2.0
//
// Captions of samples: the random values that were drawn.

#include "tools/penstock/Captions.h"
#include <cstdio>

using namespace penstock::cli;

std::string penstock::cli::drawnValue(const pst_draw &draw, int digits) {
  if (draw.dtype == PST_BOOL)
    return draw.value != 0 ? "true" : "false";
  char text[32];
  const bool isFloat = draw.dtype == PST_F16 || draw.dtype == PST_BF16 || draw.dtype == PST_F32 ||
                       draw.dtype == PST_F64;
  std::snprintf(text, sizeof text, "%.*g", isFloat ? digits : 17, draw.value);
  return text;
}

/// `p/pixels/crop_box/top` is drawn at `p/pixels/crop_box`; people are shown the
/// last step of the place.
static std::pair<std::string, std::string> placeAndName(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::pair<std::string, std::string>{"", path}
                                    : std::pair{path.substr(0, slash), path.substr(slash + 1)};
}

static void wrap(std::string text, size_t columns, std::vector<std::string> &lines) {
  while (text.size() > columns) {
    size_t space = text.rfind(' ', columns);
    if (space == std::string::npos || space < 3)
      break; // one long word
    lines.push_back(text.substr(0, space));
    text = "  " + text.substr(space + 1);
  }
  lines.push_back(std::move(text));
}

std::vector<std::string> penstock::cli::captionOf(const pst_sample *sample, int64_t position,
                                                  int columns) {
  std::string name = pst_sample_name(sample);
  name = name.substr(name.rfind('/') + 1);
  std::vector<std::string> lines;
  const size_t width = static_cast<size_t>(columns);
  wrap("#" + std::to_string(position) + " " + name, width, lines);
  if (*pst_sample_bad_reason(sample))
    wrap("a substitute", width, lines);
  std::string place, line;
  for (size_t i = 0; i < pst_sample_draw_count(sample); ++i) {
    const pst_draw &draw = *pst_sample_draw(sample, i);
    const auto [where, what] = placeAndName(draw.path);
    const std::string entry = what + " " + drawnValue(draw, 4);
    if (i > 0 && where == place) {
      line += ", " + entry;
      continue;
    }
    if (i > 0)
      wrap(line, width, lines);
    place = where;
    line = where.substr(where.rfind('/') + 1) + ": " + entry;
  }
  if (!line.empty())
    wrap(line, width, lines);
  return lines;
}
