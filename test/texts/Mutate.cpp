// SPDX-License-Identifier: Apache-2.0
//
// A damaged text.
//
// Most changes keep the text a text of the language: what only the parser would see
// is seen quickly, and test/fuzz looks there.
#include "test/texts/Mutate.h"
#include "test/texts/Random.h"
#include "test/unit/dsl/Damages.h"
#include <algorithm>
#include <cctype>

namespace penstock::texts {

namespace {

using Spans = std::vector<dsl::test::TokenSpan>;

const std::vector<std::string> numbers = {"0",
                                          "0",
                                          "1",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "8",
                                          "15",
                                          "16",
                                          "17",
                                          "31",
                                          "32",
                                          "33",
                                          "40",
                                          "63",
                                          "64",
                                          "65",
                                          "100",
                                          "255",
                                          "256",
                                          "4096",
                                          "4097",
                                          "65536",
                                          "-1",
                                          "-2",
                                          "0.0",
                                          "0.5",
                                          "-0.5",
                                          "1.5",
                                          "1e-300",
                                          "1e300",
                                          "inf",
                                          "2147483648",
                                          "1099511627776",
                                          "9223372036854775807",
                                          "nan",
                                          "50%",
                                          "3deg",
                                          "2px"};
const std::vector<std::string> types = {"u8",  "i8",   "u16", "i16", "i32",  "i64",
                                        "f16", "bf16", "f32", "f64", "bool", "int"};
const std::vector<std::string> axes = {"h", "w",    "c",    "t",   "n",   "k",
                                       "v", "part", "freq", "bin", "box", "x"};
const std::vector<std::string> words = {
    "edge",      "reflect", "symmetric",   "wrap",        "constant",  "nearest",     "bilinear",
    "bicubic",   "box",     "hamming",     "lanczos",     "linear",    "cubic",       "sum",
    "min",       "max",     "any",         "all",         "count",     "argmin",      "argmax",
    "histogram", "rgb",     "gray",        "jpeg",        "png",       "shuffled",    "sequential",
    "keep",      "drop",    "uniform",     "normal",      "int",       "permutation", "beta",
    "gamma",     "bits",    "log_uniform", "exponential", "bernoulli", "true",        "false",
    "global"};
const std::vector<std::string> functions = {
    "reverse", "rename",   "extend",  "resample", "gather",   "frames",      "concat",  "stack",
    "place",   "contract", "sort",    "scan_sum", "scan_max", "scan_linear", "compact", "group",
    "fft",     "encode",   "decode",  "index",    "extent",   "abs",         "sqrt",    "round",
    "floor",   "shl",      "bit_and", "u8",       "u8.clamp", "f32",         "i64",     "i32.bits"};

class Mutation {
public:
  Mutation(const Corpus &corpus, Random &random, std::string text)
      : corpus(corpus), random(random), text(std::move(text)) {}

  std::string run() {
    const size_t changes = random.chance(50) ? 1 : 1 + random.below(4);
    for (size_t i = 0; i < changes && text.size() < (1 << 16); ++i)
      change();
    return std::move(text);
  }

private:
  std::string token(const dsl::test::TokenSpan &span) const {
    return text.substr(span.begin, span.end - span.begin);
  }
  static bool isName(const std::string &word) {
    return std::isalpha(static_cast<unsigned char>(word[0]));
  }
  void replace(size_t begin, size_t end, const std::string &by) {
    text.replace(begin, end - begin, by);
  }

  /// A token for which `fits`; the last one's end where there is none.
  template <typename Fits> bool findToken(Fits fits, dsl::test::TokenSpan &found) {
    Spans spans = dsl::test::tokenSpans(text);
    std::erase_if(spans, [&](const auto &span) { return !fits(span, token(span)); });
    if (spans.empty())
      return false;
    found = random.pick(spans);
    return true;
  }

