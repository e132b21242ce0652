// SPDX-License-Identifier: Apache-2.0
//
// The number of processors that this process may use.
#pragma once

#include "runtime/core/FileSystem.h"

#include <string>

namespace penstock::runtime {

/// Processors that the system lets this process use. Containers limit time, not places: a mask of
/// 64 processors says little where a cgroup allows the time of two.
struct Processors {
  int mask = 1;      ///< in the affinity mask
  double quota = 0;  ///< whose time the tightest cgroup allows; 0: all of it
  std::string limit; ///< the file that says so; empty where none does

  /// Returns the number of threads that they keep busy: a fractional quota is rounded up. At least
  /// 1.
  int usable() const;
};

/// Reads the quotas of this process's cgroups and of all above them, of version 1
/// and 2; `files` has /proc and what is mounted there as its root. What cannot be
/// read limits nothing.
Processors findProcessors(FileSystem &files, int mask);
/// Finds the processors of this machine and process, now.
Processors findProcessors();

/// Threads for a process that shares them with `ranks` - 1 others; at least 1.
int defaultThreads(const Processors &processors, int ranks);

} // namespace penstock::runtime
