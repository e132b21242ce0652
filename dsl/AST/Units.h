// SPDX-License-Identifier: Apache-2.0
//
// The units that a number may carry: `25ms`, `16kHz`, `3deg`, `1%`.
#pragma once

#include <span>
#include <string_view>

namespace penstock::dsl {

enum class UnitKind { Duration, Frequency, Angle, Ratio, Length, Pixels };

/// One unit; `value * numerator / denominator` is in the base unit of its kind
/// (s, Hz, deg, 1, m, px). Both factors are exact, so that 25ms and 0.025s are
/// the same number.
struct Unit {
  std::string_view name;
  UnitKind kind;
  double numerator;
  double denominator;
};

/// Returns a unit by its name; null if there is none.
const Unit *findUnit(std::string_view name);
std::span<const Unit> allUnits();

} // namespace penstock::dsl
