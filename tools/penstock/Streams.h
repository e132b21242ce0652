// SPDX-License-Identifier: Apache-2.0
//
// The standard streams, from a program's begin to its end.
#pragma once

namespace penstock::cli {

/// A closed standard stream must not become the first file that is opened. What
/// cannot be written is seen at the end: a reader that has gone ends no program.
void holdStandardStreams();
/// The exit code, or, where results are lost, a message and that of an error.
int finish(int exitCode);

} // namespace penstock::cli
