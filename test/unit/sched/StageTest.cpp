// SPDX-License-Identifier: Apache-2.0
//
// Features of some pipelines only: samples that read each other, branches, ragged
// outputs, other memory orders, temporaries of any size.
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/sched/Pipelines.h"

#include <algorithm>
#include <atomic>

namespace penstock::test {

namespace {

Pipeline settingUp(pst_kernel setup) {
  Pipeline p = valuePipeline();
  p.plan.setup = p.kernel(setup);
  return p;
}

SessionOptions valueOptions(const std::vector<int64_t> &values) {
  SessionOptions options;
  options.memory = {{"value", DType::i64, {int64_t(values.size())}, values.data(), nullptr}};
  options.threads = 3;
  return options;
}

template <typename T> T at(const OutputView &view, std::vector<int64_t> index) {
  const char *data = static_cast<const char *>(view.data);
  for (size_t i = 0; i < index.size(); ++i)
    data += index[i] * view.strides[i];
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

/// output[0] = the sum of all scalars and all inputs' first elements.
int32_t sumKernel(pst_kernel_args *args) {
  const int64_t inputs = args->scalars[0];
  int64_t sum = args->scalars[1];
  for (int64_t i = 0; i < inputs; ++i)
    sum += *static_cast<const int64_t *>(args->tensors[i].data);
  *static_cast<int64_t *>(args->tensors[inputs].data) = sum;
  return 0;
}

/// value -> temporary (value * 1) -> stage 1: own + the next sample's -> sum.
Pipeline peerPipeline(pst_kernel second = sumKernel) {
  Pipeline p = settingUp([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    s[9] = 0;
    s[10] = (s[PST_ENTRY_SLOT] + 1) % s[PST_ENTRY_COUNT];
    s[11] = 2;
    s[12] = 0;
    return 0;
  });
  const int temporary = p.buffer(plan::BufferKind::temporary, DType::i64, {1});
  const int out = p.output("sum", DType::i64, {1});
  p.step(p.kernel(sumKernel), {}, {temporary}, {9, 8});
  plan::StepT &later = p.step(p.kernel(second), {temporary, temporary}, {out}, {11, 12}, 1);
  later.inputs[1]->peer_slot = 10;
  p.plan.buffers[size_t(temporary)]->peer = true;
  return p;
}

/// output[0] = input[0] + 1; output[1] = where the input lies.
int32_t placeKernel(pst_kernel_args *args) {
  auto *in = static_cast<const int64_t *>(args->tensors[0].data);
  auto *out = static_cast<int64_t *>(args->tensors[1].data);
  const int64_t extent = args->tensors[1].extent[0];
  for (int64_t i = 0; i < extent; ++i)
    out[i] = 0;
  out[0] = in[0] + 1;
  out[1] = int64_t(reinterpret_cast<intptr_t>(in));
  return 0;
}

std::atomic<int> tableRuns, readerRuns;

/// output[0] = the scalar.
int32_t tableKernel(pst_kernel_args *args) {
  ++tableRuns;
  *static_cast<int64_t *>(args->tensors[0].data) = args->scalars[0];
  return 0;
}
/// output[0] = 10 * input[0] + the scalar.
int32_t readerKernel(pst_kernel_args *args) {
  ++readerRuns;
  *static_cast<int64_t *>(args->tensors[1].data) =
      10 * *static_cast<const int64_t *>(args->tensors[0].data) + args->scalars[0];
  return 0;
}

// A constant step is run until the same numbers have come twice. A sample that does not take its
// arm leaves its result alone; where its number changes, steps that read it are run again, too.
TEST(Stages, ConstantStepsRunOnceForAThread) {
  struct Case {
    std::vector<int64_t> values; ///< of the rows, and with them the first step's number
    int runs;                    ///< at least
  };
  for (const Case &wanted :
       {Case{{7, 7, 7, 7, 7, 7, 7, 7}, 2}, Case{{1, 2, 3, 4, 5, 6, 7, 8}, 8},
        Case{{1, 1, 1, 1, 2, 2, 2, 2}, 4}, Case{{1, 1, 0, 0, 1, 1, 0, 1}, 2}}) {
    Pipeline p = settingUp([](pst_kernel_args *args) -> int32_t {
      args->scalars[9] = 5; // what the second step adds
      args->scalars[10] = 1;
      args->scalars[11] = args->scalars[8] != 0;
      return 0;
    });
    const int table = p.buffer(plan::BufferKind::temporary, DType::i64, {1}),
              read = p.buffer(plan::BufferKind::temporary, DType::i64, {1}),
              out = p.output("y", DType::i64, {1});
    // A row of 0 has no table, and nothing is made of it.
    p.step(p.kernel(tableKernel), {}, {table}, {8}).guard = 11;
    p.step(p.kernel(readerKernel), {table}, {read}, {9}).guard = 11;
    p.step(p.kernel(sumKernel), {read}, {out}, {10, 9}).guard = 11;
    SessionOptions options = valueOptions(wanted.values);
    options.threads = 1;
    tableRuns = readerRuns = 0;
    auto session = p.open(options); // begins to work
    ASSERT_TRUE(session) << session.error().message;
    int64_t row = 0;
    for (int64_t seen = 0; seen < int64_t(wanted.values.size());) {
      auto batch = (*session)->next();
      ASSERT_TRUE(batch && *batch);
      const auto &y = (*batch)->outputs()[0];
      for (int64_t i = 0; i < (*batch)->count(); ++i, ++seen) {
        const int64_t value = wanted.values[size_t(row++)];
        if (value)
          EXPECT_EQ(at<int64_t>(y, {i, 0}), 10 * value + 10);
      }
    }
    // Samples of two batches may take turns, and those of the next epoch may have begun.
    if (wanted.runs == 2) {
      EXPECT_EQ(tableRuns, 2);
      EXPECT_EQ(readerRuns, 2);
    }
    EXPECT_GE(tableRuns, wanted.runs);
    EXPECT_GE(readerRuns, wanted.runs);
  }
}

// a -> b -> c -> out, where a and c share memory. The second one is larger.
TEST(Stages, BuffersOfOnePlaceShareMemory) {
  const std::vector<int64_t> values = {1, 20, 300, 4000}; // outlives the sessions
  for (const bool dynamic : {false, true}) {
    Pipeline p = settingUp([](pst_kernel_args *args) -> int32_t {
      args->scalars[9] = 0;
      args->scalars[10] = 40000;
      return 0;
    });
    auto temporary = [&](int64_t extent) {
      return p.buffer(plan::BufferKind::temporary, DType::i64, {extent});
    };
    const int a = temporary(2), b = temporary(2), c = temporary(40000);
    const int whereA = p.output("a", DType::i64, {2}), whereC = p.output("c", DType::i64, {2});
    if (dynamic) {
      p.plan.buffers[size_t(c)]->dims[0]->extent = -1;
      p.plan.buffers[size_t(c)]->dims[0]->slot = 10;
    }
    p.step(p.kernel(sumKernel), {}, {a}, {9, 8});
    p.step(p.kernel(placeKernel), {a}, {b});
    p.step(p.kernel(placeKernel), {a}, {whereA});
    p.step(p.kernel(placeKernel), {b}, {c});
    p.step(p.kernel(placeKernel), {c}, {whereC});
    const uint64_t apart = (*p.open(valueOptions(values)))->memory().fixed;
    p.plan.buffers[size_t(a)]->place = p.plan.buffers[size_t(c)]->place = 0;
    auto session = p.open(valueOptions(values));
    ASSERT_TRUE(session) << session.error().message;
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch);
    const auto &outputs = (*batch)->outputs();
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(at<int64_t>(outputs[1], {i, 0}), at<int64_t>(outputs[0], {i, 0}) + 2);
      if (!dynamic) {
        EXPECT_EQ(at<int64_t>(outputs[0], {i, 1}), at<int64_t>(outputs[1], {i, 1}));
      }
    }
    EXPECT_LE((*session)->memory().fixed + (dynamic ? 0 : 1), apart);
  }
}

TEST(Stages, SamplesReadEachOtherAfterABarrier) {
  const std::vector<int64_t> values = {1, 20, 300, 4000, 5, 60, 700, 8000};
  auto session = peerPipeline().open(valueOptions(values));
  ASSERT_TRUE(session) << session.error().message;
  for (int64_t b = 0; b < 2; ++b) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch);
    for (int64_t i = 0; i < 4; ++i) {
      EXPECT_EQ(at<int64_t>((*batch)->outputs()[0], {i, 0}),
                values[size_t(4 * b + i)] + values[size_t(4 * b + (i + 1) % 4)]);
      auto sample = (*session)->sample(0, 4 * b + i);
      ASSERT_TRUE(sample);
      EXPECT_EQ(sample->contentHash, (*batch)->contentHash(i));
    }
  }
}

