// SPDX-License-Identifier: Apache-2.0
//
// Numbers that are given as text from outside: values of parameters.
#pragma once

#include "dsl/AST/Units.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace penstock::dsl {

struct Number {
  double value = 0;             ///< in the base unit of its kind
  std::optional<int64_t> whole; ///< if it has no fraction, exponent or unit
};

/// The kind of unit that numbers of a type carry: `duration`, `angle` ...
std::optional<UnitKind> unitKindOf(std::string_view type);

/// Returns the value that `text` spells in a type of the language (`int`, `u8`, `f32`, `ratio`,
/// `duration` ...): `1_000`, `-0.5`, `25ms`, `1%`. Nothing if it does not fit:
/// a unit of another kind or none, a fraction for an integer, out of range (a float that would be
/// infinite, too).
std::optional<Number> parseNumber(std::string_view type, std::string_view text);

/// What has no room for the number that `text` is: "64 bits", "f32, which ends at 3.4e38"; empty
/// where that is not the reason that parseNumber() refuses it.
std::string exceeded(std::string_view type, std::string_view text);

/// True of a type of integers: `int`, `u8` ...
bool isInteger(std::string_view type);

/// True if a finite value is infinite in a type of floats, `f16` to `f64`.
bool exceedsFloat(std::string_view type, double value);
/// "f32, which ends at 3.4e38".
std::string describeEnd(std::string_view type);

/// Describes values of a type: "a number with a unit, such as `25ms`".
std::string describeValues(std::string_view type);

} // namespace penstock::dsl
