// SPDX-License-Identifier: Apache-2.0
#include "runtime/sched/Tables.h"
#include "test/unit/sched/Pipelines.h"

#include <set>

namespace penstock::test {

namespace {

/// synthetic(10^12, label = 3 .. 10, wave = f32[k <= 5])
Pipeline syntheticPipeline() {
  Pipeline p;
  plan::SourceT &source = Pipeline::add(p.plan.sources);
  source.kind = "synthetic";
  auto argument = [&](const char *name, int64_t value) {
    plan::ArgumentT &a = Pipeline::add(source.arguments);
    a.name = name;
    a.type = DType::i64;
    a.integer = value;
  };
  argument("length", 1'000'000'000'000);
  argument("label.low", 3);
  argument("label.end", 10);
  plan::ColumnT &label = Pipeline::add(source.columns);
  label.name = "label";
  label.type = DType::i64;
  plan::ColumnT &wave = Pipeline::add(source.columns);
  wave.name = "wave";
  wave.type = DType::f32;
  plan::DimT &dim = Pipeline::add(wave.dims);
  dim.bound = 5;
  Pipeline::add(p.plan.rows);
  p.plan.order = plan::Order::shuffled;
  p.fieldSlot(0, 8);
  p.fieldSlot(1, 9);
  p.plan.fields[1]->axis = 0;
  p.scalarOutput("label", DType::i64, 8);
  p.scalarOutput("count", DType::i64, 9);
  return p;
}

TEST(Tables, SyntheticRowsKeepToTheirRanges) {
  auto session = syntheticPipeline().open();
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_EQ((*session)->tableLength(), 1'000'000'000'000);
  std::set<int64_t> labels, counts;
  for (int i = 0; i < 100; ++i) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch);
    for (int64_t slot = 0; slot < 4; ++slot) {
      labels.insert(static_cast<const int64_t *>((*batch)->outputs()[0].data)[slot]);
      counts.insert(static_cast<const int64_t *>((*batch)->outputs()[1].data)[slot]);
    }
  }
  EXPECT_EQ(labels, (std::set<int64_t>{3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(counts, (std::set<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_TRUE((*session)->sample(0, 999'999'999'999));
}

TEST(Tables, RowsAtTheEndOfMemoryMayBeReadBeyond) {
  // The last rows lie in copies that have readable bytes behind them.
  MemoryTable table(100);
  Pipeline pipeline = memoryPipeline();
  auto plan = Plan::make(pipeline.plan);
  ASSERT_TRUE(plan);
  auto tables = Tables::open((*plan)->contents(), {}, table.options());
  ASSERT_TRUE(tables) << tables.error().message;
  int64_t copied = 0;
  for (int64_t row = 0; row < 100; ++row) {
    Buffer scratch;
    pst_tensor tensor{};
    ASSERT_TRUE((*tables)->tensor(0, row, 1, scratch, tensor));
    EXPECT_EQ(*static_cast<const uint8_t *>(tensor.data), uint8_t(row * 7));
    EXPECT_EQ(tensor.extent[0], 3);
    EXPECT_EQ(tensor.stride[0], 1);
    if (tensor.data == scratch.data())
      ++copied;
    else
      EXPECT_LE(static_cast<const uint8_t *>(tensor.data) + 3 + 64,
                table.pixels.data() + table.pixels.size());
  }
  EXPECT_EQ(copied, 22); // 64 bytes are 21.3 rows of 3
}

TEST(Tables, WhatFollowsAPartIsNotBehindIt) {
  MemoryTable table(100);
  Pipeline pipeline = memoryPipeline();
  plan::SourceT &whole = Pipeline::add(pipeline.plan.sources);
  whole.kind = "concat";
  whole.parts = {0, 0};
  for (const auto &column : pipeline.plan.sources[0]->columns)
    whole.columns.push_back(std::make_unique<plan::ColumnT>(*column));
  auto plan = Plan::make(pipeline.plan);
  ASSERT_TRUE(plan) << plan.error().message;
  auto tables = Tables::open((*plan)->contents(), {}, table.options());
  ASSERT_TRUE(tables) << tables.error().message;
  ASSERT_EQ((*tables)->length(1), 200);
  int64_t copied = 0;
  for (int64_t row = 0; row < 200; ++row) {
    Buffer scratch;
    pst_tensor tensor{};
    ASSERT_TRUE((*tables)->tensor(1, row, 1, scratch, tensor));
    EXPECT_EQ(*static_cast<const uint8_t *>(tensor.data), uint8_t(row % 100 * 7));
    copied += tensor.data == scratch.data();
  }
  EXPECT_EQ(copied, 2 * 22); // at the end of either
  EXPECT_EQ((*tables)->name(1, 150), "row 150");
}

} // namespace

} // namespace penstock::test