TEST(Stages, AFailureInALaterStageGivesOneBatchWhateverTheThreads) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < 32; ++i)
    values.push_back(i);
  // Sums with own value 6 are refused.
  Pipeline p = peerPipeline([](pst_kernel_args *args) -> int32_t {
    if (*static_cast<const int64_t *>(args->tensors[0].data) == 6)
      return 1;
    return sumKernel(args);
  });
  p.plan.batch->size = 8;
  std::vector<std::string> first;
  for (int threads = 1; threads <= 4; ++threads) {
    SessionOptions options = valueOptions(values);
    options.threads = threads;
    auto session = p.open(options);
    ASSERT_TRUE(session);
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch) << batch.error().message;
    ASSERT_EQ((*session)->badSamples().size(), 1u);
    EXPECT_EQ((*session)->badSamples()[0].position, 6);
    const int64_t substitute = (*session)->badSamples()[0].substitute;
    EXPECT_EQ((*batch)->rows()[6], substitute);
    // The neighbour that read the refused sample reads its substitute.
    EXPECT_EQ(at<int64_t>((*batch)->outputs()[0], {5, 0}), 5 + substitute);
    EXPECT_EQ(at<int64_t>((*batch)->outputs()[0], {6, 0}), substitute + 7);
  }
}

/// output[0] = the sum of the first elements of all samples, plus how many there are
/// times a million.
int32_t sumOfAllKernel(pst_kernel_args *args) {
  const pst_tensor &all = args->tensors[0];
  int64_t sum = all.extent[0] * 1'000'000;
  for (int64_t i = 0; i < all.extent[0]; ++i)
    sum +=
        *reinterpret_cast<const int64_t *>(static_cast<const char *>(all.data) + i * all.stride[0]);
  *static_cast<int64_t *>(args->tensors[1].data) = sum;
  return 0;
}

