// SPDX-License-Identifier: Apache-2.0
//
// Damages every example at every token and looks at what the user is told.
//
// Three damages per token: deleted, doubled, swapped with the next; of what is shipped,
// one per token, in turns. A damage that leaves a correct file (a comma at the end of a list) does
// not count.
#include "dsl/Diagnostics/Render.h"
#include "test/unit/dsl/Damages.h"
#include "test/unit/dsl/Inputs.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace penstock::dsl::test {
namespace {

struct Tally {
  size_t damages = 0, near = 0, reports = 0;
};

/// The index of the token at or after an offset.
size_t tokenAt(const std::vector<TokenSpan> &spans, size_t offset) {
  size_t index = 0;
  while (index + 1 < spans.size() && spans[index].end <= offset)
    ++index;
  return index;
}

void expectPlainWords(const std::string &messages) {
  for (const char *word : {"expecting", "mismatched", "extraneous", "no viable",
                           "token recognition", "<EOF>", "missing '", "RuleContext"})
    EXPECT_EQ(messages.find(word), std::string::npos) << messages;
}

void look(const std::string &text, const Builtins &builtins, size_t from, size_t to, Tally &tally) {
  const Checked checked(text, exampleLibrary(), "train.pipe", builtins);
  std::vector<Diagnostic> all = checked.diagnostics.sorted();
  if (!checked.diagnostics.hasErrors())
    return;
  std::string messages = checked.messages();
  ASSERT_NE(messages, "");
  expectPlainWords(messages);
  for (const Diagnostic &diagnostic : all)
    ASSERT_TRUE(diagnostic.range.valid());

  std::vector<TokenSpan> spans = tokenSpans(text);
  size_t first = tokenAt(spans, all.front().range.begin);
  size_t last = std::max(first, tokenAt(spans, all.front().range.end - (all.front().range.end >
                                                                        all.front().range.begin)));
  size_t damageFirst = tokenAt(spans, from), damageLast = tokenAt(spans, to);
  bool near = first <= damageLast + 3 && damageFirst <= last + 3;
  ++tally.damages;
  tally.near += near;
  tally.reports += all.size();
  if (!near && std::getenv("PENSTOCK_DAMAGE_SHOW"))
    std::printf("FAR from %s\n%s\n", text.substr(from, 30).c_str(), messages.c_str());
  if (all.size() > 1 && std::getenv("PENSTOCK_DAMAGE_SHOW"))
    std::printf("MANY at %s\n%s\n", text.substr(from, 30).c_str(), messages.c_str());
}

void print(const char *name, const Tally &tally) {
  std::printf("%-8s %5zu damages, first report near %.3f, reports per damage %.3f\n", name,
              tally.damages, double(tally.near) / double(tally.damages),
              double(tally.reports) / double(tally.damages));
}

struct Tallies {
  Tally kinds[3];
  void look(const std::string &text, const Builtins &builtins, bool inTurns = false) {
    size_t number = 0;
    forEachDamage(text, [&](DamageKind kind, const std::string &damaged, size_t from, size_t to) {
      const size_t token = number++ / 3;
      if (!inTurns || token % 3 == static_cast<size_t>(kind))
        test::look(damaged, builtins, from, to, kinds[static_cast<int>(kind)]);
    });
  }
};

/// Prints the figures; expects what the language promises, and a bit more.
void expectGood(const Tallies &tallies, size_t least) {
  Tally all;
  const char *names[] = {"deleted", "doubled", "swapped"};
  for (int kind = 0; kind < 3; ++kind) {
    const Tally &tally = tallies.kinds[kind];
    print(names[kind], tally);
    all.damages += tally.damages;
    all.near += tally.near;
    all.reports += tally.reports;
  }
  print("all", all);
  EXPECT_GT(all.damages, least);
  EXPECT_GE(double(all.near) / double(all.damages), 0.98);
  EXPECT_LE(double(all.reports) / double(all.damages), 1.04);
}

TEST(Damage, IsReportedOnceAndWhereItIs) {
  Tallies tallies;
  for (const auto &file : pipeFiles("inputs"))
    tallies.look(readFile(file), exampleBuiltins());
  expectGood(tallies, 7000);
}

/// A file for each pipeline of a file, with the functions that it calls: what is damaged in one is
/// reported there, and a file of fifty takes fifty times as long to read for each of its tokens.
std::vector<std::string> pipelinesOf(const std::string &text) {
  size_t at = std::min(text.find("\npipeline "), text.find("\nfn "));
  const std::string head = text.substr(0, at);
  std::vector<std::string> functions, pipelines, files;
  for (size_t end; (end = text.find("\n}\n", at)) != std::string::npos; at = end + 2) {
    const std::string declaration = text.substr(at, end + 3 - at);
    (declaration.find("\nfn ") == std::string::npos ? pipelines : functions).push_back(declaration);
  }
  for (const std::string &pipeline : pipelines) {
    files.push_back(head);
    for (const std::string &function : functions) {
      const size_t name = function.find("\nfn ") + 4;
      if (pipeline.find(function.substr(name, function.find('(', name) + 1 - name)) !=
          std::string::npos)
        files.back() += function;
    }
    files.back() += pipeline;
  }
  return pipelines.size() < 2 ? std::vector{text} : files;
}

TEST(Damage, OfShippedExamplesAndThePageIsReportedOnceAndWhereItIs) {
  const Builtins builtins = shippedBuiltins();
  std::vector<std::string> texts = languagePageFiles();
  EXPECT_GE(texts.size(), 3u);
  for (const auto &file : shippedFiles())
    if (file.string().find("/stdlib/") == std::string::npos)
      for (std::string &text : pipelinesOf(readFile(file)))
        texts.push_back(std::move(text));
  Tallies tallies;
  for (const std::string &text : texts) {
    EXPECT_EQ(Checked(text, exampleLibrary(), "train.pipe", builtins).messages(), "");
    tallies.look(text, builtins, true);
  }
  expectGood(tallies, 5000);
}

TEST(Damage, AFileMayEndAnywhere) {
  for (const auto &file : pipeFiles("inputs")) {
    const std::string text = readFile(file);
    for (size_t size = 0; size < text.size(); size += 11) {
      Checked checked(text.substr(0, size));
      expectPlainWords(checked.messages());
    }
  }
}

TEST(Damage, AnyBytesAreRead) {
  std::string all;
  for (int c = 255; c >= 0; --c)
    all += static_cast<char>(c);
  for (const std::string &text :
       {all, "pipe 1\n" + all, std::string("pipe 1\nconst a = \xC3\n"),
        std::string("pipe 1\nconst a = \0", 19), std::string("pipe 1 \xEF\xBB\xBF"),
        std::string("/*"), std::string("\""), std::string("'"), std::string("}"),
        std::string("pipe 1 fn f"), std::string("pipe 1 pipeline p( ) { for"),
        std::string(")]}({[")}) {
    Checked checked(text);
    EXPECT_NE(checked.messages(), "") << text;
    expectPlainWords(checked.messages());
  }
}

TEST(Damage, DeepNestingIsRefused) {
  auto nested = [](const std::string &open, const std::string &close, int depth) {
    std::string text = "pipe 1\nconst a = ";
    for (int i = 0; i < depth; ++i)
      text += open;
    text += "1";
    for (int i = 0; i < depth; ++i)
      text += close;
    return Checked(text).messages();
  };
  EXPECT_EQ(nested("(", ")", 150), "");
  for (const char *open : {"(", "[", "-", "not ", "{ x = ", "if true then 1 else "}) {
    std::string messages = nested(open, *open == '(' ? ")" : *open == '[' ? "]" : "", 40000);
    EXPECT_NE(messages.find("levels of nesting"), std::string::npos)
        << open << messages.substr(0, 300);
  }
}

} // namespace
} // namespace penstock::dsl::test
