// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Numbers.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace penstock::dsl {

std::optional<UnitKind> unitKindOf(std::string_view type) {
  if (type == "duration")
    return UnitKind::Duration;
  if (type == "frequency")
    return UnitKind::Frequency;
  if (type == "angle")
    return UnitKind::Angle;
  if (type == "length")
    return UnitKind::Length;
  return std::nullopt;
}

namespace {
/// The integers of a type; bits 0: no integer type.
struct Integers {
  int bits = 0;
  bool isSigned = true;
};
} // namespace

static Integers integersOf(std::string_view type) {
  if (type == "int")
    return {64, true};
  for (int bits : {8, 16, 32, 64})
    for (bool isSigned : {true, false})
      if (type == (isSigned ? "i" : "u") + std::to_string(bits))
        return {bits, isSigned};
  return {};
}

bool isInteger(std::string_view type) { return integersOf(type).bits != 0; }

static bool fits(int64_t value, Integers integers) {
  if (integers.bits == 64)
    return true;
  const int64_t end = int64_t{1} << (integers.bits - integers.isSigned);
  return value < end && value >= (integers.isSigned ? -end : 0);
}

namespace {
/// A type of floats: what would be rounded beyond its last number, and that one.
struct Floats {
  std::string_view name;
  double infinite;
  const char *end;
};
} // namespace

static const Floats &floatsOf(std::string_view type) {
  static constexpr Floats all[] = {
      {"f16", 65520, "65504"}, {"bf16", 0x1.ffp127, "3.39e38"}, {"f32", 0x1.ffffffp127, "3.4e38"}};
  static constexpr Floats f64 = {"f64", HUGE_VAL, "1.8e308"}; // of all other types
  for (const Floats &floats : all)
    if (floats.name == type)
      return floats;
  return f64;
}

bool exceedsFloat(std::string_view type, double value) {
  return std::abs(value) >= floatsOf(type).infinite;
}

std::string describeEnd(std::string_view type) {
  const Floats &floats = floatsOf(type);
  return std::string(floats.name) + ", which ends at " + floats.end;
}

/// `tooLarge`: for its type, where there is none.
static std::optional<Number> parse(std::string_view type, std::string_view text, bool &tooLarge) {
  while (!text.empty() && text.front() == ' ')
    text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ')
    text.remove_suffix(1);
  std::string digits;
  size_t at = 0;
  auto isDigit = [&](size_t i) {
    return i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]));
  };
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool sign = (c == '-' || c == '+') && (digits.empty() || digits.back() == 'e');
    const bool exponent = (c == 'e' || c == 'E') && !digits.empty() &&
                          (isDigit(at + 1) || (at + 1 < text.size() && isDigit(at + 2)));
    if (c == '_')
      continue;
    if (!isDigit(at) && c != '.' && !sign && !exponent)
      break;
    if (c != '+')
      digits += exponent ? 'e' : c;
  }
  Number result;
  const char *end = digits.data() + digits.size();
  if (auto [stop, error] = std::from_chars(digits.data(), end, result.value);
      error != std::errc() || stop != end || digits.empty()) {
    tooLarge = stop == end && error == std::errc::result_out_of_range &&
               std::isinf(std::strtod(digits.c_str(), nullptr)); // else it is too small
    return std::nullopt;
  }

  const std::string_view suffix = text.substr(at);
  const Unit *unit = suffix.empty() ? nullptr : findUnit(suffix);
  if (!suffix.empty() && !unit)
    return std::nullopt;
  if (unit)
    result.value = result.value * unit->numerator / unit->denominator;
  if (const Integers integers = integersOf(type); integers.bits) {
    int64_t whole = 0;
    auto [stop, error] = std::from_chars(digits.data(), end, whole);
    tooLarge = !unit && stop == end && error == std::errc::result_out_of_range;
    if (unit || error != std::errc() || stop != end || !fits(whole, integers))
      return std::nullopt;
    result.whole = whole;
    return result;
  }
  if (exceedsFloat(type, result.value)) {
    tooLarge = true;
    return std::nullopt;
  }
  if (std::optional<UnitKind> wanted = unitKindOf(type))
    return unit && unit->kind == *wanted ? std::optional(result) : std::nullopt;
  // A share stands for its number everywhere.
  return !unit || unit->kind == UnitKind::Ratio ? std::optional(result) : std::nullopt;
}

std::optional<Number> parseNumber(std::string_view type, std::string_view text) {
  bool tooLarge = false;
  return parse(type, text, tooLarge);
}

std::string exceeded(std::string_view type, std::string_view text) {
  bool tooLarge = false;
  (void)parse(type, text, tooLarge);
  const int bits = integersOf(type).bits;
  return !tooLarge || (bits && bits < 64) ? "" : bits ? "64 bits" : describeEnd(type);
}

std::string describeValues(std::string_view type) {
  if (const Integers integers = integersOf(type); integers.bits == 64)
    return "a whole number such as `128`";
  else if (integers.bits) {
    const int64_t end = int64_t{1} << (integers.bits - integers.isSigned);
    return "a whole number from " + std::to_string(integers.isSigned ? -end : 0) + " to " +
           std::to_string(end - 1);
  }
  if (std::optional<UnitKind> kind = unitKindOf(type))
    return std::string("a number with a unit, such as `") + (*kind == UnitKind::Duration ? "25ms`"
                                                             : *kind == UnitKind::Frequency
                                                                 ? "16kHz`"
                                                             : *kind == UnitKind::Angle ? "3deg`"
                                                                                        : "1.5mm`");
  if (type == "bool")
    return "`true` or `false`";
  if (type == "range")
    return "two numbers such as `0.5 .. 1.5`";
  return "a number such as `0.5` or `1%`";
}

} // namespace penstock::dsl