std::atomic<int> runs{0};
int32_t countedSumKernel(pst_kernel_args *args) {
  ++runs;
  return sumOfAllKernel(args);
}
int32_t refusedKernel(pst_kernel_args *) { return 1; }

/// value -> temporary (value, twice) -> once for the batch: the sum of all -> that and the own
/// value.
Pipeline batchPipeline(pst_kernel once = countedSumKernel) {
  Pipeline p = settingUp([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    s[9] = s[11] = s[12] = 0;
    s[10] = 2;
    return 0;
  });
  const int own = p.buffer(plan::BufferKind::temporary, DType::i64, {2});
  const int shared = p.buffer(plan::BufferKind::temporary, DType::i64, {1});
  const int out = p.output("sum", DType::i64, {1});
  p.step(p.kernel(sumKernel), {}, {own}, {9, 8});
  plan::StepT &sum = p.step(p.kernel(once), {own}, {shared}, {}, 1);
  sum.inputs[0]->all = true;
  sum.once = true;
  p.plan.buffers[size_t(shared)]->once = true;
  p.plan.buffers[size_t(own)]->peer = true;
  p.step(p.kernel(sumKernel), {own, shared}, {out}, {10, 11}, 2);
  return p;
}

TEST(Stages, WhatAllSamplesShareIsComputedOnce) {
  const std::vector<int64_t> values = {1, 20, 300, 4000, 5, 60, 700, 8000, 9, 10};
  for (int threads = 1; threads <= 4; ++threads) {
    Pipeline p = batchPipeline();
    p.plan.batch->last = plan::Last::keep;
    SessionOptions options = valueOptions(values);
    options.threads = threads;
    options.prefetch = 1;
    auto session = p.open(options);
    ASSERT_TRUE(session) << session.error().message;
    runs = 0;
    for (int64_t b = 0; b < 3; ++b) {
      auto batch = (*session)->next();
      ASSERT_TRUE(batch && *batch);
      const int64_t count = b < 2 ? 4 : 2; // slots that a last batch lacks do not count
      int64_t sum = count * 1'000'000;
      for (int64_t i = 0; i < count; ++i)
        sum += values[size_t(4 * b + i)];
      for (int64_t i = 0; i < count; ++i) {
        EXPECT_EQ(at<int64_t>((*batch)->outputs()[0], {i, 0}), sum + values[size_t(4 * b + i)]);
        auto sample = (*session)->sample(0, 4 * b + i);
        ASSERT_TRUE(sample) << sample.error().message;
        EXPECT_EQ(sample->contentHash, (*batch)->contentHash(i));
      }
    }
    // Once for each of the batches, of which the next epoch's may have begun, and of the samples
    // alone.
    EXPECT_GE(runs, 3 + 10);
    EXPECT_LE(runs, 3 + 10 + 2);
  }
}

