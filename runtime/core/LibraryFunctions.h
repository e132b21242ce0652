// SPDX-License-Identifier: Apache-2.0
//
// Functions of a library that was opened, by their names there.
#pragma once

#include <dlfcn.h>

namespace penstock::runtime {

class LibraryFunctions {
public:
  explicit LibraryFunctions(void *library) : library(library) {}

  /// Null where the library has none of that name.
  template <class Function> void take(Function *&function, const char *name) {
    function = reinterpret_cast<Function *>(dlsym(library, name));
    if (!function && !firstMissing)
      firstMissing = name;
  }
  /// The name of the first that is missing, or null.
  const char *missing() const { return firstMissing; }

private:
  void *library;
  const char *firstMissing = nullptr;
};

} // namespace penstock::runtime
