// SPDX-License-Identifier: Apache-2.0
//
// What a process's environment says about who asks for files elsewhere.
#pragma once

#include <initializer_list>
#include <string>

namespace penstock::runtime {

/// Returns a variable of the environment, or empty.
std::string variable(const char *name);

/// Returns the first text that is not empty, or empty.
std::string firstOf(std::initializer_list<std::string> texts);

/// Returns what stands in a file that the environment names, at most 1 MiB, or empty.
std::string textOfFile(const std::string &path);

/// Returns `inner` in the user's home, or empty where that is unknown.
std::string inHome(const char *inner);

} // namespace penstock::runtime
