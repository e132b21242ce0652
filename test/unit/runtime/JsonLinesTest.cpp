// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/JsonLines.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/sources/CsvSource.h"
#include "runtime/sources/Json.h"
#include "runtime/sources/TextList.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

using namespace penstock::runtime;
using penstock::plan::DType;

namespace {

/// The value of key `a` as it is written, or the message.
std::string valueOf(std::string_view text) {
  const std::string key = "a";
  std::string_view value;
  const Status status = readJsonObject(text, {&key, 1}, {&value, 1});
  return status ? std::string(value) : status.error().message;
}

TEST(Json, ValuesAreAsTheyAreWritten) {
  EXPECT_EQ(valueOf(R"({"a": 1})"), "1");
  EXPECT_EQ(valueOf(R"( { "b" : [ 1 , {"a": "x"} ] , "a":-2.5e3 } )"), "-2.5e3");
  EXPECT_EQ(valueOf(R"({"a": "x\"}", "c": null})"), R"("x\"}")");
  EXPECT_EQ(valueOf(R"({"a": {"a": [true, false, []]}})"), R"({"a": [true, false, []]})");
  EXPECT_EQ(valueOf(R"({"a": 1, "\u0061": NaN})"), "NaN"); // the last of two, whatever its spelling
  EXPECT_EQ(valueOf("{}"), "");
}

TEST(Json, WhatIsNone) {
  EXPECT_EQ(valueOf("[1]"), "no JSON: a line is a JSON object, and here stands `[1]`");
  EXPECT_EQ(valueOf(R"({"a": 1)"),
            "no JSON: a comma parts keys, and this line, which is to be one object, ends");
  EXPECT_EQ(valueOf(R"({"a": 1,})"), "no JSON: a key stands behind a comma, and here stands `}`");
  EXPECT_EQ(valueOf(R"({"a" 1})"), "no JSON: a key is followed by a colon, and here stands `1}`");
  EXPECT_EQ(valueOf(R"({a: 1})"),
            "no JSON: a text stands in double quotes, and here stands `a: 1}`");
  EXPECT_EQ(valueOf(R"({"a": 1} x)"),
            "no JSON: nothing stands behind the object, and here stands `x`");
  EXPECT_EQ(valueOf(R"({"a": no})"), "no JSON: a value is a number, a text, a list, an object, "
                                     "true, false or null, and here stands `no}`");
  EXPECT_EQ(valueOf(R"({"a": [1 2]})"),
            "no JSON: a comma or a bracket stands behind a value, and here stands `2]}`");
  EXPECT_EQ(valueOf(R"({"a": "\x"})"),
            "no JSON: a backslash is followed by one of \"\\/bfnrtu, and here stands `x\"}`");
  EXPECT_EQ(valueOf("{\"a\": \"\t\"}"),
            "no JSON: a text has no control characters, and here stands `\"}`");
  EXPECT_EQ(valueOf("{\"a\": " + std::string(100000, '[')).substr(0, 28),
            "no JSON: 64 levels are enoug");
}

TEST(Json, Texts) {
  EXPECT_EQ(*jsonText(R"("a\n\"\\\/\u00e9\ud83d\ude00\ud83d")"),
            "a\n\"\\/\xC3\xA9\xF0\x9F\x98\x80\xEF\xBF\xBD");
  EXPECT_EQ(*jsonText(R"("\ud83d\u0041")"), "\xEF\xBF\xBD"
                                            "A");
  EXPECT_FALSE(jsonText(R"("a" )"));
  EXPECT_FALSE(jsonText("3"));
  EXPECT_FALSE(jsonText(R"("\u12g4")"));
}

TEST(Json, NumbersAreWrittenAsJsonHasThem) {
  auto isRead = [](const std::string &number) {
    const std::string keys[] = {"a"};
    std::string_view values[1];
    return bool(readJsonObject("{\"b\": [" + number + "], \"a\": " + number + "}", keys, values));
  };
  for (const char *good : {"0", "-0", "7", "-10", "0.5", "100.25", "1e5", "0E-07", "2.5e+10", "NaN",
                           "Infinity", "-Infinity"})
    EXPECT_TRUE(isRead(good)) << good;
  for (const char *bad : {"01", "-01", "00", "1.", ".5", "-.5", "-", "+1", "1e", "1e+", "1.e5",
                          "1x", "0x1", "-NaN", "1-", "Infinity1"})
    EXPECT_FALSE(isRead(bad)) << bad;
}

/// The extents and elements of a list of i32, or the message.
std::string listOf(std::string_view text, std::vector<Extent> dims, bool isPlain = false) {
  const ColumnInfo column{"x", DType::i32, std::move(dims)};
  Buffer scratch;
  auto view = tensorOfList(column, text, isPlain, scratch);
  if (!view)
    return view.error().message;
  std::string out = std::to_string(view->extents[0]) + ":";
  for (int64_t i = 0; i < view->elements(); ++i) {
    int32_t value;
    std::memcpy(&value, view->data + 4 * i, sizeof value);
    out += " " + std::to_string(value);
  }
  return out;
}

TEST(TextList, NestedAndPlain) {
  EXPECT_EQ(listOf(" [1, -2 ,3]\n", {{0, 9}}), "3: 1 -2 3");
  EXPECT_EQ(listOf("[]", {{0, 9}}), "0:");
  EXPECT_EQ(listOf("[[1,2],[3,4],[5,6]]", {{0, 9}, {2, 2}}), "3: 1 2 3 4 5 6");
  EXPECT_EQ(listOf("1 2; 3,4", {{0, 9}}, true), "4: 1 2 3 4");
  EXPECT_EQ(listOf("", {{0, 9}}, true), "0:");
  EXPECT_EQ(listOf("[1, 2]", {{0, 9}}, true), "2: 1 2");
}

TEST(TextList, WhatDoesNotFit) {
  EXPECT_EQ(listOf("[1, 2, 3]", {{0, 2}}), "has 3 elements along axis 0, at most 2 are declared");
  EXPECT_EQ(listOf("[1]", {{2, 5}}), "has 1 elements along axis 0, at least 2 are declared");
  EXPECT_EQ(listOf("", {{2, 5}}, true), "has 0 elements along axis 0, at least 2 are declared");
  EXPECT_EQ(listOf("[1]", {{2, 2}}), "has 1 elements along axis 0, 2 are declared");
  EXPECT_EQ(listOf("[[1, 2], [3]]", {{0, 9}, {2, 2}}),
            "has 1 elements along axis 1, 2 are declared");
  EXPECT_EQ(listOf("[1, x]", {{0, 9}}), "`x` is not a whole number");
  EXPECT_EQ(listOf("[1, [2]]", {{0, 9}}),
            "has lists inside of the list along axis 0, the last that is declared");
  EXPECT_EQ(listOf("[[[1, 2]]]", {{0, 9}, {2, 2}}),
            "has lists inside of the list along axis 1, the last that is declared");
  EXPECT_EQ(listOf("[1, ]", {{0, 9}}), "lacks a number in its list");
  EXPECT_EQ(listOf("[1, , 2]", {{0, 9}}), "lacks a number in its list");
  for (const char *text : {"1;;2", "1; ;2", "1,;2", ";1", "1,", "1 ; ", ",", " ; "})
    EXPECT_EQ(listOf(text, {{0, 9}}, true), "lacks a number in its list") << text;
  EXPECT_EQ(listOf("[1 2]", {{0, 9}}), "lacks a comma in its list");
  EXPECT_EQ(listOf("[1,", {{0, 9}}), "has a list without an end");
  EXPECT_EQ(listOf("[1", {{0, 9}}), "has a list without an end");
  EXPECT_EQ(listOf("[1] 2", {{0, 9}}), "has `2` behind its list");
  EXPECT_EQ(listOf("1 2", {{0, 9}}), "has no list where axis 0 begins");
  EXPECT_EQ(listOf("[3000000000]", {{0, 9}}), "`3000000000` does not fit i32");
}

Result<std::unique_ptr<Source>> open(FakeFileSystem &files, const std::string &text,
                                     const std::vector<JsonColumn> &columns) {
  files.addFile("/t.jsonl", std::vector<uint8_t>(text.begin(), text.end()));
  return openJsonLines(files, {"/t.jsonl", "/data"}, columns);
}

TEST(JsonLines, RowsOfEveryKind) {
  FakeFileSystem files;
  files.addFile("/data/a.bin", std::vector<uint8_t>{7, 8});
  auto source =
      open(files,
           "\xEF\xBB\xBF{\"f\": \"a.bin\", \"n\": 2.5, \"t\": \"\\u00e9\", \"k\": [1, 2], \"b\": "
           "true}\r\n"
           "\n"
           "{\"f\": \"../a.bin\", \"n\": 3, \"t\": \"\", \"k\": [], \"b\": false, \"other\": 9}",
           {{{"data", DType::bytes, {}}, "f"},
            {{"n", DType::f64, {}}, "n"},
            {{"t", DType::text, {}}, "t"},
            {{"k", DType::i64, {{0, 4}}}, "k"},
            {{"b", DType::boolean, {}}, "b"}});
  ASSERT_TRUE(source) << source.error().message;
  const Source &table = **source;
  ASSERT_EQ(table.length(), 2);
  EXPECT_EQ(table.rowName(0), "a.bin");
  Buffer bytes;
  ASSERT_TRUE(table.fetch(0, 0, bytes));
  EXPECT_EQ(bytes.size(), 2u);
  EXPECT_EQ(table.fetch(1, 0, bytes).error().message, "file ../a.bin lies outside of /data");
  EXPECT_EQ(std::bit_cast<double>(*table.scalar(0, 1)), 2.5);
  EXPECT_EQ(std::bit_cast<double>(*table.scalar(1, 1)), 3.0);
  EXPECT_EQ(*table.text(0, 2), "\xC3\xA9");
  TensorView view;
  ASSERT_TRUE(table.shape(0, 3, view));
  EXPECT_EQ(view.extents[0], 2);
  EXPECT_EQ(table.tensor(1, 3, bytes)->extents[0], 0);
  EXPECT_EQ(*table.scalar(0, 4), 1);
  EXPECT_EQ(*table.otherText(1, "other"), "9");
  EXPECT_FALSE(table.otherText(0, "other"));
}

TEST(JsonLines, RowsWithoutAFileHaveTheirLine) {
  FakeFileSystem files;
  auto source = open(files, "{\"f\": \"a.bin\"}\n\n{\"f\": \"\"}\n{\"f\": \"b.bin\"}\n",
                     {{{"data", DType::bytes, {}}, "f"}});
  ASSERT_TRUE(source) << source.error().message;
  Buffer bytes;
  EXPECT_EQ((*source)->fetch(1, 0, bytes).error().message,
            "/t.jsonl:3: column `data` names no file");
}

TEST(JsonLines, RowsWithoutANumberHaveTheirLine) {
  FakeFileSystem files;
  auto source =
      open(files, "{\"x\": 1.5, \"b\": true, \"f\": \"a\"}\n\n{\"x\": null, \"f\": null}\n",
           {{{"x", DType::f32, {}}, "x"},
            {{"b", DType::boolean, {}}, "b"},
            {{"data", DType::bytes, {}}, "f"}});
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_TRUE((*source)->scalar(0, 0));
  auto number = (*source)->scalar(1, 0);
  EXPECT_EQ(number.error().message, "/t.jsonl:3: column `x` has no number");
  EXPECT_EQ(number.error().code, Code::Corrupt);
  EXPECT_EQ((*source)->scalar(1, 1).error().message, "/t.jsonl:3: column `b` has no truth value");
  Buffer bytes;
  EXPECT_EQ((*source)->fetch(1, 2, bytes).error().message,
            "/t.jsonl:3: column `data` names no file");
}

TEST(JsonLines, EveryMistakeHasItsLine) {
  const std::vector<JsonColumn> number = {{{"x", DType::u8, {}}, "x"}};
  const std::pair<const char *, const char *> mistakes[] = {
      {"{\"x\": 1}\n\n{\"x\": 300}\n", "/t.jsonl:3: column `x`: `300` does not fit u8"},
      {"{\"x\": \"1\"}", "/t.jsonl:1: column `x`: `\"1\"` is not a number"},
      {"{\"x\": true}", "/t.jsonl:1: column `x`: `true` is not a number"},
      {"{\"x\": null}", "/t.jsonl:1: column `x` has no number, nor has any other row one"},
      {"{\"y\": 1}", "/t.jsonl:1: column `x` has no number, nor has any other row one"},
      {"{\"x\": 1",
       "/t.jsonl:1: no JSON: a comma parts keys, and this line, which is to be one object, ends"},
      {"\n \n", "/t.jsonl has no rows"},
  };
  for (const auto &[text, message] : mistakes) {
    FakeFileSystem files;
    auto source = open(files, text, number);
    ASSERT_FALSE(source) << text;
    EXPECT_EQ(source.error().message, message);
  }
  for (const auto &[column, message] :
       {std::pair(ColumnInfo{"x", DType::text, {}}, "`1` is not a text"),
        std::pair(ColumnInfo{"x", DType::boolean, {}}, "`1` is not true or false"),
        std::pair(ColumnInfo{"x", DType::f32, {{0, 3}}}, "`1` is not a list")}) {
    FakeFileSystem files;
    auto source = open(files, "{\"x\": 1}", {{column, "x"}});
    ASSERT_FALSE(source);
    EXPECT_EQ(source.error().message, std::string("/t.jsonl:1: column `x`: ") + message);
  }
}

TEST(CsvLists, CellsWithAndWithoutBrackets) {
  FakeFileSystem files;
  const std::string text = "a,b\n1 2 3,\"[[1,2],[3,4]]\"\n\"4,5\",[]\n";
  files.addFile("/t.csv", std::vector<uint8_t>(text.begin(), text.end()));
  CsvOptions options;
  options.path = "/t.csv";
  auto source = openCsv(files, options,
                        {{"a", DType::i32, std::string("a"), {{0, 4}}},
                         {"b", DType::i32, std::string("b"), {{0, 4}, {2, 2}}}});
  ASSERT_TRUE(source) << source.error().message;
  Buffer scratch;
  EXPECT_EQ((*source)->tensor(0, 0, scratch)->extents[0], 3);
  EXPECT_EQ((*source)->tensor(1, 0, scratch)->extents[0], 2);
  EXPECT_EQ((*source)->tensor(0, 1, scratch)->elements(), 4);
  EXPECT_EQ((*source)->tensor(1, 1, scratch)->elements(), 0);
}

TEST(CsvLists, OfOtherLengthFailWhenTheyAreRead) {
  FakeFileSystem files;
  const std::string text = "a\n\n1 2 3\n1\n\n1 2\n";
  files.addFile("/t.csv", std::vector<uint8_t>(text.begin(), text.end()));
  CsvOptions options;
  options.path = "/t.csv";
  auto source = openCsv(files, options, {{"a", DType::i32, std::string("a"), {{2, 2}}}});
  ASSERT_TRUE(source) << source.error().message;
  Buffer scratch;
  TensorView view;
  EXPECT_EQ((*source)->tensor(0, 0, scratch).error().message,
            "/t.csv:3: column `a` has 3 elements along axis 0, 2 are declared");
  EXPECT_EQ((*source)->shape(1, 0, view).error().message,
            "/t.csv:4: column `a` has 1 elements along axis 0, 2 are declared");
  EXPECT_TRUE((*source)->tensor(2, 0, scratch));
}

TEST(JsonLines, ListsOfOtherLengthFailWhenTheyAreRead) {
  FakeFileSystem files;
  const std::string rows = "{\"k\": [1, 2, 3, 4]}\n\n{\"k\": [1]}\n{\"k\": []}\n";
  auto source = open(files, rows, {{{"k", DType::i64, {{1, 3}}}, "k"}});
  ASSERT_TRUE(source) << source.error().message;
  Buffer scratch;
  TensorView view;
  EXPECT_EQ((*source)->tensor(0, 0, scratch).error().message,
            "/t.jsonl:1: column `k` has 4 elements along axis 0, at most 3 are declared");
  EXPECT_TRUE((*source)->shape(1, 0, view));
  EXPECT_EQ((*source)->shape(2, 0, view).error().message,
            "/t.jsonl:4: column `k` has 0 elements along axis 0, at least 1 are declared");
  // What is no list is none of other length.
  const char *mistake = "{\"k\": [1, 2, 3, 4] 5}";
  EXPECT_FALSE(open(files, mistake, {{{"k", DType::i64, {{1, 3}}}, "k"}}));
}

} // namespace
