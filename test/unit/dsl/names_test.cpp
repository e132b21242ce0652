// SPDX-License-Identifier: Apache-2.0
//
// Modules, overloads, and which name means what.
#include "dsl/Sema/ParsedFiles.h"
#include "test/unit/dsl/Inputs.h"

#include <gtest/gtest.h>

namespace penstock::dsl::test {
namespace {

FakeModuleLoader library() {
  FakeModuleLoader loader;
  loader.modules["prelude"] =
      "pipe 1\npub const pi = 3.14\npub fn half(x: f32[h]) -> f32[h] = x / 2.0\n";
  loader.modules["vision"] = "pipe 1\nuse signal\n"
                             "pub const imagenet = 1\n"
                             "pub fn twice(x: f32[h]) -> f32[h] = thrice(x)\n"
                             "fn hidden(x: f32[h]) -> f32[h] = x\n"
                             "const secret = 3\n"
                             "pub fn half(x: u8[h]) -> u8[h] = x\n";
  loader.modules["signal"] = "pipe 1\nuse vision\n"
                             "pub fn thrice(x: f32[h]) -> f32[h] = x * pi\n";
  return loader;
}

std::string messages(const std::string &text) {
  return Checked("pipe 1\n" + text, library()).messages();
}

/// A library whose texts do not change.
struct KeptLibrary : ModuleLoader {
  FakeModuleLoader texts = library();
  ParsedFiles files;

  std::optional<Module> load(std::string_view name) override { return texts.load(name); }
  std::vector<std::string> names() override { return texts.names(); }
  ParsedFiles *kept() override { return &files; }
};

struct Loaded {
  Loaded(const std::string &text, ModuleLoader &loader)
      : program(loadProgram(sources.add("train.pipe", "pipe 1\n" + text), sources, loader,
                            exampleBuiltins(), diagnostics)) {}
  const File *module(const std::string &name) const { return program.modules.at(name).get(); }

