// SPDX-License-Identifier: Apache-2.0
//
// A program's memory, where the system gives no more.
#pragma once

namespace penstock::cli {

/// From here on, the first allocation that fails gets what is kept for it, so that who asks for
/// much can say what for; and a program that ends for want of memory says so.
void sayWhenMemoryEnds();

} // namespace penstock::cli
