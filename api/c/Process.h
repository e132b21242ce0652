// SPDX-License-Identifier: Apache-2.0
//
// The process that a handle belongs to: a forked child has none of its threads.
#pragma once

#include <unistd.h>

namespace penstock::api {

/// The process that an object was made in. A forked child has the object's
/// memory, but none of its threads, and locks as they happened to be.
class OwnProcess {
public:
  bool isThis() const { return getpid() == made; }
  pid_t number() const { return made; }

private:
  pid_t made = getpid();
};

} // namespace penstock::api
