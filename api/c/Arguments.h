// SPDX-License-Identifier: Apache-2.0
//
// What a caller hands over.
#pragma once

#include "api/c/penstock.h"
#include "runtime/core/Status.h"
#include <cstring>
#include <string>

namespace penstock::api {

/// The number that a caller wrote for one of C's enumerations: C++ may only look at its bytes,
/// since it need not be a value of the enumeration.
template <typename Enumeration> int numberOf(const Enumeration &written) {
  static_assert(sizeof written == sizeof(int));
  int number;
  std::memcpy(&number, &written, sizeof number);
  return number;
}

/// Refuse what cannot be read: arrays, names and values that are NULL. `name` is that of the array
/// in penstock.h.
runtime::Status checkArray(const void *array, size_t count, const char *name);
runtime::Status checkTexts(const char *const *texts, size_t count, const char *name);
/// Refuses a name that stands twice, too.
runtime::Status checkParameters(const pst_parameter *given, size_t count);
/// Refuses an empty one, too: it would be the current folder, or none.
runtime::Status checkPath(const char *path, const char *name);
runtime::Status checkText(const char *text, const char *name);
runtime::Status checkOptions(const pst_compile_options &given);
runtime::Status checkOptions(const pst_session_options &given);
runtime::Status checkOptions(const pst_prepare_options &given);

} // namespace penstock::api
