// SPDX-License-Identifier: Apache-2.0
//
// A pipeline as a picture: from pst_program_overview()'s graph and a profile of `run --profile`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace penstock::cli {

/// An edge of the graph, into the box that has it.
struct OverviewFlow {
  size_t from = 0;
  std::string what;   ///< a type and its bytes
  std::string reason; ///< why the two are not one kernel
};

struct OverviewBox {
  std::string kind, title, place;
  std::vector<std::string> lines;
  std::vector<OverviewFlow> flows;
  double share = -1; ///< of the time of all boxes; below 0: not measured
  size_t launches = 0;
  bool isRow() const { return kind == "source" || kind == "output"; }
};

struct Overview {
  std::string title;
  std::vector<std::string> summary;
  std::vector<OverviewBox> boxes;
};

/// \param profile  of `run --profile`; null: none.
Overview overviewOf(const nlohmann::ordered_json &graph, const nlohmann::ordered_json *profile);

/// Columns of what is drawn in characters.
inline constexpr size_t drawnColumns = 80;

/// Returns `text` in lines of at most `columns` characters; those after the first start with
/// `indent`.
std::vector<std::string> wrapped(const std::string &text, size_t columns,
                                 const std::string &indent = "");
/// Returns the picture as text, 80 columns wide.
std::string overviewText(const Overview &overview);
/// Returns the picture as an SVG file.
std::string overviewSvg(const Overview &overview);

} // namespace penstock::cli
