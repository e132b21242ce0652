// SPDX-License-Identifier: Apache-2.0
//
// The levels by name, and the host's.
#include "codegen/cpu/Target.h"
#include "runtime/abi/level.h"
#include <iterator>

using namespace penstock;
using namespace penstock::codegen;

static const level::Level &entryOf(CpuLevel level) {
  return *level::numbered(static_cast<uint32_t>(level));
}

Target Target::host() {
  Target highest;
  for (const level::Level &level : level::all)
    if (level::isOffered(level))
      highest.level = static_cast<CpuLevel>(level.number);
  return highest;
}

std::optional<Target> Target::named(std::string_view name) {
  if (name.empty() || name == "host")
    return host();
  for (const level::Level &level : level::all)
    if (level.name == name)
      return Target{static_cast<CpuLevel>(level.number)};
  return std::nullopt;
}

std::string Target::names() {
  std::string all;
  for (const level::Level &level : level::all)
    all += (all.empty()                          ? ""
            : &level == std::end(level::all) - 1 ? " and "
                                                 : ", ") +
           std::string(level.name);
  return all;
}

std::string Target::describe() const { return std::string(entryOf(level).name); }

bool Target::includes(const Target &other) const {
  return entryOf(level).architecture == entryOf(other.level).architecture && other.level <= level;
}
