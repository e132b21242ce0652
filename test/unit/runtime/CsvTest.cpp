// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Csv.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/core/TextValue.h"
#include "runtime/sources/CsvSource.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

using namespace penstock::runtime;
using penstock::plan::DType;

namespace {

using Rows = std::vector<std::vector<std::string>>;

/// All rows, or one row with the message.
Rows read(std::string_view text, char separator = ',') {
  CsvReader reader(text, separator);
  Rows rows;
  std::vector<CsvCell> cells;
  for (;;) {
    auto more = reader.next(cells);
    if (!more)
      return {{more.error().message}};
    if (!*more)
      return rows;
    rows.emplace_back();
    for (const CsvCell &cell : cells)
      rows.back().push_back(cell.text());
  }
}

TEST(Csv, CellsAndRows) {
  EXPECT_EQ(read("a,b\n1,2\n"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(read("a,b\r\n1,2"), (Rows{{"a", "b"}, {"1", "2"}}));
  EXPECT_EQ(read("\xEF\xBB\xBF"
                 "a,b\n"),
            (Rows{{"a", "b"}}));
  EXPECT_EQ(read(",\n,,\n"), (Rows{{"", ""}, {"", "", ""}}));
  EXPECT_EQ(read("\n\r\na\n\n\nb\n\n"), (Rows{{"a"}, {"b"}}));
  EXPECT_EQ(read("a;b\tc\n", ';'), (Rows{{"a", "b\tc"}}));
  EXPECT_EQ(read("x\ry,z\n"), (Rows{{"x\ry", "z"}}));
  EXPECT_EQ(read(""), Rows());
}

TEST(Csv, LinesMayEndInCarriageReturnsAlone) {
  EXPECT_EQ(read("\r\ra,b\r\"1\r\",2\r\r3,4"), (Rows{{"a", "b"}, {"1\r", "2"}, {"3", "4"}}));
  EXPECT_EQ(read("a b\rc\r", '\0'), (Rows{{"a b"}, {"c"}}));
  EXPECT_EQ(read("\"1\n\"\"\n\",2\ra,\"3\r\n4\"\r"), (Rows{{"1\n\"\n", "2"}, {"a", "3\r\n4"}}));
  EXPECT_EQ(read("a \"1\nb\r"), (Rows{{"a \"1"}, {"b\r"}})); // such a quote opens nothing
  EXPECT_EQ(read("a\"\r,\"\n\"\rb"), (Rows{{"a\""}, {"", "\n"}, {"b"}}));
  EXPECT_EQ(read("a\r\"b\nc"), (Rows{{"2: a quote is opened and never closed"}}));
  EXPECT_EQ(read("a\r\r\"b\rc"), (Rows{{"3: a quote is opened and never closed"}}));
}

TEST(Csv, QuotedCells) {
  EXPECT_EQ(read("\"a,b\",\"c\"\"d\"\n"), (Rows{{"a,b", "c\"d"}}));
  EXPECT_EQ(read("\"two\r\nlines\",x\nnext,y\n"), (Rows{{"two\r\nlines", "x"}, {"next", "y"}}));
  EXPECT_EQ(read("\"\",\"\"\"\"\n"), (Rows{{"", "\""}}));
  EXPECT_EQ(read("5\" disk,a\"\"b\n"), (Rows{{"5\" disk", "a\"\"b"}}));
  // In one go, where to close each gap takes minutes.
  EXPECT_EQ(read("\"" + std::string(8 << 20, '"') + "\",1\n"),
            (Rows{{std::string(4 << 20, '"'), "1"}}));
}

TEST(Csv, LinesAsTheyAre) {
  EXPECT_EQ(read("a, \"b\".jpg\n\"c\r\n", '\0'), (Rows{{"a, \"b\".jpg"}, {"\"c"}}));
}

TEST(Csv, MessagesHaveTheLine) {
  EXPECT_EQ(read("a\n\n\"b\nc"), (Rows{{"3: a quote is opened and never closed"}}));
  EXPECT_EQ(read("a\n\"b\nc\"d\n"), (Rows{{"3: text follows a closing quote"}}));
}

TEST(Csv, RandomRowsComeBackWhateverEndsTheLines) {
  std::mt19937 random(2);
  for (int i = 0; i < 3000; ++i) {
    const std::string end = std::vector<std::string>{"\n", "\r\n", "\r"}[random() % 3];
    Rows rows(1 + random() % 4);
    std::string text;
    for (auto &row : rows) {
      row.resize(1 + random() % 3);
      for (std::string &cell : row) {
        cell.resize(random() % 5);
        for (char &c : cell)
          c = ",\"\r\nab "[random() % 7];
        text += &cell == row.data() ? "" : ",";
        if (!cell.empty() && cell.find_first_of(",\"\r\n") == std::string::npos && random() % 2) {
          text += cell;
          continue;
        }
        text += '"';
        for (char c : cell)
          text += c == '"' ? std::string("\"\"") : std::string(1, c);
        text += '"';
      }
      text += end;
    }
    ASSERT_EQ(read(text), rows) << text;
  }
}

TEST(Csv, AnyBytesEnd) {
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string text(random() % 20, '\0');
    for (char &c : text)
      c = ",\"\r\nab;\0"[random() % 8];
    const std::vector<char> exact(text.begin(), text.end()); // a sanitizer sees every byte too far
    const std::string_view all(exact.data(), exact.size());
    const char separator = ",;\0"[random() % 3];
    CsvReader reader(all, separator);
    std::vector<CsvCell> cells;
    size_t rows = 0;
    for (auto more = reader.next(cells); more && *more; more = reader.next(cells)) {
      // A row is found again at its place.
      CsvReader again(all, separator);
      std::vector<CsvCell> same;
      again.seek(reader.rowStart());
      ASSERT_TRUE(again.next(same).ok());
      ASSERT_EQ(same.size(), cells.size());
      ASSERT_FALSE(cells.empty());
      ASSERT_LT(rows++, text.size());
    }
  }
}

std::string messageOf(DType type, std::string_view text) {
  auto value = parseValue(type, text);
  return value ? "" : value.error().message;
}

TEST(TextValue, Numbers) {
  EXPECT_EQ(*parseValue(DType::i64, " 42\r\n"), 42);
  EXPECT_EQ(*parseValue(DType::i64, "+7"), 7);
  EXPECT_EQ(*parseValue(DType::i8, "-128"), -128);
  EXPECT_EQ(*parseValue(DType::boolean, "true"), 1);
  EXPECT_EQ(*parseValue(DType::boolean, "0"), 0);
  // As NumPy and pandas write them.
  EXPECT_EQ(*parseValue(DType::boolean, "True"), 1);
  EXPECT_EQ(*parseValue(DType::boolean, "False"), 0);
  EXPECT_EQ(*parseValue(DType::boolean, "TRUE"), 1);
  const auto real = [](DType type, const char *text) {
    return std::bit_cast<double>(*parseValue(type, text));
  };
  for (const char *text : {"1e-50", "1e-400", "+1e-50", "0.0000000001e-45",
                           "1E-99999999999999999999", "1000000e-400"}) {
    EXPECT_EQ(real(DType::f32, text), 0) << text;
    EXPECT_FALSE(std::signbit(real(DType::f32, text)));
  }
  EXPECT_TRUE(std::signbit(real(DType::f32, "-1e-50")));
  EXPECT_EQ(real(DType::f64, "1e-50"), 1e-50);
  EXPECT_EQ(real(DType::f64, "-2e-400"), 0);
  EXPECT_EQ(real(DType::f32, "1e-45"), double(1.4e-45f)); // the least there is
  EXPECT_EQ(real(DType::f32, (std::string(60, '9') + "e-40").c_str()), double(1e20f));
  EXPECT_EQ(std::bit_cast<double>(*parseValue(DType::f64, "1e-3")), 1e-3);
  EXPECT_EQ(std::bit_cast<double>(*parseValue(DType::f32, "0.1")), double(0.1f));
  EXPECT_EQ(std::bit_cast<double>(*parseValue(DType::f64, "-inf")), -HUGE_VAL);
  // As pandas writes whole numbers where some are missing.
  EXPECT_EQ(*parseValue(DType::i64, "3.0"), 3);
  EXPECT_EQ(*parseValue(DType::u8, "+255.000"), 255);
  EXPECT_EQ(*parseValue(DType::i64, "-9223372036854775808.0"), INT64_MIN);
  EXPECT_EQ(*parseValue(DType::i32, "1e3"), 1000);
  EXPECT_EQ(*parseValue(DType::i64, "-1.25E2"), -125);
  EXPECT_EQ(*parseValue(DType::i64, "1.5e17"), 150'000'000'000'000'000);
  EXPECT_EQ(*parseValue(DType::i64, "+9007199254740993.0"), 9'007'199'254'740'993);
  EXPECT_EQ(*parseValue(DType::i64, "9007199254740993e0"), 9'007'199'254'740'993);
  EXPECT_EQ(*parseValue(DType::i64, "123000e-3"), 123);
  EXPECT_EQ(*parseValue(DType::i64, "-0.0e7"), 0);
  EXPECT_EQ(messageOf(DType::i64, "1e19"), "`1e19` does not fit i64");
  EXPECT_EQ(messageOf(DType::u8, "256.0"), "`256.0` does not fit u8");
  for (const char *text : {"4.5", ".", "a.0", "1e-1", "--1.0", "1.0.0", "nan", "1e", "0x1.0"})
    EXPECT_EQ(messageOf(DType::i64, text), "`" + std::string(text) + "` is not a whole number");
  for (const char *text : {"1e40", "-1e99999999999", "12e18"})
    EXPECT_EQ(messageOf(DType::i64, text), "`" + std::string(text) + "` does not fit i64");
  EXPECT_EQ(messageOf(DType::i64, ""), "`` is not a whole number");
  EXPECT_EQ(messageOf(DType::i64, "+-4"), "`+-4` is not a whole number");
  EXPECT_EQ(messageOf(DType::i64, "9223372036854775808"), "`9223372036854775808` does not fit i64");
  EXPECT_EQ(messageOf(DType::u8, "256"), "`256` does not fit u8");
  EXPECT_EQ(messageOf(DType::f32, "1e400"), "`1e400` does not fit f32");
  EXPECT_EQ(messageOf(DType::f32, "1e39"), "`1e39` does not fit f32");
  EXPECT_EQ(messageOf(DType::f64, "0.001e400"), "`0.001e400` does not fit f64");
  EXPECT_EQ(messageOf(DType::f64, "1e99999999999999999999"),
            "`1e99999999999999999999` does not fit f64");
  EXPECT_EQ(messageOf(DType::f32, "x"), "`x` is not a number");
  EXPECT_EQ(messageOf(DType::boolean, "yes"), "`yes` is not true, false, 1 or 0");
  EXPECT_EQ(messageOf(DType::i64, std::string(100, 'x')),
            "`" + std::string(40, 'x') + "...` is not a whole number");
}

struct CsvTable : testing::Test {
  FakeFileSystem files{{"/data"}};
  CsvOptions options{"/data/list.csv", "/data/images", ',', true, 1 << 20};
  std::vector<CsvColumn> columns{{"data", DType::bytes, "file name"},
                                 {"label", DType::i64, "class"},
                                 {"weight", DType::f32, "weight"},
                                 {"note", DType::text, "note"}};

  void SetUp() override {
    files.addFile("/data/images/a.jpg", "first");
    files.addFile("/data/images/b,c.jpg", "second");
    files.addFile("/data/secret", "nobody's");
  }
  Result<std::unique_ptr<Source>> open(std::string_view text) {
    files.addFile("/data/list.csv", text);
    return openCsv(files, options, columns);
  }
  std::string failure(std::string_view text) {
    auto opened = open(text);
    return opened ? "" : opened.error().message;
  }
};

constexpr std::string_view table = "note,file name,class,weight\r\n"
                                   "\"said \"\"hi\"\"\",a.jpg,3,0.5\r\n"
                                   "plain,\"b,c.jpg\",-1,1e2\r\n";

TEST_F(CsvTable, GivesTypedColumns) {
  auto source = open(table);
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ((*source)->length(), 2);
  EXPECT_EQ(*(*source)->scalar(0, 1), 3);
  EXPECT_EQ(*(*source)->scalar(1, 1), -1);
  EXPECT_EQ(std::bit_cast<double>(*(*source)->scalar(1, 2)), 100.0);
  EXPECT_EQ(*(*source)->text(0, 3), "said \"hi\"");
  EXPECT_EQ((*source)->rowName(1), "b,c.jpg");
  Buffer bytes;
  ASSERT_TRUE((*source)->fetch(1, 0, bytes).ok());
  EXPECT_EQ(std::string(bytes.data(), bytes.data() + bytes.size()), "second");
}

TEST_F(CsvTable, TextsOfColumnsThatNobodyNamed) {
  columns.erase(columns.begin() + 1, columns.end());
  auto source = open(table);
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ(*(*source)->otherText(0, "note"), "said \"hi\"");
  EXPECT_EQ(*(*source)->otherText(1, "weight"), "1e2");
  EXPECT_EQ((*source)->otherText(0, "not").error().message,
            "the table has no column `not` of text");
  auto twice = open("note,file name,note\nx,a.jpg,y\n");
  ASSERT_TRUE(twice.ok());
  EXPECT_FALSE((*twice)->otherText(0, "note").ok());
  options.header = false;
  columns[0].from = int64_t(1);
  auto numbered = open(table);
  ASSERT_TRUE(numbered.ok());
  EXPECT_FALSE((*numbered)->otherText(0, "note").ok());
}

TEST_F(CsvTable, ErrorsHaveTheLineOfTheFile) {
  EXPECT_EQ(failure("note,file,class,weight\n"),
            "/data/list.csv:1: there is no column `file name`; the first line has `note`, `file`, "
            "`class`, `weight`");
  EXPECT_EQ(failure("note," + std::string(150, 'x') + "," + std::string(90, 'y') + ",z\n"),
            "/data/list.csv:1: there is no column `file name`; the first line has `note`, `" +
                std::string(150, 'x') + "`, ...");
  EXPECT_EQ(failure("note,file name,class,class,weight\n"),
            "/data/list.csv:1: there are 2 columns `class`");
  EXPECT_EQ(failure(std::string(table) + "x,y,1\n"),
            "/data/list.csv:4: 3 cells, the first row has 4");
  EXPECT_EQ(failure(std::string(table) + "x,y,one,1\n"),
            "/data/list.csv:4: column `label`: `one` is not a whole number");
  EXPECT_EQ(failure(std::string(table) + "\"x\n\n\",y,1,2\n\nx,y,-,1\n"),
            "/data/list.csv:8: column `label`: `-` is not a whole number");
  EXPECT_EQ(failure(std::string(table) + "\"x"),
            "/data/list.csv:4: a quote is opened and never closed");
  EXPECT_EQ(failure(""), "/data/list.csv is empty");
  EXPECT_EQ(failure("note,file name,class,weight\n"),
            "/data/list.csv has a line of names and no rows");
  options.path = "/data/none.csv";
  auto opened = openCsv(files, options, columns);
  EXPECT_EQ(opened.error().message, "cannot read /data/none.csv: No such file or directory");
}

TEST_F(CsvTable, ColumnsByNumberNeedNoNames) {
  options.header = false;
  options.separator = ' ';
  columns = {{"data", DType::bytes, int64_t(0)}, {"label", DType::i64, int64_t(1)}};
  auto source = open("a.jpg 4\nb.jpg 5\n");
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ((*source)->length(), 2);
  EXPECT_EQ(*(*source)->scalar(1, 1), 5);
  EXPECT_EQ(failure("a.jpg\n"),
            "/data/list.csv:1: there is no column 1; the first row has 1, counted from 0");
}

TEST_F(CsvTable, WithoutARootFilesLieBesideTheList) {
  options.root.clear();
  auto source = open("note,file name,class,weight\n"
                     "x,images/a.jpg,1,1\n"
                     "x,/data/secret,1,1\n"
                     "x,../data/secret,1,1\n"
                     "x,../other,1,1\n");
  ASSERT_TRUE(source.ok()) << source.error().message;
  Buffer bytes;
  for (int64_t row : {0, 1, 2})
    EXPECT_TRUE((*source)->fetch(row, 0, bytes)) << row;
  EXPECT_EQ((*source)->fetch(3, 0, bytes).error().message, "file ../other lies outside of /data");
}

TEST_F(CsvTable, FilesOutsideOfTheRootAreNotOpened) {
  auto source = open("note,file name,class,weight\n"
                     "x,../secret,1,1\n"
                     "x,/elsewhere/secret,1,1\n"
                     "x,/data/images/a.jpg,1,1\n"
                     "x,sub/../a.jpg,1,1\n"
                     "x,,1,1\n"
                     "x,none.jpg,1,1\n");
  ASSERT_TRUE(source.ok()) << source.error().message;
  Buffer bytes;
  auto message = [&](int64_t row) {
    Status status = (*source)->fetch(row, 0, bytes);
    return status ? "" : status.error().message;
  };
  EXPECT_EQ(message(0), "file ../secret lies outside of /data/images");
  EXPECT_EQ(message(1), "/elsewhere/secret leads out of the folders given to this pipeline");
  EXPECT_EQ(message(2), "");
  EXPECT_EQ(message(3), "");
  EXPECT_EQ(message(4), "/data/list.csv:6: column `data` names no file");
  EXPECT_EQ(message(5), "cannot read /data/images/none.jpg: No such file or directory");
}

TEST_F(CsvTable, AMillionRows) {
  std::string text = "class\n";
  for (int i = 0; i < 1'000'000; ++i)
    text += std::to_string(i) + "\n";
  columns = {{"label", DType::i64, "class"}};
  auto source = open(text);
  ASSERT_TRUE(source.ok()) << source.error().message;
  EXPECT_EQ((*source)->length(), 1'000'000);
  for (int64_t row : {0, 1, 999'999, 123'456})
    EXPECT_EQ(*(*source)->scalar(row, 0), row);
}

} // namespace
