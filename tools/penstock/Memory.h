// SPDX-License-Identifier: Apache-2.0
//
// A program's memory, where the system gives no more.
#pragma once

namespace penstock::cli {

/// From here on, the first allocation that fails gets what is kept for it, so that who asks for
/// much can say what for; and a program that ends for want of memory says so.
void sayWhenMemoryEnds();

/// Where addresses are limited (`ulimit -v`), has threads share two arenas of the C library's,
/// which has one for each thread else, of 64 MiB of addresses.
void shareArenas();

} // namespace penstock::cli