  SourceManager sources;
  Diagnostics diagnostics;
  Program program;
};

TEST(Names, OfKeptModulesAreParsedOnce) {
  KeptLibrary kept;
  const Loaded first("use vision\n", kept), second("use vision\nconst a = 1\n", kept);
  EXPECT_FALSE(first.diagnostics.hasErrors() || second.diagnostics.hasErrors());
  for (const char *name : {"prelude", "vision", "signal"})
    EXPECT_EQ(first.module(name), second.module(name));
}

// A range says in which file it lies, by that program's number of it.
TEST(Names, OfKeptModulesKnowTheirFile) {
  KeptLibrary kept;
  const Loaded first("use vision\n", kept), other("use signal\n", kept);
  EXPECT_NE(first.module("vision"), other.module("vision"));
  for (const Loaded *loaded : {&first, &other})
    for (const char *name : {"prelude", "vision", "signal"}) {
      const File &file = *loaded->module(name);
      EXPECT_EQ(loaded->program.fileOf({file.id, 0, 0}), &file);
      const auto &declared = file.fns.front().name;
      EXPECT_EQ(loaded->sources.text(declared.range), declared.text);
    }
}

// Messages of a module reach everyone who uses it.
TEST(Names, OfModulesWithMessagesAreParsedAgain) {
  KeptLibrary kept;
  kept.texts.modules["signal"] += "const = 3\n";
  for (int i = 0; i < 2; ++i)
    EXPECT_TRUE(Loaded("use signal\n", kept).diagnostics.hasErrors());
}

TEST(Names, ComeFromOwnFileModulesAndPrelude) {
  EXPECT_EQ(messages("use vision\n"
                     "const mine = pi + imagenet\n"
                     "fn f(x: f32[h]) -> f32[h] = twice(half(x)) * mine\n"),
            "");
}

TEST(Names, OfAModulesModuleAreNotPassedOn) {
  EXPECT_EQ(
      messages("use vision\nfn f(x: f32[h]) -> f32[h] = thrice(x)\n"),
      "train.pipe:3:29: error: `thrice` belongs to module `signal`, which this file does not use\n"
      "  3 | fn f(x: f32[h]) -> f32[h] = thrice(x)\n"
      "    |                             ^~~~~~\n"
      "hint: `use signal` below `pipe 1`\n");
}

TEST(Names, OfAModuleAreAskedForOnce) {
  EXPECT_EQ(
      messages("fn f(x: f32[h]) -> f32[h] = twice(x)\n"
               "fn g(x: f32[h]) -> f32[h] = half(x) * imagenet + twice(x)\n"),
      "train.pipe:2:29: error: `twice` belongs to module `vision`, which this file does not use\n"
      "  2 | fn f(x: f32[h]) -> f32[h] = twice(x)\n"
      "    |                             ^~~~~\n"
      "hint: `use vision` below `pipe 1`\n");
}

TEST(Names, OfSeveralModules) {
  FakeModuleLoader loader = library();
  loader.modules["signal"] += "pub fn turn(x: f32[h]) -> f32[h] = x\n";
  loader.modules["vision"] += "pub fn turn(x: f32[h]) -> f32[h] = x\n";
  EXPECT_EQ(Checked("pipe 1\nfn f(x: f32[h]) -> f32[h] = turn(x)\n", loader).messages(),
            "train.pipe:2:29: error: `turn` belongs to modules `signal` and `vision`, and this "
            "file uses neither\n"
            "  2 | fn f(x: f32[h]) -> f32[h] = turn(x)\n"
            "    |                             ^~~~\n"
            "hint: `use signal` or `use vision` below `pipe 1`\n");
}

TEST(Names, OverloadsComeOwnFirstAndPreludeLast) {
  Checked checked("pipe 1\nuse vision\nfn half(x: i64[h]) -> i64[h] = x\nfn "
                  "half(x: int) -> int = x\n",
                  library());
  EXPECT_EQ(checked.messages(), "");
  auto fns = checked.program.findFns(*checked.program.main, "half");
  ASSERT_EQ(fns.size(), 4u);
  const File *vision = checked.program.modules.at("vision").get();
  const File *prelude = checked.program.modules.at("prelude").get();
  EXPECT_EQ(checked.program.fileOf(fns[0]->range), checked.program.main.get());
  EXPECT_EQ(fns[0]->params[0].type.name.text, "i64");
  EXPECT_EQ(fns[1]->params[0].type.name.text, "int");
  EXPECT_EQ(checked.program.fileOf(fns[2]->range), vision);
  EXPECT_EQ(checked.program.fileOf(fns[3]->range), prelude);
  EXPECT_EQ(checked.program.findFns(*vision, "half").size(), 2u);
  EXPECT_EQ(checked.program.findConst(*checked.program.main, "pi"), &prelude->consts.front());
}

TEST(Names, OwnConstantsComeBeforeAModules) {
  Checked checked("pipe 1\nuse vision\nconst imagenet = 2\n", library());
  EXPECT_EQ(checked.messages(), "");
  EXPECT_EQ(checked.program.findConst(*checked.program.main, "imagenet"),
            &checked.program.main->consts.front());
}

TEST(Names, FunctionsAndValuesDoNotCollide) {
  EXPECT_EQ(messages("fn level(m: int) -> int = m\n"
                     "fn f(level: int) -> int { let half = level(level) return half }\n"),
            "");
}

TEST(Names, AxesAndWordsMayBeArguments) {
  // `along` takes an axis, `amount` a number: only there a bare name is a
  // value.
  EXPECT_EQ(messages("fn slide(x: f32[h], along: axis, amount: int) -> f32[h] = x\n"
                     "fn f(x: f32[h, w]) -> f32[h, w] = x |> slide(w, h) |> flip(zz)\n"),
            "");
  EXPECT_EQ(messages("fn slide(x: f32[h], along: axis, amount: int) -> f32[h] = x\n"
                     "fn f(x: f32[h]) -> f32[h] = x |> slide(w, zz)\n"),
            "train.pipe:3:43: error: unknown name `zz`\n"
            "  3 | fn f(x: f32[h]) -> f32[h] = x |> slide(w, zz)\n"
            "    |                                           ^~\n");
}

TEST(Names, AnAxisParameterNamesAnAxis) {
  EXPECT_EQ(messages("fn shift_along(x: f32[a], a: axis) -> f32[a] = x |> flip(a)\n"), "");
}

TEST(Names, ExtentsAreInts) {
  EXPECT_EQ(messages("fn f(x: f32[h, w], y: f32[w]) -> f32[k = h * w] = x * f32(h + w)\n"), "");
}

TEST(Names, TheBatchAxisExistsInTheBatchOnly) {
  EXPECT_EQ(messages("pipeline p(root: path) {\n  for row in coco(root)\n  let a = n\n"
                     "  batch 4 { output x: i64[n] = n + a }\n}\n"),
            "train.pipe:4:11: error: unknown name `n`\n"
            "  4 |   let a = n\n"
            "    |           ^\n"
            "hint: the batch axis `n` exists in the `batch` block only\n");
}

TEST(Names, OutputsAreANameSpaceOfTheirOwn) {
  EXPECT_EQ(messages("pipeline p(root: path) {\n  for row in coco(root)\n  let a = row.x\n"
                     "  batch 4 { output a: i64[n] = a output row: i64[n] = a }\n}\n"),
            "");
}

TEST(Names, SearchLetsEndWithTheSearch) {
  EXPECT_EQ(messages("fn f(x: int) -> int =\n"
                     "  search (3) { let d = x accept d when d > 1 } else d\n"),
            "train.pipe:3:53: error: unknown name `d`\n"
            "  3 |   search (3) { let d = x accept d when d > 1 } else d\n"
            "    |                                                     ^\n");
}

TEST(Names, NothingIsSaidAboutWhatAnUnreadableStatementDeclares) {
  EXPECT_EQ(messages("fn broken(x) -> int = x\n"
                     "fn f(x: int) -> int { let a = ) return broken(a, 3) + a }\n"),
            "train.pipe:2:12: error: a parameter states its type\n"
            "  2 | fn broken(x) -> int = x\n"
            "    |            ^\n"
            "hint: `x: type`\n"
            "\n"
            "train.pipe:3:31: error: `)` closes nothing\n"
            "  3 | fn f(x: int) -> int { let a = ) return broken(a, 3) + a }\n"
            "    |                               ^\n"
            "train.pipe:3:21: note: `{` is the bracket that is open here\n");
}

TEST(Modules, MayNotHoldPipelines) {
  FakeModuleLoader loader = library();
  loader.modules["bad"] = "pipe 1\npipeline p(root: path) {\n  for row in coco(root)\n"
                          "  batch 4 { output x: i64[n] = row.x }\n}\n";
  EXPECT_EQ(Checked("pipe 1\nuse bad\n", loader).messages(),
            "stdlib/bad.pipe:2:10: error: a module holds functions and "
            "constants, no pipeline\n"
            "  2 | pipeline p(root: path) {\n"
            "    |          ^\n");
}

TEST(Modules, ErrorsInThemAreReportedAfterTheUsers) {
  FakeModuleLoader loader = library();
  loader.modules["bad"] = "pipe 1\nconst a = b\n";
  EXPECT_EQ(Checked("pipe 1\nuse bad\nconst c = d\n", loader).messages(),
            "train.pipe:3:11: error: unknown name `d`\n"
            "  3 | const c = d\n"
            "    |           ^\n"
            "\n"
            "stdlib/bad.pipe:2:11: error: unknown name `b`\n"
            "  2 | const a = b\n"
            "    |           ^\n");
}

TEST(Modules, WithTheSameConstantCollide) {
  FakeModuleLoader loader = library();
  loader.modules["other"] = "pipe 1\npub const imagenet = 2\n";
  EXPECT_EQ(Checked("pipe 1\nuse vision, other\n", loader).messages(),
            "train.pipe:2:13: error: modules `vision` and `other` both have a "
            "constant `imagenet`\n"
            "  2 | use vision, other\n"
            "    |             ^~~~~\n"
            "stdlib/vision.pipe:3:11: note: one\n"
            "stdlib/other.pipe:2:11: note: the other\n");
}

TEST(Modules, KeepTheirPrivateNames) {
  EXPECT_EQ(
      messages("use vision\nconst a = secret\nfn f(x: f32[h]) -> f32[h] = x |> hidden |> hiden\n"),
      "train.pipe:3:11: error: `secret` is private to module `vision`\n"
      "  3 | const a = secret\n"
      "    |           ^~~~~~\n"
      "stdlib/vision.pipe:6:7: note: it is declared here, without `pub`\n"
      "\n"
      "train.pipe:4:34: error: `hidden` is private to module `vision`\n"
      "  4 | fn f(x: f32[h]) -> f32[h] = x |> hidden |> hiden\n"
      "    |                                  ^~~~~~\n"
      "stdlib/vision.pipe:5:4: note: it is declared here, without `pub`\n"
      "\n"
      "train.pipe:4:44: error: unknown function `hiden`\n"
      "  4 | fn f(x: f32[h]) -> f32[h] = x |> hidden |> hiden\n"
      "    |                                            ^~~~~\n");
}

TEST(Modules, PrivateNamesAreFreeForOthers) {
  EXPECT_EQ(
      messages(
          "use vision, signal\nconst secret = 1.0\n"
          "fn hidden(x: f32[h]) -> f32[h] = x * secret\nfn f(x: f32[h]) -> f32[h] = hidden(x)\n"),
      "");
  FakeModuleLoader loader = library();
  loader.modules["other"] = "pipe 1\nconst imagenet = 2\n";
  Checked checked("pipe 1\nuse other, vision\nconst a = imagenet\n", loader);
  EXPECT_EQ(checked.messages(), "");
  EXPECT_EQ(checked.program.findConst(*checked.program.main, "imagenet"),
            &checked.program.modules.at("vision")->consts.front());
}

TEST(Modules, PubIsANameElsewhere) {
  EXPECT_EQ(messages("const pub = 1\nconst a = pub\npub fn f(x: int) -> int = pub\n"
                     "fn g(x: int) -> int = f(x) + pub\npub const b = pub const c = pub fn h() -> "
                     "int = pub\n"),
            "");
}

TEST(Modules, AMissingOneSilencesUnknownNames) {
  EXPECT_EQ(messages("use audio2\nconst a = mystery\nfn f(x: int) -> int = conjure(x)\n"),
            "train.pipe:2:5: error: there is no module `audio2`\n"
            "  2 | use audio2\n"
            "    |     ^~~~~~\n"
            "hint: the modules are signal vision\n");
}

TEST(Modules, WindowsLineEndsAndAByteOrderMarkAreFine) {
  EXPECT_EQ(Checked("\xEF\xBB\xBFpipe 1\r\nuse vision\r\nconst a = 1\r\n", library()).messages(),
            "");
}

} // namespace
} // namespace penstock::dsl::test
