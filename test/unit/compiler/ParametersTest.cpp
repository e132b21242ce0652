// SPDX-License-Identifier: Apache-2.0
//
// Which parameters become static, and what values they take.

#include "test/unit/compiler/ImportText.h"

#include <gtest/gtest.h>

namespace penstock::test {
namespace {

const std::string text = R"(pipe 1
use vision
pipeline p(root: path, size: int = 8, twice: int = 2 , chance_of: f64 = 0.5, spread: range = 0.5 .. 1.5, need: int) {
  for row in image_folder(root)
  let x = row.data |> decode(rgb) |> resize(size * twice, 4) |> flip(w) if chance(chance_of)
    |> brightness(draw uniform(spread)) |> solarize(need)
  batch 4 { output x: u8[n, h, w, c] = x }
}
)";

const importer::ParameterInfo &find(const Imported &imported, const std::string &name) {
  for (const importer::ParameterInfo &info : imported.result.parameters)
    if (info.name == name)
      return info;
  static const importer::ParameterInfo none;
  return none;
}

int64_t outputRows(Imported &imported) {
  int64_t rows = 0;
  imported.result.module->walk([&](pipe::OutputOp output) {
    rows = llvm::cast<pipe::NamedTensorType>(output.getValue().getType()).getAxes()[0].extent;
  });
  return rows;
}

TEST(Parameters, becomeStaticByUse) {
  Imported imported(text);
  ASSERT_EQ(imported.messages, "");
  EXPECT_TRUE(find(imported, "size").isStatic);
  EXPECT_TRUE(find(imported, "twice").isStatic);
  EXPECT_TRUE(find(imported, "spread").isStatic);
  EXPECT_FALSE(find(imported, "chance_of").isStatic);
  EXPECT_FALSE(find(imported, "need").isStatic); // needs no value to compile
  EXPECT_FALSE(find(imported, "root").isStatic);
  EXPECT_EQ(find(imported, "size").defaultText, "8");
  EXPECT_EQ(outputRows(imported), 16);
}

TEST(Parameters, takeGivenValues) {
  importer::ImportOptions options;
  options.parameters = {{"size", "1_0"}, {"spread", "0.9 .. 1.1"}, {"chance_of", "25%"}};
  Imported imported(text, options);
  ASSERT_EQ(imported.messages, "");
  EXPECT_EQ(outputRows(imported), 20);
}

TEST(Parameters, refuseValuesOfOtherTypes) {
  importer::ImportOptions options;
  options.parameters = {{"size", "wide"}};
  EXPECT_NE(Imported(text, options).messages.find("the value `wide` given for `size` is no int"),
            std::string::npos);
  options.parameters = {{"chance_of", "half"}};
  EXPECT_NE(
      Imported(text, options).messages.find("the value `half` given for `chance_of` is no f64"),
      std::string::npos);
  options.parameters = {{"sise", "4"}};
  EXPECT_NE(Imported(text, options).messages.find("has no parameter `sise`"), std::string::npos);
}

TEST(Parameters, staticOnesNeedAValue) {
  Imported imported(R"(pipe 1
pipeline p(length: int = 1, size: int) {
  for row in synthetic(length, x = u8[t = 9])
  batch 4 { output x: u8[n, t] = row.x[t = 0 .. size] }
}
)");
  EXPECT_NE(
      imported.messages.find(
          "parameter `size` decides the extent of axis `t` (test.pipe:4:34), so it needs a value"),
      std::string::npos)
      << imported.messages;
}

TEST(Parameters, drawIdsAreThoseOfTheirPaths) {
  Imported imported(text);
  std::vector<std::string> paths;
  imported.result.module->walk([&](pipe::DrawOp draw) { paths.push_back(draw.getPath().str()); });
  EXPECT_EQ(paths, (std::vector<std::string>{"p/x/chance/uniform", "p/x/uniform"}));
}

} // namespace
} // namespace penstock::test
