// SPDX-License-Identifier: Apache-2.0
#include "dsl/Parser/Literals.h"

#include <charconv>
#include <cmath>

namespace penstock::dsl {
namespace {

std::string withoutUnderscores(std::string_view text) {
  std::string out;
  for (char c : text)
    if (c != '_')
      out += c;
  return out;
}

} // namespace

int64_t intValue(std::string_view text, SourceRange range, Diagnostics &diagnostics) {
  std::string digits = withoutUnderscores(text);
  int64_t value = 0;
  auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc())
    diagnostics.error(range, "this number does not fit an int, which ends at 9223372036854775807");
  return value;
}

double floatValue(std::string_view text, SourceRange range, Diagnostics &diagnostics) {
  std::string digits = withoutUnderscores(text);
  double value = 0;
  auto result = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (result.ec != std::errc() || !std::isfinite(value))
    diagnostics.error(range, "this number does not fit an f64");
  return value;
}

std::string stringValue(std::string_view text, SourceRange range, Diagnostics &diagnostics) {
  if (!text.empty())
    text.remove_prefix(1);
  if (text.ends_with('"') || text.ends_with('\''))
    text.remove_suffix(1);
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    char c = text[++i];
    switch (c) {
    case 'n':
      out += '\n';
      break;
    case 't':
      out += '\t';
      break;
    case '"':
    case '\\':
      out += c;
      break;
    default: {
      auto offset = static_cast<uint32_t>(i);
      SourceRange at{range.file, range.begin + offset, range.begin + offset + 2};
      diagnostics.error(at, std::string("`\\") + c + "` has no meaning in a text")
          .hint("`\\\\` for the character `\\`; there are also `\\\"`, `\\n` "
                "and `\\t`");
    }
    }
  }
  return out;
}

std::unique_ptr<QuantityLit> quantity(std::string_view text, SourceRange range,
                                      Diagnostics &diagnostics) {
  auto literal = std::make_unique<QuantityLit>();
  literal->range = range;
  // The number is the longest prefix that reads as one: `1e3px` is 1000 pixels.
  size_t end = 0;
  auto isDigit = [&](size_t i) { return i < text.size() && text[i] >= '0' && text[i] <= '9'; };
  while (isDigit(end) || (end > 0 && end < text.size() && text[end] == '_' && isDigit(end + 1)))
    ++end;
  if (end < text.size() && text[end] == '.' && isDigit(end + 1))
    for (++end; isDigit(end);)
      ++end;
  if (end < text.size() && (text[end] == 'e' || text[end] == 'E')) {
    size_t sign = end + 1 < text.size() && (text[end + 1] == '-' || text[end + 1] == '+');
    if (isDigit(end + 1 + sign))
      for (end += 1 + sign; isDigit(end);)
        ++end;
  }
  literal->value = floatValue(text.substr(0, end), range, diagnostics);
  size_t unit = text.find_first_not_of(" \t", end);
  if (unit == std::string_view::npos)
    unit = end;
  literal->unit = {std::string(text.substr(unit)),
                   {range.file, range.begin + static_cast<uint32_t>(unit), range.end}};
  return literal;
}

} // namespace penstock::dsl
