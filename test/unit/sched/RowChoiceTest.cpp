// SPDX-License-Identifier: Apache-2.0
//
// `where`, weights and lists: which rows an epoch has.
#include "test/unit/sched/Pipelines.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <set>

namespace penstock::test {

namespace {

/// memoryPipeline() with the kernel that looks at rows: keeps values divisible
/// by parameter `every`, with the weight value - 100.
Pipeline choosing(plan::Order order, bool keeps, bool weighs) {
  Pipeline p = memoryPipeline(order);
  p.param("every", DType::i64);
  p.plan.params.back()->integer = 3;
  p.plan.params.back()->slot = 20;
  p.plan.rows_kernel = p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    s[21] = s[8] % s[20] == 0;
    s[22] = std::bit_cast<int64_t>(double(s[8] - 100));
    return 0;
  });
  p.plan.keep_slot = keeps ? 21 : -1;
  p.plan.weight_slot = weighs ? 22 : -1;
  return p;
}

/// The rows of an epoch by position.
std::vector<int64_t> rowsOf(Session &session) {
  std::vector<int64_t> rows;
  for (;;) {
    auto batch = session.next();
    EXPECT_TRUE(batch) << batch.error().message;
    if (!batch || !*batch)
      return rows;
    rows.insert(rows.end(), (*batch)->rows().begin(), (*batch)->rows().end());
  }
}

std::vector<int64_t> multiplesOf3(int64_t rows) {
  std::vector<int64_t> result;
  for (int64_t row = 0; row < rows; ++row)
    if ((100 + row) % 3 == 0)
      result.push_back(row);
  return result;
}

TEST(RowChoice, WhereLeavesRowsOut) {
  MemoryTable table(120);
  auto session = choosing(plan::Order::sequential, true, false).open(table.options());
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ((*session)->tableLength(), 120);
  EXPECT_EQ((*session)->samplesPerEpoch(), 40);
  EXPECT_EQ(rowsOf(**session), multiplesOf3(120));
}

TEST(RowChoice, AShuffledChoiceHasEachRowOnce) {
  MemoryTable table(120);
  auto session = choosing(plan::Order::shuffled, true, false).open(table.options());
  ASSERT_TRUE(session) << session.error().message;
  std::vector<int64_t> first = rowsOf(**session), second = rowsOf(**session);
  EXPECT_NE(first, multiplesOf3(120));
  EXPECT_NE(first, second);
  std::sort(first.begin(), first.end());
  std::sort(second.begin(), second.end());
  EXPECT_EQ(first, multiplesOf3(120));
  EXPECT_EQ(second, multiplesOf3(120));
}

TEST(RowChoice, ParametersChangeItFromSessionToSession) {
  MemoryTable table(120);
  SessionOptions options = table.options();
  options.params = {{"every", int64_t(10)}};
  auto session = choosing(plan::Order::sequential, true, false).open(options);
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ((*session)->samplesPerEpoch(), 12);
}

TEST(RowChoice, WeightsDrawOftenWhatWeighsMuch) {
  MemoryTable table(40);
  auto session = choosing(plan::Order::weighted, false, true).open(table.options());
  ASSERT_TRUE(session) << session.error().message;
  std::vector<int64_t> counts(40);
  for (int epoch = 0; epoch < 500; ++epoch)
    for (int64_t row : rowsOf(**session))
      ++counts[size_t(row)];
  EXPECT_EQ(counts[0], 0); // of weight 0
  const double total = 39 * 40 / 2;
  for (int64_t row = 1; row < 40; ++row) {
    const double expected = 20'000 * double(row) / total;
    EXPECT_NEAR(double(counts[size_t(row)]), expected, 5.5 * std::sqrt(expected)) << row;
  }
}

TEST(RowChoice, WhereAndWeightsGoTogether) {
  MemoryTable table(60);
  auto session = choosing(plan::Order::weighted, true, true).open(table.options());
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ((*session)->samplesPerEpoch(), 20);
  for (int64_t row : rowsOf(**session))
    EXPECT_EQ((100 + row) % 3, 0);
}

TEST(RowChoice, AListKeepsItsOrderUnderWhere) {
  MemoryTable table(30);
  Pipeline p = choosing(plan::Order::listed, true, false);
  p.plan.order_list = {20, 4, 2, 5, 20, 2, 8, 3};
  auto session = p.open(table.options());
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ(rowsOf(**session), (std::vector<int64_t>{20, 2, 5, 20})); // `last drop`: 4 of 6
  p.plan.order_list.push_back(30);
  EXPECT_EQ(p.open(table.options()).error().message,
            "entry 8 of the order is row 30, but the table has 30 rows");
}

