// SPDX-License-Identifier: Apache-2.0
//
// Values that report failure in the runtime's interfaces: never exceptions.
#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace penstock::runtime {

/// Kinds of failure; the message has the details.
enum class Code {
  InvalidArgument, ///< the caller asked for something that cannot be
  NotFound,        ///< a file or folder does not exist
  Permission,      ///< it exists, but may not be read or written
  OutsideRoot,     ///< a path leaves the folders that were given
  Io,              ///< the system failed to read or write
  Truncated,       ///< the data ends early
  Corrupt,         ///< the data is damaged
  Unsupported,     ///< the data is whole, but of a kind we do not read
  Limit,           ///< a stated limit (pixels, bytes, scans) would be exceeded
  Exhausted,   ///< the system gives no more of something, such as open files: no data is to blame
  Unreachable, ///< what has the data does not answer: no data is to blame
  Cancelled,   ///< somebody stopped the work
};

/// A failure: lower case, no final period, found against expected.
struct Error {
  Code code = Code::InvalidArgument;
  std::string message;
};

/// A value, or why there is none.
template <typename T> class [[nodiscard]] Result {
public:
  Result(T value) : state(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }

  /// Call only when ok().
  T &operator*() {
    assert(ok());
    return *std::get_if<0>(&state);
  }
  const T &operator*() const {
    assert(ok());
    return *std::get_if<0>(&state);
  }
  T *operator->() { return &**this; }
  const T *operator->() const { return &**this; }

  /// Call only when not ok().
  Error &error() {
    assert(!ok());
    return *std::get_if<1>(&state);
  }
  const Error &error() const {
    assert(!ok());
    return *std::get_if<1>(&state);
  }

private:
  std::variant<T, Error> state;
};

/// Success, or why not.
class [[nodiscard]] Status {
public:
  Status() = default;
  Status(Error error) : state(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return state.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error &error() const {
    assert(!ok());
    return *std::get_if<1>(&state);
  }

private:
  std::variant<std::monostate, Error> state;
};

} // namespace penstock::runtime
