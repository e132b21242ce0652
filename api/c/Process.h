//===- Process.h - whose threads a handle has ------------------------------===//
#ifndef PENSTOCK_API_C_PROCESS_H
#define PENSTOCK_API_C_PROCESS_H

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

#endif
