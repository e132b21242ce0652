// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/TextValue.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>
#include <type_traits>

namespace penstock::runtime {

using plan::DType;

std::string inSmallLetters(std::string_view text) {
  std::string small(text);
  for (char &c : small)
    if (c >= 'A' && c <= 'Z')
      c = char(c | 0x20);
  return small;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(blanks) + 1 - begin);
}

Error misfit(std::string_view text, const std::string &what) {
  constexpr size_t most = 40; // of what may be a whole file
  size_t end = std::min(text.size(), most);
  // Not within a character.
  while (end > 0 && end < text.size() && (uint8_t(text[end]) & 0xC0) == 0x80)
    --end;
  const std::string shown(text.substr(0, end));
  return {Code::InvalidArgument, "`" + shown + (end < text.size() ? "...` " : "` ") + what};
}

namespace {

/// from_chars knows no plus.
std::string_view withoutPlus(std::string_view text) {
  const bool plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return text.substr(plus);
}

/// Returns whether a number that no binary one is near is too small, not too large. Only the place
/// of its first digit tells, and both limits are far away.
bool isTiny(std::string_view number) {
  const size_t mark = std::min(number.find_first_of("eE"), number.size());
  const std::string_view digits = number.substr(0, mark);
  const size_t point = std::min(digits.find('.'), digits.size());
  const size_t first = digits.find_first_of("123456789");
  int64_t exponent = 0;
  const std::string_view written = withoutPlus(number.substr(std::min(mark + 1, number.size())));
  const auto [end, error] =
      std::from_chars(written.data(), written.data() + written.size(), exponent);
  if (error == std::errc::result_out_of_range)
    return written.starts_with('-');
  return (first < point ? int64_t(point - first) : -int64_t(first - point)) + exponent < 0;
}

template <typename T> Result<T> parse(std::string_view text, const char *what, DType type) {
  const std::string_view number = withoutPlus(text);
  T value{};
  auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (end != number.data() + number.size() || error == std::errc::invalid_argument)
    return misfit(text, std::string("is not ") + what);
  if constexpr (std::is_floating_point_v<T>)
    if (error == std::errc::result_out_of_range && isTiny(number)) // rounded, as any other is
      return std::copysign(T(0), number[0] == '-' ? T(-1) : T(1));
  if (error != std::errc())
    return misfit(text, std::string("does not fit ") + nameOf(type));
  return value;
}

bool fits(DType type, int64_t value) {
  switch (type) {
  case DType::u8:
    return value >= 0 && value <= UINT8_MAX;
  case DType::i8:
    return value >= INT8_MIN && value <= INT8_MAX;
  case DType::u16:
    return value >= 0 && value <= UINT16_MAX;
  case DType::i16:
    return value >= INT16_MIN && value <= INT16_MAX;
  case DType::i32:
    return value >= INT32_MIN && value <= INT32_MAX;
  default:
    return true;
  }
}

/// A whole number that is written as a float, such as `3.0` or `1e3`: its digits alone. Nothing
/// where it has a fraction.
std::optional<std::string> wholeOf(std::string_view text) {
  constexpr int64_t mostDigits = 400;
  const size_t mark = text.find_first_of("eE");
  std::string_view mantissa = text.substr(0, mark);
  int64_t exponent = 0;
  if (mark != std::string_view::npos) {
    const std::string_view number = withoutPlus(text.substr(mark + 1));
    const auto [end, error] =
        std::from_chars(number.data(), number.data() + number.size(), exponent);
    if (error != std::errc() || end != number.data() + number.size())
      return std::nullopt;
  }
  const std::string sign = mantissa.starts_with('-') ? "-" : "";
  if (mantissa.starts_with('-') || mantissa.starts_with('+'))
    mantissa.remove_prefix(1);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  digits += mantissa.substr(std::min(point + 1, mantissa.size()));
  const bool isPlain = mark == std::string_view::npos && point == mantissa.size();
  if (isPlain || digits.empty() || digits.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const size_t first = digits.find_first_not_of('0');
  if (first == std::string::npos)
    return sign + "0";
  // Digits before the point, once it has been moved.
  const int64_t count = std::clamp<int64_t>(exponent, -mostDigits, mostDigits) + int64_t(point);
  if (digits.find_last_not_of('0') + 1 > size_t(std::max<int64_t>(count, 0)))
    return std::nullopt;
  digits.resize(size_t(count), '0');
  return sign + digits.substr(first);
}

} // namespace

Result<int64_t> parseValue(DType type, std::string_view written) {
  const std::string_view text = trimmed(written);
  if (type == DType::boolean) {
    if (text == "true" || text == "True" || text == "TRUE" || text == "1")
      return int64_t(1);
    if (text == "false" || text == "False" || text == "FALSE" || text == "0")
      return int64_t(0);
    return misfit(text, "is not true, false, 1 or 0");
  }
  if (type == DType::f32) {
    auto value = parse<float>(text, "a number", type);
    return value ? Result<int64_t>(std::bit_cast<int64_t>(double(*value))) : value.error();
  }
  if (type == DType::f64) {
    auto value = parse<double>(text, "a number", type);
    return value ? Result<int64_t>(std::bit_cast<int64_t>(*value)) : value.error();
  }
  const std::optional<std::string> whole = wholeOf(text);
  auto value = parse<int64_t>(whole ? std::string_view(*whole) : text, "a whole number", type);
  if (value ? !fits(type, *value) : whole.has_value())
    return misfit(text, std::string("does not fit ") + nameOf(type));
  return value;
}

} // namespace penstock::runtime
