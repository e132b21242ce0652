// SPDX-License-Identifier: Apache-2.0
//
// Loops whose iterations wait for files.
#pragma once

#include <cstddef>
#include <functional>

namespace penstock::runtime {

/// For work that waits for files more than it computes.
constexpr int readingThreads = 16;

/// Calls `work(0)` ... `work(count - 1)`, each once, on up to `threads` threads
/// that exist for this call only; returns when all have ended. Of what `work` throws, the first is
/// thrown here, and what had not begun is not done.
void parallelFor(size_t count, int threads, const std::function<void(size_t)> &work);

} // namespace penstock::runtime
