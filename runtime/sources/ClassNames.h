// SPDX-License-Identifier: Apache-2.0
//
// Classes that a table names.
#pragma once

#include "runtime/core/Status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace penstock::runtime {

/// Numbers names from 0, in the order in which they are listed.
class ClassNames {
public:
  /// InvalidArgument where there is none, or one is empty or there twice; the message says which.
  static Result<ClassNames> make(std::vector<std::string> names);

  /// Returns the number of a class. Blanks and line ends around the name are ignored if there is no
  /// class with them. InvalidArgument: "`cow` is none of the classes `cat` and `dog`".
  Result<int64_t> numberOf(std::string_view name) const;

private:
  std::vector<std::string> names;
  std::unordered_map<std::string, int64_t> numbers;
};

} // namespace penstock::runtime
