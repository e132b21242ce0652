// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/ClassNames.h"

#include "runtime/core/TextValue.h"

#include <algorithm>

namespace penstock::runtime {

Result<ClassNames> ClassNames::make(std::vector<std::string> names) {
  if (names.empty())
    return Error{Code::InvalidArgument, "there are no classes"};
  ClassNames made;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty())
      return Error{Code::InvalidArgument, "class " + std::to_string(i) + " has no name"};
    if (!made.numbers.emplace(names[i], int64_t(i)).second)
      return Error{Code::InvalidArgument, "there are two classes `" + names[i] + "`"};
  }
  made.names = std::move(names);
  return made;
}

Result<int64_t> ClassNames::numberOf(std::string_view name) const {
  auto found = numbers.find(std::string(name));
  if (found == numbers.end())
    found = numbers.find(std::string(trimmed(name)));
  if (found != numbers.end())
    return found->second;
  constexpr size_t mostShown = 6;
  std::string known;
  for (size_t i = 0; i < std::min(names.size(), mostShown); ++i)
    known += (i == 0 ? "`" : i + 1 == names.size() ? " and `" : ", `") + names[i] + "`";
  if (names.size() > mostShown)
    known += " ... (" + std::to_string(names.size()) + ")";
  return misfit(trimmed(name), "is none of the classes " + known);
}

} // namespace penstock::runtime