TEST(Stages, CodeForSoManySamplesSeesNoOthers) {
  const std::vector<int64_t> values = {1, 20, 300, 4000, 5, 60};
  Pipeline p = batchPipeline();
  p.plan.steps[1]->inputs[0]->count = 4;
  auto session = p.open(valueOptions(values));
  ASSERT_TRUE(session) << session.error().message;
  EXPECT_TRUE((*session)->sample(0, 3));
  auto sample = (*session)->sample(0, 4);
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().message,
            "position 4 is in a last batch of 2 samples, which is not delivered: there is "
            "nothing that its 4 samples would share");
}

TEST(Stages, NoOtherRowHelpsWhereTheBatchFails) {
  const std::vector<int64_t> values = {1, 20, 300, 4000};
  auto session = batchPipeline(refusedKernel).open(valueOptions(values));
  ASSERT_TRUE(session);
  auto batch = (*session)->next();
  ASSERT_FALSE(batch);
  EXPECT_EQ(batch.error().message, "the batch from position 0 cannot be made: check 1 failed");
  EXPECT_TRUE((*session)->badSamples().empty());
}

TEST(Stages, TheArmThatRanIsRead) {
  Pipeline p = settingUp([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    s[9] = 0;           // no inputs
    s[10] = s[8] % 2;   // arm
    s[11] = s[10] == 0; // guards
    s[12] = s[10] == 1;
    s[13] = s[8] * 10;
    s[14] = s[8] * 100;
    s[15] = 1;
    s[16] = 0;
    return 0;
  });
  const int even = p.buffer(plan::BufferKind::temporary, DType::i64, {1});
  const int odd = p.buffer(plan::BufferKind::temporary, DType::i64, {1});
  const int chosen = p.buffer(plan::BufferKind::alias, DType::i64, {1});
  p.plan.buffers[size_t(chosen)]->choices = {even, odd};
  p.plan.buffers[size_t(chosen)]->index_slot = 10;
  const int out = p.output("x", DType::i64, {1});
  const int sum = p.kernel(sumKernel);
  p.step(sum, {}, {even}, {9, 13}).guard = 11;
  p.step(sum, {}, {odd}, {9, 14}).guard = 12;
  p.step(sum, {chosen}, {out}, {15, 16});
  const std::vector<int64_t> values = {1, 2, 3, 4};
  auto session = p.open(valueOptions(values));
  ASSERT_TRUE(session) << session.error().message;
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  for (int64_t i = 0; i < 4; ++i)
    EXPECT_EQ(at<int64_t>((*batch)->outputs()[0], {i, 0}),
              values[size_t(i)] * (values[size_t(i)] % 2 ? 100 : 10));
  EXPECT_EQ((*session)->statistics()[Stage::Kernels].count, 8u);
}

