// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Json.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace penstock::runtime {

namespace {

constexpr int mostNested = 64;

class JsonReader {
public:
  explicit JsonReader(std::string_view text) : text(text) {}

  Status object(std::span<const std::string> keys, std::span<std::string_view> values) {
    skipBlanks();
    if (!take('{'))
      return wrong("a line is a JSON object");
    skipBlanks();
    while (!take('}')) {
      const size_t begin = at;
      if (Status status = string(nullptr); !status)
        return status;
      auto key = jsonText(text.substr(begin, at - begin));
      if (!key)
        return key.error();
      skipBlanks();
      if (!take(':'))
        return wrong("a key is followed by a colon");
      skipBlanks();
      const size_t from = at;
      if (Status status = value(0); !status)
        return status;
      if (const auto found = std::find(keys.begin(), keys.end(), *key); found != keys.end())
        for (size_t i = 0; i < keys.size(); ++i) // two columns may read one key
          if (keys[i] == *key)
            values[i] = text.substr(from, at - from);
      skipBlanks();
      if (take(',')) {
        skipBlanks();
        if (peek() == '}')
          return wrong("a key stands behind a comma");
      } else if (peek() != '}') {
        return wrong("a comma parts keys");
      }
    }
    skipBlanks();
    return at == text.size() ? Status() : wrong("nothing stands behind the object");
  }

  Status array(std::vector<std::string_view> &elements) {
    skipBlanks();
    if (!take('['))
      return wrong("a list begins with a bracket");
    skipBlanks();
    if (peek() != ']') {
      do {
        skipBlanks();
        const size_t from = at;
        if (Status status = value(0); !status)
          return status;
        elements.push_back(text.substr(from, at - from));
        skipBlanks();
      } while (take(','));
    }
    if (!take(']'))
      return wrong("a comma or a bracket stands behind a value");
    skipBlanks();
    return at == text.size() ? Status() : wrong("nothing stands behind the list");
  }

  /// Decodes into `out`, or passes over.
  Status string(std::string *out) {
    if (!take('"'))
      return wrong("a text stands in double quotes");
    while (at < text.size() && text[at] != '"') {
      const char c = text[at++];
      if (uint8_t(c) < 0x20)
        return wrong("a text has no control characters");
      if (c != '\\') {
        if (out)
          *out += c;
        continue;
      }
      if (Status status = escape(out); !status)
        return status;
    }
    return take('"') ? Status() : wrong("a text ends with a double quote");
  }

  bool atEnd() const { return at == text.size(); }

private:
  Error wrong(const char *rule) const {
    const std::string_view rest = text.substr(at, 20);
    return {Code::Corrupt, std::string("no JSON: ") + rule +
                               (rest.empty() ? ", and this line, which is to be one object, ends"
                                             : ", and here stands `" + std::string(rest) + "`")};
  }
  char peek() const { return at < text.size() ? text[at] : '\0'; }
  bool take(char wanted) {
    const bool is = at < text.size() && text[at] == wanted;
    at += is;
    return is;
  }
  void skipBlanks() {
    while (at < text.size() && std::string_view(" \t\r\n").find(text[at]) != std::string_view::npos)
      ++at;
  }

  std::optional<uint32_t> hex() {
    uint32_t value = 0;
    for (int i = 0; i < 4; ++i, ++at) {
      const char c = peek();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (digit < 0)
        return std::nullopt;
      value = value * 16 + uint32_t(digit);
    }
    return value;
  }

  static void append(std::string &out, uint32_t code) {
    if (code < 0x80) {
      out += char(code);
    } else if (code < 0x800) {
      out += char(0xC0 | code >> 6);
      out += char(0x80 | (code & 63));
    } else if (code < 0x10000) {
      out += char(0xE0 | code >> 12);
      out += char(0x80 | (code >> 6 & 63));
      out += char(0x80 | (code & 63));
    } else {
      out += char(0xF0 | code >> 18);
      out += char(0x80 | (code >> 12 & 63));
      out += char(0x80 | (code >> 6 & 63));
      out += char(0x80 | (code & 63));
    }
  }

