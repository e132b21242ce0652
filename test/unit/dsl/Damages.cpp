// SPDX-License-Identifier: Apache-2.0
#include "test/unit/dsl/Damages.h"

#include <cctype>

namespace penstock::dsl::test {

std::vector<TokenSpan> tokenSpans(const std::string &text) {
  static const char *const operators[] = {"..=", "..", "|>", "->", "=>", "==", "!=", "<=", ">="};
  std::vector<TokenSpan> spans;
  auto isWord = [&](size_t i) {
    return i < text.size() && (std::isalnum(static_cast<unsigned char>(text[i])) || text[i] == '_');
  };
  for (size_t i = 0; i < text.size();) {
    size_t begin = i;
    if (std::isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    if (text.compare(i, 2, "//") == 0) {
      i = text.find('\n', i);
      continue;
    }
    if (std::isdigit(static_cast<unsigned char>(text[i]))) {
      while (isWord(i) ||
             (text[i] == '.' && std::isdigit(static_cast<unsigned char>(text[i + 1]))) ||
             (text[i] == '-' && text[i - 1] == 'e') || text[i] == '%')
        ++i;
    } else if (isWord(i)) {
      while (isWord(i))
        ++i;
    } else {
      ++i;
      for (const char *op : operators)
        if (text.compare(begin, std::char_traits<char>::length(op), op) == 0) {
          i = begin + std::char_traits<char>::length(op);
          break;
        }
    }
    spans.push_back({begin, i});
  }
  return spans;
}

void forEachDamage(
    const std::string &text,
    const std::function<void(DamageKind, const std::string &, size_t, size_t)> &visit) {
  const std::vector<TokenSpan> spans = tokenSpans(text);
  for (size_t i = 0; i < spans.size(); ++i) {
    const auto [begin, end] = spans[i];
    const std::string token = text.substr(begin, end - begin);
    std::string gone = text;
    gone.replace(begin, end - begin, std::string(end - begin, ' '));
    visit(DamageKind::Deleted, gone, begin, begin);
    visit(DamageKind::Doubled, text.substr(0, end) + " " + token + text.substr(end), begin,
          end + 1);
    if (i + 1 == spans.size())
      break;
    const auto [nextBegin, nextEnd] = spans[i + 1];
    const std::string between = text.substr(end, nextBegin - end);
    const std::string next = text.substr(nextBegin, nextEnd - nextBegin);
    visit(DamageKind::Swapped,
          text.substr(0, begin) + next + (between.empty() ? " " : between) + token +
              text.substr(nextEnd),
          begin, nextEnd - 1);
  }
}

} // namespace penstock::dsl::test
