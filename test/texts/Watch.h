// SPDX-License-Identifier: Apache-2.0
//
// Work in a process that may die.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace penstock::texts {

/// Does `work` for first ..< end in processes of their own, which may die or use more
/// than `limitSeconds` of CPU time for a number: that is a fault of it, as is what
/// `work` returns. `found` is told of each, in this process.
void watch(uint64_t first, uint64_t end, int limitSeconds,
           const std::function<std::string(uint64_t)> &work,
           const std::function<void(uint64_t, const std::string &)> &found);

} // namespace penstock::texts
