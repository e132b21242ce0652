// SPDX-License-Identifier: Apache-2.0
#include "dsl/AST/Printer.h"
#include "dsl/AST/Units.h"
#include "test/unit/dsl/Inputs.h"

#include <gtest/gtest.h>

namespace penstock::dsl::test {
namespace {

std::string tree(const std::string &text) {
  Checked checked(text);
  EXPECT_EQ(checked.messages(), "");
  return printAst(*checked.program.main);
}

/// The tree of the value of `const a = <text>`.
std::string value(const std::string &text) {
  Checked checked("pipe 1\nconst x = 1 const y = 2 const z = 3\nconst a = " + text + "\n");
  EXPECT_EQ(checked.messages(), "");
  return printAst(*checked.program.main->consts.back().value);
}

TEST(Ast, HoldsAWholePipeline) {
  EXPECT_EQ(tree("pipe 1\nuse vision\n"
                 "/// Trains.\n/// Well.\n"
                 "pipeline p(\n  /// Where.\n  root: path, n2: int = 3) with "
                 "seed = 7 {\n"
                 "  let table = image_folder(root)\n"
                 "  for row in table where row.ok order shuffled\n"
                 "  /// Pixels.\n"
                 "  let a = row.data |> decode(rgb, orient = true) |> flip(w) "
                 "if chance(0.5) on gpu\n"
                 "  batch 8 per rank last drop {\n"
                 "    let b = draw normal per [n]\n"
                 "    output x: f16[n, k <= 9, c = 3: rgb] stored [c, n, k] "
                 "pad -1 on cpu = a\n"
                 "    output y: i64[n] ragged = row.label\n"
                 "  }\n}\n"),
            "file\n"
            "  pipe 1\n"
            "  use vision\n"
            "  pipeline p\n"
            "    doc Trains.\n"
            "    doc Well.\n"
            "    param root: path\n"
            "      doc Where.\n"
            "    param n2: int\n"
            "      default int 3\n"
            "    with seed int 7\n"
            "    let table\n"
            "      call\n"
            "        name image_folder\n"
            "        arg name root\n"
            "    for row name table\n"
            "    where\n"
            "      field ok\n"
            "        name row\n"
            "    order name shuffled\n"
            "    let a\n"
            "      doc Pixels.\n"
            "      pipe\n"
            "        field data\n"
            "          name row\n"
            "        stage decode\n"
            "          arg name rgb\n"
            "          arg orient bool true\n"
            "        stage flip on gpu\n"
            "          arg name w\n"
            "          if\n"
            "            call\n"
            "              name chance\n"
            "              arg float 0.5\n"
            "    batch per rank last drop\n"
            "      size int 8\n"
            "      let b\n"
            "        draw normal\n"
            "          per [n]\n"
            "      output x: f16[n, k <= 9, c = 3: rgb]\n"
            "        stored [c, n, k]\n"
            "        pad\n"
            "          unary -\n"
            "            int 1\n"
            "        on cpu\n"
            "        name a\n"
            "      output y: i64[n]\n"
            "        ragged\n"
            "        field label\n"
            "          name row\n");
}

TEST(Ast, HoldsFunctionsAndScopes) {
  EXPECT_EQ(tree("pipe 1\n"
                 "fn f[E: (u8, f32)](x: E[h, w], y: E[], along: axis, r: { a: "
                 "int }) -> { a: E[h] } {\n"
                 "  let a = map (p in x, q in 0 .. 3) { p }\n"
                 "  let b: f32[w] = window (v in x, h = -1 ..= 1) { sum(v over "
                 "[h]) }\n"
                 "  let c = search (10) { let d = draw int(0 .. 3) accept d "
                 "when d > 1 } else 4\n"
                 "  return { a = each (v in 0 .. 2) { x[h = 0] } }\n"
                 "}\n"),
            "file\n"
            "  pipe 1\n"
            "  fn f\n"
            "    generic E: u8 f32\n"
            "    param x: E[h, w]\n"
            "    param y: E[]\n"
            "    param along: axis\n"
            "    param r: { a: int }\n"
            "    result { a: E[h] }\n"
            "    let a\n"
            "      map\n"
            "        bind p name x\n"
            "        bind q\n"
            "          range ..\n"
            "            int 0\n"
            "            int 3\n"
            "        return name p\n"
            "    let b\n"
            "      type f32[w]\n"
            "      window\n"
            "        bind v name x\n"
            "        axis h\n"
            "          range ..=\n"
            "            unary -\n"
            "              int 1\n"
            "            int 1\n"
            "        return\n"
            "          call\n"
            "            name sum\n"
            "            arg name v\n"
            "            over [h]\n"
            "    let c\n"
            "      search\n"
            "        tries int 10\n"
            "        let d\n"
            "          draw int\n"
            "            arg\n"
            "              range ..\n"
            "                int 0\n"
            "                int 3\n"
            "        accept name d\n"
            "        when\n"
            "          binary >\n"
            "            name d\n"
            "            int 1\n"
            "        else int 4\n"
            "    return\n"
            "      record\n"
            "        field a\n"
            "          each\n"
            "            bind v\n"
            "              range ..\n"
            "                int 0\n"
            "                int 2\n"
            "            return\n"
            "              index\n"
            "                name x\n"
            "                axis h int 0\n");
}

TEST(Ast, OperatorsBindAsOnTheLanguagePage) {
  auto source = [](const std::string &text) {
    Checked checked("pipe 1\nconst x = 1 const y = 2 const z = 3\nconst a = " + text + "\n");
    EXPECT_EQ(checked.messages(), "") << text;
    return printSource(*checked.program.main->consts.back().value);
  };
  EXPECT_EQ(source("x - y - z"), "(x - y) - z");
  EXPECT_EQ(source("x + y * z"), "x + (y * z)");
  EXPECT_EQ(source("-x * y"), "(-x) * y");
  EXPECT_EQ(source("- -x.a"), "-(-x.a)");
  EXPECT_EQ(source("x in 0 .. y + 1 and not z > 2 or true"),
            "((x in (0 .. (y + 1))) and (not (z > 2))) or true");
  EXPECT_EQ(source("if x > 1 then y else if y > 1 then x else z"),
            "if x > 1 then y else if y > 1 then x else z");
  EXPECT_EQ(source("(x + y) % z / 2"), "((x + y) % z) / 2");
  EXPECT_EQ(source("{ q = [1, 2.5, 1e-6], r = \"a\\n\" }"),
            "{ q = [1, 2.5, 1e-06], r = \"a\\n\" }");
}

TEST(Ast, PipesBindWeakest) {
  EXPECT_EQ(value("if x > 1 then y else z |> flip(w)"), "pipe\n"
                                                        "  if\n"
                                                        "    binary >\n"
                                                        "      name x\n"
                                                        "      int 1\n"
                                                        "    then name y\n"
                                                        "    else name z\n"
                                                        "  stage flip\n"
                                                        "    arg name w\n");
}

TEST(Ast, StagesNest) {
  EXPECT_EQ(value("x |> { identity |> u8.clamp } if y > 1 |> repeat (2) { "
                  "choose { 1 => flip(w), 2 "
                  "=> identity |> grayscale, } } on auto"),
            "pipe\n"
            "  name x\n"
            "  stage group\n"
            "    stage identity\n"
            "    stage u8.clamp\n"
            "    if\n"
            "      binary >\n"
            "        name y\n"
            "        int 1\n"
            "  stage repeat on auto\n"
            "    count int 2\n"
            "    stage choose\n"
            "      arm\n"
            "        weight int 1\n"
            "        stage flip\n"
            "          arg name w\n"
            "      arm\n"
            "        weight int 2\n"
            "        stage identity\n"
            "        stage grayscale\n");
}

TEST(Ast, LiteralsHaveValues) {
  EXPECT_EQ(value("[120_000, 0.5, 1e6, 25ms, 1%, 1.5e3mm, 2px, \"q\\\"\", false]"),
            "list\n"
            "  int 120000\n"
            "  float 0.5\n"
            "  float 1e+06\n"
            "  quantity 25ms\n"
            "  quantity 1%\n"
            "  quantity 1500mm\n"
            "  quantity 2px\n"
            "  string \"q\\\"\"\n"
            "  bool false\n");
}

TEST(Ast, RangesCoverWhatWasWritten) {
  Checked checked("pipe 1\nconst a = (1 + 2) * f32(3).x[h = 0]\n");
  const auto &product = checked.program.main->consts.front().value->cast<BinaryExpr>();
  auto text = [&](SourceRange range) { return std::string(checked.sources.text(range)); };
  EXPECT_EQ(text(product.lhs->range), "1 + 2");
  EXPECT_EQ(text(product.opRange), "*");
  EXPECT_EQ(text(product.rhs->range), "f32(3).x[h = 0]");
  EXPECT_EQ(text(checked.program.main->consts.front().range),
            "const a = (1 + 2) * f32(3).x[h = 0]");
}

TEST(Ast, EveryExampleHasATree) {
  for (const auto &file : pipeFiles("inputs"))
    EXPECT_GT(tree(readFile(file)).size(), 500u) << file;
}

TEST(Units, SameQuantitySameNumber) {
  const Unit *ms = findUnit("ms"), *s = findUnit("s");
  ASSERT_TRUE(ms && s);
  EXPECT_EQ(25 * ms->numerator / ms->denominator, 0.025 * s->numerator / s->denominator);
  EXPECT_EQ(ms->kind, s->kind);
  EXPECT_EQ(findUnit("parsec"), nullptr);
}

} // namespace
} // namespace penstock::dsl::test
