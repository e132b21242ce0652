// SPDX-License-Identifier: Apache-2.0
//
// One layout, and nothing but layout: the tree stays, every comment stays.
#include "dsl/AST/Printer.h"
#include "dsl/Diagnostics/Render.h"
#include "dsl/Format/Format.h"
#include "dsl/Parser/Parser.h"
#include "test/unit/dsl/Damages.h"
#include "test/unit/dsl/Inputs.h"

#include <gtest/gtest.h>

namespace penstock::dsl::test {
namespace {

struct Formatted {
  explicit Formatted(std::string text) {
    SourceManager sources;
    Diagnostics diagnostics;
    const FileId file = sources.add("train.pipe", std::move(text));
    result = formatFile(file, sources, diagnostics);
    messages = renderText(diagnostics, sources);
  }
  std::optional<std::string> result;
  std::string messages;
};

std::string treeOf(const std::string &text) {
  SourceManager sources;
  Diagnostics diagnostics;
  return printAst(*parseFile(sources.add("train.pipe", text), sources, diagnostics));
}

std::string withoutBlanks(std::string text) {
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  return text;
}

/// Returns whether the text could be formatted. Expects that only blanks changed, that
/// the tree did not, and that a second time changes nothing.
bool keeps(const std::string &text) {
  const Formatted once(text);
  if (!once.result)
    return false;
  EXPECT_EQ(withoutBlanks(*once.result), withoutBlanks(text));
  EXPECT_EQ(treeOf(*once.result), treeOf(text)) << text;
  EXPECT_EQ(Formatted(*once.result).result, once.result) << text;
  return true;
}

std::string formatted(const std::string &text) {
  EXPECT_TRUE(keeps(text)) << text;
  return *Formatted(text).result;
}

TEST(Format, ExamplesAndLibraryHaveTheLayout) {
  std::vector<std::filesystem::path> files = shippedFiles();
  EXPECT_GT(files.size(), 15u);
  for (const auto &file : files) {
    const std::string text = readFile(file);
    EXPECT_EQ(Formatted(text).result, text) << file << ": run penstock fmt";
    keeps(text);
  }
}

TEST(Format, KeepsTreeAndCommentsOfEverythingThatParses) {
  for (const auto &file : pipeFiles("inputs"))
    EXPECT_TRUE(keeps(readFile(file))) << file;
  size_t parsed = 0;
  for (const auto &file : pipeFiles("mistakes"))
    parsed += keeps(readFile(file));
  EXPECT_GT(parsed, 10u);
}

TEST(Format, KeepsTheTreeOfDamagedFilesThatParse) {
  size_t parsed = 0;
  for (const auto &file : pipeFiles("inputs")) {
    const std::string text = readFile(file);
    // Formatting takes two parses, so every third damage: still thousands.
    size_t number = 0;
    forEachDamage(text, [&](DamageKind, const std::string &damaged, size_t, size_t) {
      if (++number % 3 == 0)
        parsed += keeps(damaged);
    });
  }
  EXPECT_GT(parsed, 120u);
}

TEST(Format, KeepsTheTreeWhereLinesAreJoinedOrSplit) {
  for (const auto &file : pipeFiles("inputs")) {
    const std::string text = readFile(file);
    std::string split, joined;
    for (size_t i = 0; i < text.size(); ++i) {
      split += text[i];
      if (text[i] == ' ' && (i * 2654435761u) % 7 == 0 && text[i - 1] != '/')
        split += '\n';
      const size_t line = text.rfind('\n', i) + 1;
      const bool comment = text.find("//", line) <= i;
      joined += text[i] == '\n' && !comment ? ' ' : text[i];
    }
    keeps(split);
    EXPECT_TRUE(keeps(joined)) << joined;
  }
}

TEST(Format, BlanksBetweenTokens) {
  EXPECT_EQ(formatted("pipe   1\nuse vision,signal use  augment\n\n\n\nconst a:f32[h<=3 , c : "
                      "rgb]= -  1+b [ h=- 2]*( c )\n"
                      "fn  f [E :(u8,f32 , ) ] (x:E [h], k : axis)->E[ h ]{sum ( x over[h] )|>g . "
                      "h( 1 )if not a on gpu}\n"),
            "pipe 1\nuse vision, signal\nuse augment\n\nconst a: f32[h <= 3, c: rgb] = -1 + b[h = "
            "-2] * (c)\n"
            "fn f[E: (u8, f32,)](x: E[h], k: axis) -> E[h] { sum(x over [h]) |> g.h(1) if not a on "
            "gpu }\n");
  EXPECT_EQ(formatted("pipe 1\nfn f(x:u8[]) -> u8[]=map(p in x){draw int(0..3)per[h]..=-x.y}\n"),
            "pipe 1\nfn f(x: u8[]) -> u8[] = map (p in x) { draw int(0 .. 3) per [h] ..= -x.y }\n");
}

TEST(Format, ABlockOfSeveralLinesHasAStatementPerLine) {
  EXPECT_EQ(formatted("pipe 1\nfn f(x: int) -> int { let a = 1 let b = 2\nreturn a }\n"),
            "pipe 1\nfn f(x: int) -> int {\n  let a = 1\n  let b = 2\n  return a\n}\n");
  EXPECT_EQ(formatted("pipe 1\nfn f(x: int) -> int { let a = 1 return a }\n"),
            "pipe 1\nfn f(x: int) -> int { let a = 1 return a }\n");
  EXPECT_EQ(formatted("pipe 1\npipeline p(root: path) with seed = 1,\nindex = off { for row in "
                      "t(root) order shuffled let a = row.x |> choose { 1 => f,\n2 => g }\n"
                      "batch 4 { output a: u8[n] = a }}"),
            "pipe 1\npipeline p(root: path) with seed = 1,\n  index = off {\n  for row in t(root) "
            "order shuffled\n"
            "  let a = row.x |> choose {\n    1 => f,\n    2 => g\n  }\n  batch 4 { output a: "
            "u8[n] = a }\n}\n");
}

TEST(Format, LinesGoOnOneLevelFurtherIn) {
  EXPECT_EQ(formatted("pipe 1\nconst a = f(1 + (2 +\n3 * (4\n+ 5)))\nconst b = f(1,\n2)\nconst c = "
                      "f(\n1,\n2)\n"),
            "pipe 1\nconst a = f(1 + (2 +\n  3 * (4\n  + 5)))\nconst b = f(1,\n  2)\nconst c = "
            "f(\n  1,\n  2\n)\n");
  EXPECT_EQ(formatted("pipe 1\nfn f(x: int) -> int =\nif a then b\nelse if c\nthen d\nelse search "
                      "(3) {\naccept x when true }\nelse y\n"),
            "pipe 1\nfn f(x: int) -> int =\n  if a then b\n  else if c\n    then d\n  else search "
            "(3) {\n    accept x when true\n  }\n  else y\n");
}

TEST(Format, LetsStayInColumns) {
  EXPECT_EQ(formatted("pipe 1\nfn f(x: int) -> int {\nlet a  = 1\nlet bcd: int = 2\nlet e = "
                      "3\n\nlet f = 4\nlet gh = 5\nreturn a }\n"),
            "pipe 1\nfn f(x: int) -> int {\n  let a        = 1\n  let bcd: int = 2\n  let e        "
            "= 3\n\n"
            "  let f = 4\n  let gh = 5\n  return a\n}\n");
}

TEST(Format, CommentsStayWhereTheyAre) {
  EXPECT_EQ(formatted("\n\n// head \npipe 1 // version\n//// rule\n  /// doc\n\nfn f( // "
                      "opens\n/// of x\n\n x: int // \xC3\xA4\n, yyy: int) -> int = // goes on\n"
                      "// inside\n x // end\n\n\n// last\n\n"),
            "// head\npipe 1  // version\n//// rule\n/// doc\n\nfn f(  // opens\n  /// of x\n\n  "
            "x: int  // \xC3\xA4\n    , yyy: int\n) -> int =  // goes on\n"
            "  // inside\n  x  // end\n\n// last\n");
  EXPECT_EQ(formatted("pipe 1\nfn f(x: int) -> int {\n  let a = 1 // one\n  let bc = 2    // two\n "
                      " return a\n  // done\n}\n"),
            "pipe 1\nfn f(x: int) -> int {\n  let a = 1   // one\n  let bc = 2  // two\n  return "
            "a\n  // done\n}\n");
}

TEST(Format, WindowsLineBreaksAndMarksGo) {
  EXPECT_EQ(*Formatted("\xEF\xBB\xBFpipe 1\r\n\r\n\r\nconst a = 1\r\n").result,
            "pipe 1\n\nconst a = 1\n");
}

TEST(Format, SyntaxErrorsAreReported) {
  const Formatted broken("pipe 1\nconst a = 1)\n");
  EXPECT_FALSE(broken.result);
  EXPECT_NE(broken.messages.find("2:12: error: `)` closes nothing"), std::string::npos)
      << broken.messages;
}

} // namespace
} // namespace penstock::dsl::test
