// SPDX-License-Identifier: Apache-2.0
//
// Costs of each transfer level, as a table: of pst_program_transfers().
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace penstock::cli {

/// Returns the costs as text, 80 columns wide.
std::string transfersText(const nlohmann::ordered_json &transfers);

} // namespace penstock::cli
