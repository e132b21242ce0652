// SPDX-License-Identifier: Apache-2.0
//
// The grammar itself, on the examples of the language page.
#include "dsl/Parser/GrammarReport.h"
#include "test/unit/dsl/Inputs.h"

#include <gtest/gtest.h>

namespace penstock::dsl::test {
namespace {

TEST(Grammar, ReadsEveryExampleWithoutAmbiguity) {
  std::vector<std::filesystem::path> files = pipeFiles("inputs");
  ASSERT_GE(files.size(), 8u);
  for (const auto &file : files)
    EXPECT_EQ(grammarReport(readFile(file)), std::vector<std::string>()) << file;
}

TEST(Grammar, ReportSeesErrors) { EXPECT_FALSE(grammarReport("pipe 1 let").empty()); }

TEST(Grammar, EveryRuleHasWordsForUsers) {
  EXPECT_EQ(rulesWithoutWords(), std::vector<std::string>());
}

TEST(Grammar, ExamplesAreWithoutErrors) {
  for (const auto &file : pipeFiles("inputs"))
    EXPECT_EQ(Checked(readFile(file)).messages(), "") << file;
}

TEST(Grammar, ExamplesOfTheDocumentationAreWithoutErrors) {
  const std::vector<std::string> files = languagePageFiles();
  for (const std::string &file : files)
    EXPECT_EQ(Checked(file).messages(), "");
  EXPECT_GE(files.size(), 3u);
}

TEST(Grammar, WordsOfOnePlaceAreNamesElsewhere) {
  EXPECT_EQ(Checked("pipe 1\n"
                    "fn order(where: int, per: int, pad: int, last: int) -> int {\n"
                    "  let global = where + per  let when = pad + last\n"
                    "  return global * when\n"
                    "}\n"
                    "fn accept(use: int, pipe: int) -> int = order(use, pipe, pad = "
                    "1, last = 2)\n")
                .messages(),
            "");
}

TEST(Grammar, ListsMayEndInAComma) {
  EXPECT_EQ(Checked("pipe 1\n"
                    "const a: f32[h,] = [1.0, 2.0,]\n"
                    "const b = { x = 1, y = 2, }\n"
                    "fn f[E: (u8, f32,),](x: E[h,], y: int,) -> E[h] = g(x, y,)\n"
                    "fn g(x: f32[h], y: int) -> f32[h] = sum(x over [h,])\n")
                .messages(),
            "");
}

} // namespace
} // namespace penstock::dsl::test
