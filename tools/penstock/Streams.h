// SPDX-License-Identifier: Apache-2.0
//
// The standard streams, from a program's begin to its end.
#pragma once

#include <string>
#include <string_view>

namespace penstock::cli {

/// A closed standard stream must not become the first file that is opened. What
/// cannot be written is seen at the end: a reader that has gone ends no program. Nor does
/// a file that `ulimit -f` does not let grow: its write fails, as on a full disk.
void holdStandardStreams();
/// A text with parts of files and their names, for a terminal: control characters but for line ends
/// and tabs, which may be commands to it, as `\x1b`.
std::string printable(std::string_view text);
/// Returns the exit code, or, if results are lost, prints a message and returns that of an error.
int finish(int exitCode);

} // namespace penstock::cli