TEST(Stages, RaggedOutputsAreMovedTogether) {
  Pipeline p = settingUp([](pst_kernel_args *args) -> int32_t {
    args->scalars[9] = args->scalars[8] % 4;
    return 0;
  });
  const int out = p.output("boxes", DType::i32, {3, 2});
  plan::OutputT &output = *p.plan.outputs[0];
  output.dims[1]->extent = -1;
  output.dims[1]->bound = 3;
  output.ragged_axis = 1;
  output.length_slot = 9;
  plan::DimT &dim = *p.plan.buffers[size_t(out)]->dims[0];
  dim.extent = -1;
  dim.slot = 9;
  dim.bound = 3;
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    const pst_tensor &to = args->tensors[0];
    for (int64_t k = 0; k < to.extent[0]; ++k)
      for (int64_t i = 0; i < 2; ++i) {
        const int32_t value = int32_t(args->scalars[0] * 100 + k * 10 + i);
        std::memcpy(static_cast<char *>(to.data) + k * to.stride[0] + i * to.stride[1], &value, 4);
      }
    return 0;
  }),
         {}, {out}, {8});
  const std::vector<int64_t> values = {2, 0, 3, 1};
  auto session = p.open(valueOptions(values));
  ASSERT_TRUE(session) << session.error().message;
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch) << batch.error().message;
  const OutputView &view = (*batch)->outputs()[0];
  EXPECT_EQ(view.axes, (std::vector<std::string>{"n", "b"}));
  EXPECT_EQ(view.shape, (std::vector<int64_t>{6, 2}));
  EXPECT_EQ(std::vector<int64_t>(view.offsets, view.offsets + 5),
            (std::vector<int64_t>{0, 2, 2, 5, 6}));
  int64_t row = 0;
  for (int64_t value : values)
    for (int64_t k = 0; k < value; ++k, ++row)
      for (int64_t i = 0; i < 2; ++i)
        EXPECT_EQ(at<int32_t>(view, {row, i}), value * 100 + k * 10 + i);
  for (int64_t i = 0; i < 4; ++i) {
    auto sample = (*session)->sample(0, i);
    ASSERT_TRUE(sample);
    EXPECT_EQ(sample->contentHash, (*batch)->contentHash(i));
    EXPECT_EQ(sample->outputs[0].shape, (std::vector<int64_t>{values[size_t(i)], 2}));
    EXPECT_EQ(sample->outputs[0].axes, (std::vector<std::string>{"a", "b"}));
  }
}

TEST(Stages, WhatASmallerSampleLeavesUnwrittenIsZero) {
  Pipeline p = settingUp([](pst_kernel_args *args) -> int32_t {
    args->scalars[9] = args->scalars[8] % 4;
    return 0;
  });
  const int out = p.output("part", DType::i32, {3});
  p.plan.outputs[0]->dims[1]->extent = -1;
  p.plan.outputs[0]->dims[1]->bound = 3;
  plan::DimT &dim = *p.plan.buffers[size_t(out)]->dims[0];
  dim.extent = -1;
  dim.slot = 9;
  dim.bound = 3;
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    const pst_tensor &to = args->tensors[0];
    for (int64_t k = 0; k < to.extent[0]; ++k)
      std::memcpy(static_cast<char *>(to.data) + k * to.stride[0], &args->scalars[0], 4);
    return 0;
  }),
         {}, {out}, {8});
  // Enough batches that the memory of the first ones, all full, is used again.
  std::vector<int64_t> values(32, 3);
  values.resize(64, 1);
  auto session = p.open(valueOptions(values));
  ASSERT_TRUE(session) << session.error().message;
  for (int64_t number = 0; number < 16; ++number) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch);
    for (int64_t slot = 0; slot < 4; ++slot)
      for (int64_t k = 0; k < 3; ++k) {
        const int64_t value = values[size_t(number * 4 + slot)];
        EXPECT_EQ(at<int32_t>((*batch)->outputs()[0], {slot, k}), k < value ? value : 0);
      }
  }
}

TEST(Stages, ALengthOverItsBoundIsABadSample) {
  Pipeline p = settingUp([](pst_kernel_args *) -> int32_t { return 0; });
  const int out = p.output("boxes", DType::i32, {3});
  p.plan.outputs[0]->dims[1]->extent = -1;
  p.plan.outputs[0]->dims[1]->bound = 3;
  p.plan.outputs[0]->ragged_axis = 1;
  p.plan.outputs[0]->length_slot = 8;
  plan::BufferT &buffer = *p.plan.buffers[size_t(out)];
  buffer.dims[0]->extent = -1;
  buffer.dims[0]->slot = 8;
  buffer.dims[0]->bound = 3;
  buffer.axes = {"a"};
  p.step(p.kernel([](pst_kernel_args *) -> int32_t { return 0; }), {}, {out});
  const std::vector<int64_t> values = {1, 2, 7, -2};
  SessionOptions options = valueOptions(values);
  options.substitute = 1;
  auto session = p.open(options);
  ASSERT_TRUE(session);
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch) << batch.error().message;
  std::vector<std::string> reasons;
  for (const BadSample &bad : (*session)->badSamples())
    reasons.push_back(bad.reason);
  EXPECT_NE(std::find(reasons.begin(), reasons.end(), "axis `a` has 7 elements, its bound is 3"),
            reasons.end());
  EXPECT_NE(std::find(reasons.begin(), reasons.end(), "axis `a` has -2 elements, its bound is 3"),
            reasons.end());
}