  Status escape(std::string *out) {
    constexpr std::string_view names = "\"\\/bfnrt", values = "\"\\/\b\f\n\r\t";
    const char name = peek();
    if (const size_t known = names.find(name); name && known != std::string_view::npos) {
      ++at;
      if (out)
        *out += values[known];
      return {};
    }
    if (!take('u'))
      return wrong("a backslash is followed by one of \"\\/bfnrtu");
    auto code = hex();
    if (!code)
      return wrong("`\\u` is followed by four hexadecimal digits");
    if (*code >= 0xD800 && *code < 0xDC00 && peek() == '\\' && text.substr(at, 2) == "\\u") {
      const size_t back = at;
      at += 2;
      const auto low = hex();
      if (low && *low >= 0xDC00 && *low < 0xE000)
        code = 0x10000 + ((*code - 0xD800) << 10) + (*low - 0xDC00);
      else
        at = back;
    }
    constexpr uint32_t unknown = 0xFFFD; // half of a pair
    if (out)
      append(*out, *code >= 0xD800 && *code < 0xE000 ? unknown : *code);
    return {};
  }

  Status value(int depth) {
    switch (peek()) {
    case '"':
      return string(nullptr);
    case '{':
    case '[':
      return nested(depth);
    default:
      return word();
    }
  }

  Status nested(int depth) {
    if (depth == mostNested)
      return wrong("64 levels are enough");
    const bool isObject = text[at++] == '{';
    const char end = isObject ? '}' : ']';
    skipBlanks();
    if (take(end))
      return {};
    do {
      skipBlanks();
      if (isObject) {
        if (Status status = string(nullptr); !status)
          return status;
        skipBlanks();
        if (!take(':'))
          return wrong("a key is followed by a colon");
        skipBlanks();
      }
      if (Status status = value(depth + 1); !status)
        return status;
      skipBlanks();
    } while (take(','));
    return take(end) ? Status() : wrong("a comma or a bracket stands behind a value");
  }

  /// Whether a number is written as JSON has it: no zeros in front, digits around its point.
  static bool isNumber(std::string_view found) {
    const auto digits = [&] {
      const size_t count = std::min(found.find_first_not_of("0123456789"), found.size());
      found.remove_prefix(count);
      return count;
    };
    if (found.starts_with('-'))
      found.remove_prefix(1);
    const bool isZero = found.starts_with('0');
    const size_t whole = digits();
    if (whole == 0 || (isZero && whole > 1))
      return false;
    if (found.starts_with('.')) {
      found.remove_prefix(1);
      if (digits() == 0)
        return false;
    }
    if (found.starts_with('e') || found.starts_with('E')) {
      found.remove_prefix(1);
      if (found.starts_with('+') || found.starts_with('-'))
        found.remove_prefix(1);
      if (digits() == 0)
        return false;
    }
    return found.empty();
  }

  /// A number, true, false, null; whether a number fits, its column's type tells.
  Status word() {
    const size_t begin = at;
    while (at < text.size() && text[at] > ' ' &&
           std::string_view(",:]}[{\"").find(text[at]) == std::string_view::npos)
      ++at;
    const std::string_view found = text.substr(begin, at - begin);
    for (const char *known : {"true", "false", "null", "NaN", "Infinity", "-Infinity"})
      if (found == known)
        return {};
    if (isNumber(found))
      return {};
    at = begin;
    return wrong("a value is a number, a text, a list, an object, true, false or null");
  }

  std::string_view text;
  size_t at = 0;
};

} // namespace

Status readJsonObject(std::string_view text, std::span<const std::string> keys,
                      std::span<std::string_view> values) {
  return JsonReader(text).object(keys, values);
}

Result<std::vector<std::string_view>> readJsonArray(std::string_view text) {
  std::vector<std::string_view> elements;
  if (Status status = JsonReader(text).array(elements); !status)
    return status.error();
  return elements;
}

Result<std::string> jsonText(std::string_view written) {
  std::string out;
  JsonReader reader(written);
  if (Status status = reader.string(&out); !status)
    return status.error();
  if (!reader.atEnd())
    return Error{Code::Corrupt, "no JSON: a text ends with its quote"};
  return out;
}

Status readJsonTexts(std::string_view object, std::span<const std::string> keys,
                     std::span<std::string> values) {
  std::vector<std::string_view> written(keys.size());
  if (Status status = readJsonObject(object, keys, written); !status)
    return status;
  for (size_t i = 0; i < keys.size(); ++i) {
    auto text = written[i].starts_with('"') ? jsonText(written[i]) : std::string(written[i]);
    if (!text)
      return text.error();
    values[i] = std::move(*text);
  }
  return {};
}

} // namespace penstock::runtime
