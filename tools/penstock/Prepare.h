// SPDX-License-Identifier: Apache-2.0
//
// Runs of `index` and `pack`: one pass over a data set.
#pragma once

#include "api/c/penstock.h"
#include <atomic>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <thread>

namespace penstock::cli {

/// Runs it with progress on stderr, where that is a terminal, and with Ctrl-C;
/// prints an error. The exit code.
int prepare(pst_prepare_options &options, const std::function<pst_status(pst_text **)> &work,
            const std::function<void(const nlohmann::ordered_json &)> &print, bool json);

/// Returns a share as text: "1,234 bytes (0.50 %)".
std::string share(uint64_t bytes, uint64_t ofBytes);

} // namespace penstock::cli
