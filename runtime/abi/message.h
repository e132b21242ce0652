// SPDX-License-Identifier: Apache-2.0
//
/// The values in the message of a failed check.
#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

namespace penstock {

/// The shortest text that reads back as this number.
template <typename Float> std::string shortestText(Float number) {
  if (number != number)
    return "nan"; // whatever its sign
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

/// Puts the values of a check into its message: `{0}` and `{1}` stand for integers,
/// `{0:f64}` and `{0:f32}` for reals of these types, of which a value holds the bits as
/// an f64.
inline std::string fillMessage(std::string message, const int64_t values[2]) {
  for (int i = 0; i < 2; ++i) {
    const double real = std::bit_cast<double>(values[i]);
    const std::string number = std::to_string(i);
    for (const auto &[mark, text] : {std::pair("{" + number + "}", std::to_string(values[i])),
                                     std::pair("{" + number + ":f64}", shortestText(real)),
                                     std::pair("{" + number + ":f32}", shortestText(float(real)))})
      for (size_t at; (at = message.find(mark)) != std::string::npos;)
        message.replace(at, mark.size(), text);
  }
  return message;
}

} // namespace penstock
