// SPDX-License-Identifier: Apache-2.0
//
// The standard streams, from a program's begin to its end.
#pragma once

namespace penstock::cli {

/// A closed standard stream must not become the first file that is opened. What
/// cannot be written is seen at the end: a reader that has gone ends no program. Nor does
/// a file that `ulimit -f` does not let grow: its write fails, as on a full disk.
void holdStandardStreams();
/// Returns the exit code, or, if results are lost, prints a message and returns that of an error.
int finish(int exitCode);

} // namespace penstock::cli