TEST(Stages, OutputsLieInTheStoredOrder) {
  Pipeline p = settingUp([](pst_kernel_args *) -> int32_t { return 0; });
  const int out = p.output("x", DType::i32, {2, 3});
  p.plan.outputs[0]->stored = {"b", "n", "a"};
  // Kernels see their outputs in memory order.
  p.plan.buffers[size_t(out)]->dims[0]->extent = 3;
  p.plan.buffers[size_t(out)]->dims[1]->extent = 2;
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    const pst_tensor &to = args->tensors[0];
    for (int64_t a = 0; a < 2; ++a)
      for (int64_t b = 0; b < 3; ++b) {
        const int32_t value = int32_t(args->scalars[0] * 100 + a * 10 + b);
        std::memcpy(static_cast<char *>(to.data) + b * to.stride[0] + a * to.stride[1], &value, 4);
      }
    return 0;
  }),
         {}, {out}, {8});
  p.plan.batch->last = plan::Last::keep;
  const std::vector<int64_t> values = {1, 2, 3, 4, 5, 6};
  auto session = p.open(valueOptions(values));
  ASSERT_TRUE(session) << session.error().message;
  for (int64_t count : {4, 2}) {
    auto batch = (*session)->next();
    ASSERT_TRUE(batch && *batch);
    const OutputView &view = (*batch)->outputs()[0];
    EXPECT_EQ(view.shape, (std::vector<int64_t>{count, 2, 3}));
    EXPECT_EQ(view.strides, (std::vector<int64_t>{8, 4, 8 * count}));
    for (int64_t n = 0; n < count; ++n) {
      const int64_t value = (*batch)->positions()[size_t(n)] + 1;
      for (int64_t a = 0; a < 2; ++a)
        for (int64_t b = 0; b < 3; ++b)
          EXPECT_EQ(at<int32_t>(view, {n, a, b}), value * 100 + a * 10 + b);
      auto sample = (*session)->sample(0, value - 1); // in a block of its own
      ASSERT_TRUE(sample);
      EXPECT_EQ(sample->contentHash, (*batch)->contentHash(n));
    }
  }
}

TEST(Stages, ASampleOverItsMemoryIsABadSample) {
  Pipeline p = settingUp([](pst_kernel_args *) -> int32_t { return 0; });
  const int temporary = p.buffer(plan::BufferKind::temporary, DType::u8, {-1});
  p.plan.buffers[size_t(temporary)]->dims[0]->slot = 8;
  p.scalarOutput("value", DType::i64, 8);
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    std::memset(args->tensors[0].data, 1, size_t(args->tensors[0].extent[0]));
    return 0;
  }),
         {}, {temporary});
  std::vector<int64_t> values(16, 1000);
  values[2] = 5 << 20;        // needs more than a thread's share is kept
  values[9] = (16 << 20) + 1; // too large
  SessionOptions options = valueOptions(values);
  options.sampleMemory = 16 << 20;
  auto session = p.open(options);
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->memory().perSampleLimit, 16u << 20);
  Epoch read = readEpoch(**session);
  EXPECT_EQ(read.error, "");
  ASSERT_EQ((*session)->badSamples().size(), 1u);
  EXPECT_EQ((*session)->badSamples()[0].row, 9);
  EXPECT_EQ((*session)->badSamples()[0].reason,
            "a temporary needs 16777217 bytes, more than a sample may take");
}

