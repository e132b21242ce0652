// SPDX-License-Identifier: Apache-2.0
//
// Threads with a large stack, for deeply nested texts.
#pragma once

#include <functional>

namespace penstock::api {

/// Does `work` on a thread of its own and waits for it: compilers follow expressions
/// by recursion, and a long sum in a text is a deep one. Pages that it does not touch
/// cost nothing. Where no such thread can be had, on this one. What `work` throws is thrown here.
/// The thread takes over the caller's floating-point mode.
void onLargeStack(const std::function<void()> &work);

} // namespace penstock::api
