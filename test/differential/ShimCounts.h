// SPDX-License-Identifier: Apache-2.0
//
// Counts of a launch's accesses by name, for those who add and print them.
#pragma once

#include "codegen/cuda/shim_launch.h"
#include <string>
#include <utility>

namespace penstock::differential {

inline constexpr std::pair<const char *, uint64_t pst_shim_counts::*> countFields[] = {
    {"loads", &pst_shim_counts::loads},
    {"stores", &pst_shim_counts::stores},
    {"load_bytes", &pst_shim_counts::load_bytes},
    {"store_bytes", &pst_shim_counts::store_bytes},
    {"wide_bytes", &pst_shim_counts::wide_bytes},
    {"launched_bytes", &pst_shim_counts::launched_bytes},
    {"load_sectors", &pst_shim_counts::load_sectors},
    {"store_sectors", &pst_shim_counts::store_sectors},
    {"fewest_load_sectors", &pst_shim_counts::fewest_load_sectors},
    {"fewest_store_sectors", &pst_shim_counts::fewest_store_sectors},
    {"fewest_launched_sectors", &pst_shim_counts::fewest_launched_sectors},
    {"shared_accesses", &pst_shim_counts::shared_accesses}};

/// Adds what one of `samples` did that are alike and did `some` together.
inline void addCounts(pst_shim_counts &all, const pst_shim_counts &some, uint64_t samples = 1) {
  for (auto [name, field] : countFields)
    all.*field += some.*field / samples;
}

/// Returns ` launches 2 loads 384 stores 96 ...`, each count divided by `samples`.
inline std::string countsText(int64_t launches, const pst_shim_counts &counts,
                              uint64_t samples = 1) {
  std::string text = " launches " + std::to_string(launches);
  for (auto [name, field] : countFields)
    text += std::string(" ") + name + " " + std::to_string(counts.*field / samples);
  return text;
}

} // namespace penstock::differential