// Bytes that were in the buffer before are not delivered.
TEST(Stages, ACodecIsAStep) {
  Pipeline p = settingUp([](pst_kernel_args *) -> int32_t { return 0; });
  const int image = p.buffer(plan::BufferKind::temporary, DType::u8, {9, 10, 3});
  const int file = p.buffer(plan::BufferKind::temporary, DType::u8, {4000});
  const int count = p.buffer(plan::BufferKind::temporary, DType::i64, {});
  const int out = p.output("file", DType::u8, {4000});
  const int size = p.output("size", DType::i64, {});
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    auto *pixels = static_cast<uint8_t *>(args->tensors[0].data);
    for (int i = 0; i < 9 * 10 * 3; ++i)
      pixels[i] = uint8_t(i * 7);
    std::memset(args->tensors[1].data, 0xEE, 4000);
    return 0;
  }),
         {}, {image, file});
  p.step(0, {image}, {file, count}, {8}).codec = plan::Codec::jpeg;
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    std::memcpy(args->tensors[2].data, args->tensors[0].data, 4000);
    std::memcpy(args->tensors[3].data, args->tensors[1].data, 8);
    return 0;
  }),
         {file, count}, {out, size});
  std::vector<int64_t> qualities(8, 80);
  qualities[5] = 101;
  auto session = p.open(valueOptions(qualities));
  ASSERT_TRUE(session) << session.error().message;
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  std::vector<uint8_t> pixels(9 * 10 * 3);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = uint8_t(i * 7);
  JpegRecipe recipe;
  recipe.quality = 80;
  recipe.factors[0] = {2, 2};
  std::vector<uint8_t> wanted = encodeJpeg(recipe, 10, 9, pixels);
  const auto bytes = int64_t(wanted.size());
  wanted.resize(4000); // zeros
  EXPECT_EQ(std::memcmp((*batch)->outputs()[0].data, wanted.data(), 4000), 0);
  EXPECT_EQ(std::memcmp((*batch)->outputs()[1].data, &bytes, 8), 0);
  EXPECT_EQ(readEpoch(**session).error, "");
  ASSERT_EQ((*session)->badSamples().size(), 1u);
  EXPECT_EQ((*session)->badSamples()[0].reason, "a JPEG quality is 1 to 100, and this is 101");
}

TEST(Stages, APickedRowHasSubstitutesOfItsOwn) {
  // Row 1 is picked as (position + 1) mod 3; its value must be below 100.
  Pipeline p =
      settingUp([](pst_kernel_args *args) -> int32_t { return args->scalars[10] >= 100 ? 1 : 0; });
  plan::RowT &picked = Pipeline::add(p.plan.rows);
  picked.slot = 9;
  picked.group = 1;
  p.plan.select = p.kernel([](pst_kernel_args *args) -> int32_t {
    args->scalars[9] = args->scalars[PST_ENTRY_POSITION] + 1; // clamped to the table
    return 0;
  });
  p.fieldSlot(0, 10);
  p.plan.fields[1]->row = 1;
  p.scalarOutput("own", DType::i64, 8);
  p.scalarOutput("other", DType::i64, 10);
  const std::vector<int64_t> values = {1, 2, 3, 4};
  auto session = p.open(valueOptions(values));
  ASSERT_TRUE(session) << session.error().message;
  auto batch = (*session)->next();
  ASSERT_TRUE(batch && *batch);
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(at<int64_t>((*batch)->outputs()[0], {i}), i + 1);
    EXPECT_EQ(at<int64_t>((*batch)->outputs()[1], {i}), std::min<int64_t>(i + 2, 4));
  }
}

TEST(Stages, TheBatchSizeMayBeComputed) {
  Pipeline p = settingUp([](pst_kernel_args *) -> int32_t { return 0; });
  p.param("pairs", DType::i64);
  p.plan.params[0]->integer = 1;
  p.plan.params[0]->slot = 20;
  p.plan.select = p.kernel([](pst_kernel_args *args) -> int32_t {
    args->scalars[21] = 2 * args->scalars[20];
    return 0;
  });
  p.plan.batch->size = -1;
  p.plan.batch->size_slot = 21;
  p.scalarOutput("value", DType::f16, 8);
  const std::vector<int64_t> values(12, 3);
  SessionOptions options = valueOptions(values);
  auto session = p.open(options);
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->batchSize(), 2);
  options.params = {{"pairs", int64_t(3)}};
  session = p.open(options);
  ASSERT_TRUE(session);
  EXPECT_EQ((*session)->batchSize(), 6);
  options.params = {{"pairs", int64_t(0)}};
  session = p.open(options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().message, "the batch has 0 samples; it needs at least 1");
  options.params = {{"pairs", int64_t(1) << 40}};
  session = p.open(options);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().message,
            "the batch has 2199023255552 samples; it may have at most 4294967296");
}

} // namespace

} // namespace penstock::test