// Contract 4 (docs/architecture.md), for every order: ranks share positions, and resuming under
// another world size gives the same rest.
TEST(RowChoice, RanksAndResumeSeeTheSameRows) {
  MemoryTable table(200);
  for (plan::Order order : {plan::Order::shuffled, plan::Order::weighted, plan::Order::listed}) {
    Pipeline p = choosing(order, order != plan::Order::listed, order == plan::Order::weighted);
    if (order == plan::Order::listed)
      for (int64_t i = 0; i < 64; ++i)
        p.plan.order_list.push_back(i * 37 % 200);
    p.plan.batch->global = true;
    p.plan.batch->last = plan::Last::keep;
    auto one = p.open(table.options());
    ASSERT_TRUE(one) << one.error().message;
    const std::vector<std::string> expected = readEpoch(**one).samples;
    ASSERT_GE(expected.size(), 60u);

    auto begun = p.open(table.options());
    ASSERT_TRUE(begun);
    std::vector<std::string> found = readEpoch(**begun, 5).samples;
    const std::string state = (*begun)->state();
    for (uint32_t rank = 0; rank < 2; ++rank) {
      SessionOptions options = table.options();
      options.rank = rank;
      options.world = 2;
      auto rest = p.open(options);
      ASSERT_TRUE(rest);
      ASSERT_TRUE((*rest)->restore(state));
      const std::vector<std::string> samples = readEpoch(**rest).samples;
      found.insert(found.end(), samples.begin(), samples.end());
    }
    EXPECT_EQ(std::multiset<std::string>(found.begin(), found.end()),
              std::multiset<std::string>(expected.begin(), expected.end()));
  }
}

TEST(RowChoice, SubstitutesAreRowsThatTakePart) {
  FakeFileSystem files;
  fillFolder(files, 12);
  files.addFile("/data/dog/d.jpg", "damaged"); // row 7
  Pipeline p = folderPipeline();
  p.plan.rows_kernel = p.kernel([](pst_kernel_args *args) -> int32_t {
    args->scalars[21] = args->scalars[8] == 1; // dogs: rows 6 to 11
    return 0;
  });
  p.plan.keep_slot = 21;
  p.plan.batch->size = 1;
  auto session = p.open(folderOptions(files));
  ASSERT_TRUE(session) << session.error().message;
  for (int epoch = 0; epoch < 20; ++epoch)
    readEpoch(**session);
  const std::vector<BadSample> bad = (*session)->badSamples();
  ASSERT_GE(bad.size(), 20u);
  for (const BadSample &sample : bad) {
    EXPECT_EQ(sample.row, 7);
    EXPECT_GE(sample.substitute, 6);
  }
}

TEST(RowChoice, SaysWhatCannotBe) {
  MemoryTable table(30);
  SessionOptions options = table.options();
  options.params = {{"every", int64_t(1000)}};
  EXPECT_EQ(choosing(plan::Order::shuffled, true, false).open(options).error().message,
            "`where` leaves none of 30 rows");
  table.values[7] = 99;
  EXPECT_EQ(choosing(plan::Order::weighted, false, true).open(table.options()).error().message,
            "row 7 has the weight -1.000000; weights are finite and not negative");
  EXPECT_EQ(memoryPipeline(plan::Order::weighted).open(table.options()).error().message,
            "damaged plan: plan 0 has weights without an order that uses them, or the reverse");
}

TEST(RowChoice, TablesThatAreTooLongAreRefused) {
  Pipeline p;
  plan::SourceT &source = Pipeline::add(p.plan.sources);
  source.kind = "synthetic";
  plan::ArgumentT &length = Pipeline::add(source.arguments);
  length.name = "length";
  length.type = DType::i64;
  length.integer = 1'000'000'000'000;
  plan::ColumnT &column = Pipeline::add(source.columns);
  column.name = "x";
  column.type = DType::i64;
  Pipeline::add(p.plan.rows);
  p.fieldSlot(0, 8);
  p.scalarOutput("x", DType::i64, 8);
  ASSERT_TRUE(p.open());
  p.plan.keep_slot = 8;
  EXPECT_EQ(p.open().error().message, "`where`, `weighted` and lengths look at all 1000000000000 "
                                      "rows of the table; the limit is 2^31");
}

TEST(RowChoice, ItsMemoryIsStated) {
  MemoryTable table(120);
  auto session = choosing(plan::Order::weighted, true, true).open(table.options());
  ASSERT_TRUE(session);
  uint64_t found = 0;
  const MemoryReport memory = (*session)->memory();
  for (const auto &[name, bytes] : memory.parts)
    if (name == "order")
      found = bytes;
  EXPECT_EQ(found, 16u * 40);
}

} // namespace

} // namespace penstock::test
