// SPDX-License-Identifier: Apache-2.0
//
// All bytes of a message through a pipe.
#pragma once

#include <cerrno>
#include <cstddef>
#include <unistd.h>

namespace penstock::test {

/// Calls `transfer(done)`, which moves some bytes from the one numbered `done` on, until all `size`
/// are through; false at the end of the file and at errors.
template <typename Transfer> bool transferAll(size_t size, const Transfer &transfer) {
  for (size_t done = 0; done < size;) {
    const ssize_t count = transfer(done);
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    done += static_cast<size_t>(count);
  }
  return true;
}

inline bool readAll(int file, void *to, size_t size) {
  return transferAll(
      size, [&](size_t done) { return ::read(file, static_cast<char *>(to) + done, size - done); });
}

inline bool writeAll(int file, const void *from, size_t size) {
  return transferAll(size, [&](size_t done) {
    return ::write(file, static_cast<const char *>(from) + done, size - done);
  });
}

} // namespace penstock::test
