// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Units.h"

namespace penstock::dsl {

std::span<const Unit> allUnits() {
  // clang-format off: a table
  static constexpr Unit units[] = {
      {"ns", UnitKind::Duration, 1, 1e9},    {"us", UnitKind::Duration, 1, 1e6},
      {"ms", UnitKind::Duration, 1, 1e3},    {"s", UnitKind::Duration, 1, 1},
      {"min", UnitKind::Duration, 60, 1},    {"Hz", UnitKind::Frequency, 1, 1},
      {"kHz", UnitKind::Frequency, 1e3, 1},  {"MHz", UnitKind::Frequency, 1e6, 1},
      {"deg", UnitKind::Angle, 1, 1},        {"rad", UnitKind::Angle, 180, 3.141592653589793},
      {"%", UnitKind::Ratio, 1, 100},        {"um", UnitKind::Length, 1, 1e6},
      {"mm", UnitKind::Length, 1, 1e3},      {"cm", UnitKind::Length, 1, 100},
      {"m", UnitKind::Length, 1, 1},         {"km", UnitKind::Length, 1e3, 1},
      {"px", UnitKind::Pixels, 1, 1},
  };
  // clang-format on
  return units;
}

const Unit *findUnit(std::string_view name) {
  for (const Unit &unit : allUnits())
    if (unit.name == name)
      return &unit;
  return nullptr;
}

} // namespace penstock::dsl