  void change() {
    switch (random.below(28)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return exchangeNumber();
    case 4:
    case 5:
      return exchange(types, types);
    case 6:
    case 7:
      return exchangeName();
    case 8:
      return exchange(words, words);
    case 9:
    case 10:
      return exchangeCall();
    case 11:
    case 12:
      return insertStage();
    case 13:
      return insertStatement();
    case 14:
      return wrap();
    case 15:
      return repeatStage();
    case 16:
      return damageToken();
    case 17:
      return damageLine();
    case 18:
      return changeAxes();
    case 19:
    case 20:
      return exchangeParts();
    case 21:
      return doubleName();
    case 22:
    case 23:
      return emptyAxis();
    case 24:
      return loseComma();
    case 25:
      return misspell();
    case 26:
      return random.chance(20) ? longSum() : repeatStage();
    default:
      return exchangeFunction();
    }
  }

  void exchangeNumber() {
    dsl::test::TokenSpan at;
    if (findToken(
            [](const auto &, const std::string &word) {
              return std::isdigit(static_cast<unsigned char>(word[0]));
            },
            at) &&
        at.begin > 6)
      replace(at.begin, at.end,
              random.chance(80) ? random.pick(numbers) : std::to_string(random.below(300)));
  }
  void exchange(const std::vector<std::string> &these, const std::vector<std::string> &those) {
    dsl::test::TokenSpan at;
    if (findToken(
            [&](const auto &, const std::string &word) {
              return std::find(these.begin(), these.end(), word) != these.end();
            },
            at))
      replace(at.begin, at.end, random.pick(those));
  }
  void exchangeName() {
    dsl::test::TokenSpan at, other;
    auto name = [](const auto &, const std::string &word) { return isName(word); };
    // Between brackets, or an argument of one letter: mostly an axis of this very text.
    auto axis = [&](const auto &span, const std::string &word) {
      return isName(word) && (word.size() == 1 || axisLike(span.begin));
    };
    if (random.chance(70)) {
      if (findToken(axis, at))
        replace(at.begin, at.end,
                random.chance(70) && findToken(axis, other) ? token(other) : random.pick(axes));
    } else if (findToken(name, at) && findToken(name, other)) {
      replace(at.begin, at.end, token(other));
    }
  }
  /// Returns whether a place is directly between square brackets.
  bool axisLike(size_t place) const {
    int depth = 0;
    while (place-- > 0 && text[place] != '\n') {
      depth +=
          (text[place] == ']' || text[place] == ')') - (text[place] == '[' || text[place] == '(');
      if (depth < 0)
        return text[place] == '[';
    }
    return false;
  }
  void exchangeFunction() {
    dsl::test::TokenSpan at;
    if (findToken([&](const auto &span,
                      const std::string &word) { return isName(word) && text[span.end] == '('; },
                  at))
      replace(at.begin, at.end, random.pick(functions));
  }
  void exchangeCall() {
    const auto calls = callsIn(text);
    if (calls.empty())
      return;
    const auto [begin, end] = random.pick(calls);
    if (random.chance(50)) {
      const auto [from, to] = random.pick(calls);
      replace(begin, end, text.substr(from, to - from));
    } else {
      replace(begin, end, random.pick(corpus.calls));
    }
  }
  void insertStage() {
    dsl::test::TokenSpan at;
    if (findToken([](const auto &, const std::string &word) { return word == "|>"; }, at))
      replace(at.begin, at.begin, "|> " + random.pick(corpus.stages) + " ");
    else if (findToken([](const auto &, const std::string &word) { return word == "output"; }, at))
      if (const size_t end = text.find('\n', at.begin); end != std::string::npos)
        replace(end, end, " |> " + random.pick(corpus.stages));
  }
  void insertStatement() {
    const size_t line = text.find('\n', random.below(text.size()));
    if (line != std::string::npos)
      replace(line, line, "\n" + random.pick(corpus.statements));
  }
  void wrap() {
    const auto calls = callsIn(text);
    if (calls.empty())
      return;
    const auto [begin, end] = random.pick(calls);
    const std::string x = text.substr(begin, end - begin);
    switch (random.below(7)) {
    case 0:
      return replace(begin, end, "(" + x + " + " + x + ")");
    case 1:
      return replace(begin, end, "(if draw bernoulli(0.5) then " + x + " else " + x + ")");
    case 2:
      return replace(begin, end, "stack([" + x + ", " + x + "], " + random.pick(axes) + ")");
    case 3:
      return replace(begin, end,
                     "each (" + random.pick(axes) + " in 0 .. " + random.pick(numbers) + ") { " +
                         x + " }");
    case 4:
      return replace(begin, end, "map (q in " + x + ") { q + q }");
    case 5:
      return replace(begin, end,
                     "window (q in " + x + ", w = -" + random.pick(numbers) +
                         " ..= " + random.pick(numbers) + ", border = " + random.pick(words) +
                         ") { sum(q over [w]) }");
    default:
      return replace(begin, end, "sum(" + x + " over [" + random.pick(axes) + "])");
    }
  }
  void repeatStage() {
    const size_t count = random.chance(80) ? 2 + random.below(12) : 60 + random.below(200);
    dsl::test::TokenSpan at;
    std::string many;
    if (random.chance(70)) {
      const std::string stage =
          random.pick(corpus.stages) + (random.chance(30) ? " if chance(0.5)" : "");
      for (size_t i = 0; i < count; ++i)
        many += "|> " + stage + " ";
      if (findToken([](const auto &, const std::string &word) { return word == "|>"; }, at))
        replace(at.begin, at.begin, many);
      return;
    }
    const char *const open[] = {"(", "-", "not ", "1 + ", "f32(", "[", "if true then 1 else "};
    if (!findToken(
            [](const auto &, const std::string &word) {
              return isName(word) || std::isdigit(static_cast<unsigned char>(word[0]));
            },
            at))
      return;
    const std::string what = open[random.below(7)];
    for (size_t i = 0; i < count; ++i)
      many += what;
    std::string close(what.back() == '(' || what == "[" ? count : 0, what == "[" ? ']' : ')');
    replace(at.begin, at.end, many + token(at) + close);
  }
  /// Returns the parts between the commas of a pair of brackets: begin and end of each.
  Spans partsOf(size_t begin, size_t end) const {
    Spans parts;
    int depth = 0;
    size_t from = begin + 1;
    for (size_t i = begin + 1; i < end; ++i) {
      depth += (text[i] == '(' || text[i] == '[' || text[i] == '{') -
               (text[i] == ')' || text[i] == ']' || text[i] == '}');
      if (depth < 0 || i + 1 == end || (depth == 0 && text[i] == ',')) {
        parts.push_back({from, i});
        from = i + 1;
      }
    }
    return parts;
  }
  /// Returns the parts of some pair of brackets.
  Spans someParts() {
    dsl::test::TokenSpan at;
    if (!findToken([](const auto &, const std::string &word) { return word == "(" || word == "["; },
                   at))
      return {};
    int depth = 0;
    for (size_t i = at.begin; i < text.size(); ++i) {
      depth += (text[i] == '(' || text[i] == '[') - (text[i] == ')' || text[i] == ']');
      if (depth == 0)
        return partsOf(at.begin, i + 1);
    }
    return {};
  }
  /// Arguments, axes or elements of a list: two exchanged, one twice, one lost.
  void exchangeParts() {
    const Spans parts = someParts();
    if (parts.size() < 2)
      return;
    const size_t i = random.below(parts.size() - 1), k = i + 1 + random.below(parts.size() - i - 1);
    const std::string first = token(parts[i]), second = token(parts[k]);
    switch (random.below(4)) {
    case 0:
      return replace(parts[i].begin, parts[i].end, second);
    case 1:
      return replace(parts[i].begin, parts[i].end + 1, "");
    default:
      replace(parts[k].begin, parts[k].end, first);
      replace(parts[i].begin, parts[i].end, second);
    }
  }
  /// A name within brackets that stands there already.
  void doubleName() {
    const Spans parts = someParts();
    if (parts.size() < 2)
      return;
    auto first = [&](const dsl::test::TokenSpan &part) {
      dsl::test::TokenSpan name = part;
      while (name.begin < name.end && !std::isalpha(static_cast<unsigned char>(text[name.begin])))
        ++name.begin;
      name.end = name.begin;
      while (name.end < part.end &&
             (std::isalnum(static_cast<unsigned char>(text[name.end])) || text[name.end] == '_'))
        ++name.end;
      return name;
    };
    const auto from = first(random.pick(parts)), to = first(random.pick(parts));
    if (from.begin < from.end && to.begin < to.end)
      replace(to.begin, to.end, token(from));
  }
  /// An axis or a range of no element, or of less.
  void emptyAxis() {
    dsl::test::TokenSpan at;
    if (findToken(
            [&](const auto &span, const std::string &word) {
              return std::isdigit(static_cast<unsigned char>(word[0])) && axisLike(span.begin);
            },
            at))
      replace(at.begin, at.end, random.chance(75) ? "0" : random.chance(50) ? "1" : "-1");
  }
  void loseComma() {
    dsl::test::TokenSpan at;
    if (findToken([](const auto &, const std::string &word) { return word == ","; }, at))
      replace(at.begin, at.end, random.chance(70) ? "" : random.chance(50) ? ";" : ",,");
  }
  void misspell() {
    dsl::test::TokenSpan at;
    if (!findToken([](const auto &, const std::string &word) { return isName(word); }, at))
      return;
    std::string word = token(at);
    const size_t place = random.below(word.size());
    if (word.size() > 1 && random.chance(50))
      word.erase(place, 1);
    else
      word.insert(place, 1, static_cast<char>('a' + random.below(26)));
    replace(at.begin, at.end, word);
  }
  /// As long as a text may become.
  void longSum() {
    dsl::test::TokenSpan at;
    if (!findToken(
            [](const auto &, const std::string &word) {
              return std::isdigit(static_cast<unsigned char>(word[0]));
            },
            at))
      return;
    static const std::vector<std::string> operators = {" + ",   " * ",  " - ",
                                                       " and ", " |> ", " .. "};
    const std::string term = random.pick(operators) + token(at);
    const size_t count = size_t(10) << random.below(12); // up to 20,480
    std::string all;
    for (size_t i = 0; i < count; ++i)
      all += term;
    replace(at.end, at.end, all);
  }
  void damageToken() {
    dsl::test::TokenSpan at;
    if (!findToken([](const auto &, const std::string &) { return true; }, at))
      return;
    const std::string word = token(at);
    if (random.chance(40))
      replace(at.begin, at.end, "");
    else
      replace(at.end, at.end, " " + word);
  }
  void damageLine() {
    const size_t begin = text.rfind('\n', random.below(text.size()));
    const size_t end = begin == std::string::npos ? begin : text.find('\n', begin + 1);
    if (end == std::string::npos)
      return;
    const std::string line = text.substr(begin, end - begin);
    if (random.chance(50))
      replace(begin, end, "");
    if (random.chance(50))
      if (const size_t to = text.find('\n', random.below(text.size())); to != std::string::npos)
        replace(to, to, line);
  }
  /// One axis more, one less, or one with an extent, within brackets.
  void changeAxes() {
    dsl::test::TokenSpan at;
    if (!findToken(
            [&](const auto &span, const std::string &word) {
              return word == "[" || (word == "," && axisLike(span.begin));
            },
            at))
      return;
    const std::string extent = random.chance(50) ? " = " + random.pick(numbers) : "";
    replace(at.end, at.end, " " + random.pick(axes) + extent + ",");
  }

  const Corpus &corpus;
  Random &random;
  std::string text;
};

} // namespace

std::string mutated(const Corpus &corpus, uint64_t number) {
  Random random(random::mix(0x7e875, number));
  return Mutation(corpus, random, random.pick(corpus.texts)).run();
}

} // namespace penstock::texts
