// SPDX-License-Identifier: Apache-2.0
#include "dsl/Diagnostics/Nearest.h"
#include "dsl/Diagnostics/Render.h"

#include <gtest/gtest.h>

namespace penstock::dsl::test {
namespace {

/// The range of the first `part` in the text of a file.
SourceRange find(const SourceManager &sources, FileId file, std::string_view part) {
  size_t at = sources.text(file).find(part);
  EXPECT_NE(at, std::string_view::npos) << part;
  return {file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + part.size())};
}

TEST(Render, ControlsNoTerminal) {
  SourceManager sources;
  FileId file =
      sources.add("a\033.pipe", std::string("let\0\033[31m x\tx \xC2\x9B! \xC3\xA4\x7F", 21));
  Diagnostics diagnostics;
  diagnostics.error(find(sources, file, "!"), "\r`\x08`").hint("\033");
  EXPECT_EQ(renderText(diagnostics, sources), "a?.pipe:1:16: error: ?`?`\n"
                                              "  1 | let??[31m x\tx ?! \xC3\xA4?\n"
                                              "    |            \t   ^\n"
                                              "hint: ?\n");
}

TEST(Render, LooksAsOnTheLanguagePage) {
  SourceManager sources;
  std::string text = "\n\n\n\n\n  let pixels = row.data\n    |> resize(224, 224)\n"
                     "    |> flip(ww) if chance(0.5)\n\n\n\n"
                     "    output image: f16[n, c, h, x] = pixels\n";
  FileId file = sources.add("train.pipe", text);
  Diagnostics diagnostics;
  uint32_t axis = find(sources, file, "x] =").begin;
  diagnostics
      .error({file, axis, axis + 1},
             "output `image` names axis `x` and leaves out axis `w` of its value")
      .note(find(sources, file, "pixels"), "`pixels` is f32[h, w, c: rgb]")
      .hint("`w`");
  diagnostics
      .error(find(sources, file, "ww"), "`flip` over axis `ww`, which its input does not have")
      .note(find(sources, file, "resize"), "the input is u8[h=224, w=224, c: rgb]")
      .hint("`w`");
  EXPECT_EQ(renderText(diagnostics, sources),
            "train.pipe:8:13: error: `flip` over axis `ww`, which its input "
            "does not have\n"
            "  8 |     |> flip(ww) if chance(0.5)\n"
            "    |             ^~\n"
            "train.pipe:7:8: note: the input is u8[h=224, w=224, c: rgb]\n"
            "hint: `w`\n"
            "\n"
            "train.pipe:12:32: error: output `image` names axis `x` and leaves "
            "out axis `w` of its "
            "value\n"
            " 12 |     output image: f16[n, c, h, x] = pixels\n"
            "    |                                ^\n"
            "train.pipe:6:7: note: `pixels` is f32[h, w, c: rgb]\n"
            "hint: `w`\n");
}

TEST(Sources, ColumnsCountCharactersOnLinesOfAnyLength) {
  std::string text;
  for (int i = 0; i < 700; ++i)
    text += i % 97 == 0 ? "\n" : i % 3 == 0 ? "ä" : i % 5 == 0 ? "€" : "x";
  text += "\n" + std::string(1000, 'y') + "é" + std::string(500, 'z');
  SourceManager sources;
  const FileId file = sources.add("a.pipe", text);
  uint32_t line = 1, column = 1;
  for (uint32_t at = 0; at <= text.size(); ++at) {
    const bool isBegin = at == text.size() || (text[at] & 0xC0) != 0x80;
    if (isBegin) {
      const LineColumn found = sources.position(file, at);
      ASSERT_EQ(found.line, line) << at;
      ASSERT_EQ(found.column, column) << at;
      ++column;
    }
    if (at < text.size() && text[at] == '\n')
      ++line, column = 1;
  }
}

TEST(Render, CaretsStandBelowTabsAndLongCharacters) {
  SourceManager sources;
  FileId file = sources.add("a.pipe", "\tlet ä = \"öü\" + boom\n");
  Diagnostics diagnostics;
  diagnostics.warning(find(sources, file, "boom"), "loud");
  EXPECT_EQ(renderText(diagnostics, sources), "a.pipe:1:17: warning: loud\n"
                                              "  1 | \tlet ä = \"öü\" + boom\n"
                                              "    | \t               ^~~~\n");
}

TEST(Render, OfLongLinesOnlyTheNeighbourhoodIsShown) {
  const std::string many(100'000, 'x');
  SourceManager sources;
  FileId file = sources.add("a.pipe", many + " boom " + many + "\nboo " + many);
  Diagnostics diagnostics;
  diagnostics.error(find(sources, file, "boom"), "loud");
  diagnostics.error(find(sources, file, "boo "), "first");
  const std::string behind(240 - 160 - 5, 'x'), before(160 - 1, 'x');
  EXPECT_EQ(renderText(diagnostics, sources), "a.pipe:1:100002: error: loud\n  1 | ... " + before +
                                                  " boom " + behind + " ...\n    | " +
                                                  std::string(4 + 160, ' ') +
                                                  "^~~~\n\n"
                                                  "a.pipe:2:1: error: first\n  2 | boo " +
                                                  std::string(236, 'x') + " ...\n    | ^~~~\n");
}

TEST(Render, CaretsStandBelowWhatIsLeftOfLongLines) {
  for (size_t at = 150; at < 180; ++at) {
    const std::string line = std::string(at, '.') + "boom" + std::string(300, '.');
    SourceManager sources;
    FileId file = sources.add("a.pipe", line);
    Diagnostics diagnostics;
    diagnostics.error(find(sources, file, "boom"), "loud");
    const std::string text = renderText(diagnostics, sources);
    const size_t first = text.find('\n') + 1, second = text.find('\n', first) + 1;
    const size_t column = text.find("boom", first) - first;
    EXPECT_EQ(text.substr(second), "    | " + std::string(column - 6, ' ') + "^~~~\n") << at;
  }
}

TEST(Render, ARangeOverLinesIsUnderlinedOnItsFirst) {
  SourceManager sources;
  FileId file = sources.add("a.pipe", "one (two\nthree) four\r\nfive");
  Diagnostics diagnostics;
  diagnostics.error({file, 4, 15}, "long");
  diagnostics.error({file, 20, 999}, "beyond the end");
  EXPECT_EQ(renderText(diagnostics, sources), "a.pipe:1:5: error: long\n"
                                              "  1 | one (two\n"
                                              "    |     ^~~~\n"
                                              "\n"
                                              "a.pipe:2:12: error: beyond the end\n"
                                              "  2 | three) four\n"
                                              "    |            ^\n");
}

TEST(Render, WithoutAPlaceThereIsOnlyTheMessage) {
  SourceManager sources;
  Diagnostics diagnostics;
  diagnostics.error({}, "cannot read `train.pipe`");
  EXPECT_EQ(renderText(diagnostics, sources), "error: cannot read `train.pipe`\n");
  EXPECT_EQ(renderJson(diagnostics, sources),
            "[{\"severity\":\"error\",\"file\":null,\"message\":\"cannot read "
            "`train.pipe`\","
            "\"notes\":[],\"hint\":null}]\n");
}

TEST(Render, JsonHasPlacesAndEscapes) {
  SourceManager sources;
  FileId file = sources.add("a\"b.pipe", "x\ny z\n");
  FileId other = sources.add("m.pipe", "q");
  Diagnostics diagnostics;
  diagnostics.error({file, 4, 5}, "tab\there").note({other, 0, 1}, "there").hint("`y`");
  EXPECT_EQ(renderJson(diagnostics, sources),
            "[{\"severity\":\"error\",\"file\":\"a\\\"b.pipe\",\"line\":2,\"column\":"
            "3,"
            "\"end_line\":2,\"end_column\":4,\"message\":\"tab\\u0009here\","
            "\"notes\":[{\"file\":\"m.pipe\",\"line\":1,\"column\":1,\"end_line\":1,"
            "\"end_column\":2,\"message\":\"there\"}],\"hint\":\"`y`\"}]\n");
  EXPECT_EQ(renderJson(Diagnostics(), sources), "[]\n");
}

TEST(Json, IsUtf8WhateverTheTextIs) {
  SourceManager sources;
  Diagnostics diagnostics;
  diagnostics.error(
      {},
      "\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80 \xC3 \xFF \xE0\x80\x80 \xED\xA0\x80 \xF5 \xC0\xAF");
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(renderJson(diagnostics, sources), "[{\"severity\":\"error\",\"file\":null,\"message\":"
                                              "\"\xC3\xA4 \xE2\x82\xAC \xF0\x9F\x98\x80 " +
                                                  bad + " " + bad + " " + bad + bad + bad + " " +
                                                  bad + bad + bad + " " + bad + " " + bad + bad +
                                                  "\",\"notes\":[],\"hint\":null}]\n");
}

TEST(Diagnostics, AreSortedByPlaceAndSaidOnce) {
  SourceManager sources;
  FileId user = sources.add("user.pipe", "abc"), module = sources.add("module.pipe", "abc");
  Diagnostics diagnostics;
  diagnostics.warning({module, 0, 1}, "m");
  diagnostics.error({user, 2, 3}, "c");
  diagnostics.error({user, 0, 1}, "a");
  diagnostics.error({user, 2, 3}, "c");
  EXPECT_TRUE(diagnostics.hasErrors());
  std::string order;
  for (const Diagnostic &diagnostic : diagnostics.sorted())
    order += diagnostic.message;
  EXPECT_EQ(order, "acm");
}

TEST(Diagnostics, WarningsAreNoErrors) {
  Diagnostics diagnostics;
  diagnostics.warning({}, "w");
  EXPECT_FALSE(diagnostics.hasErrors());
  EXPECT_FALSE(diagnostics.empty());
}

TEST(Nearest, FindsMisspellingsOnly) {
  std::vector<std::string> words{"flip", "resize", "normalize", "w"};
  EXPECT_EQ(nearest("flpi", words), "flip");
  EXPECT_EQ(nearest("resise", words), "resize");
  EXPECT_EQ(nearest("normalise", words), "normalize");
  EXPECT_EQ(nearest("rotate", words), "");
  EXPECT_EQ(nearest("flip", words), "");
  EXPECT_EQ(nearest("h", words), "");
  EXPECT_EQ(editDistance("ab", "ba"), 1u);
  EXPECT_EQ(editDistance("", "abc"), 3u);
}

} // namespace
} // namespace penstock::dsl::test
