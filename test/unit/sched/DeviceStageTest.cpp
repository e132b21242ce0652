// SPDX-License-Identifier: Apache-2.0
//
// The last stage of a batch on a simulated GPU. Samples are the host's, whatever the pace, and
// whatever fails.
#include "test/unit/runtime/JpegFiles.h"
#include "test/unit/sched/DevicePipeline.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cstring>
#include <thread>

namespace penstock::test {

namespace {

using testing::HasSubstr;

std::vector<std::string> twoEpochs(Session &session, std::string *error = nullptr) {
  std::vector<std::string> all;
  for (int i = 0; i < 2; ++i) {
    Epoch epoch = readEpoch(session);
    all.insert(all.end(), epoch.samples.begin(), epoch.samples.end());
    if (error && error->empty())
      *error = epoch.error;
  }
  return all;
}

/// Both deliver the same, at any pace of the device, and nothing is left.
void expectTheHostsSamples(const Pipeline &pipeline, const SessionOptions &options, int seeds = 20,
                           size_t first = 0, pst_kernel planes = nullptr) {
  auto host = pipeline.open(options);
  ASSERT_TRUE(host) << host.error().message;
  const std::vector<std::string> expected = twoEpochs(**host);
  ASSERT_GT(expected.size(), 4u);
  const std::vector<BadSample> bad = (*host)->badSamples();
  for (int seed = 0; seed < 2 * seeds; ++seed) {
    DevicePipeline onDevice(pipeline, first, seed >= seeds, seed % 2);
    if (seed % 4 == 3)
      onDevice.chainSteps();
    if (planes)
      onDevice.crossAsPlanes(planes);
    FakeDriver driver(onDevice.driver(uint64_t(seed)));
    {
      SessionOptions wanted = options;
      wanted.prefetch = 1 + seed % 4;
      auto session = onDevice.open(driver, wanted);
      ASSERT_TRUE(session) << session.error().message;
      std::string error;
      ASSERT_EQ(twoEpochs(**session, &error), expected) << "seed " << seed << ": " << error;
      const std::vector<BadSample> found = (*session)->badSamples();
      ASSERT_EQ(found.size(), bad.size());
      for (size_t i = 0; i < bad.size(); ++i) {
        EXPECT_EQ(found[i].reason, bad[i].reason);
        EXPECT_EQ(found[i].substitute, bad[i].substitute);
      }
      auto sample = (*session)->sample(1, 2);
      ASSERT_TRUE(sample) << sample.error().message;
      EXPECT_EQ(sample->contentHash, (*host)->sample(1, 2)->contentHash);
    }
    ASSERT_EQ(driver.fault(), "");
    ASSERT_EQ(driver.left(), "");
  }
}

/// A check that some rows of memoryPipeline() fail, by their pixels.
Pipeline failingPipeline() {
  Pipeline p = memoryPipeline();
  p.plan.substitute = 0.9;
  plan::CheckT &check = Pipeline::add(p.plan.checks);
  check.id = 4;
  check.message = "the pixel is {0}";
  check.file = "test.pipe";
  p.code[size_t(p.plan.steps[0]->kernel)] = [](pst_kernel_args *args) -> int32_t {
    auto *from = static_cast<const uint8_t *>(args->tensors[0].data);
    auto *to = static_cast<char *>(args->tensors[1].data);
    if (from[0] % 3 == 1) {
      args->failure[0] = from[0];
      return 4;
    }
    const int32_t element = int32_t(from[0]) + int32_t(args->scalars[0]);
    for (int i = 0; i < 3; ++i)
      std::memcpy(to + 4 * i, &element, 4);
    return 0;
  };
  return p;
}

/// Twice a sample's value, those of the next one, and their sum over the batch, once.
Pipeline joinedPipeline() {
  Pipeline p = memoryPipeline(plan::Order::sequential);
  p.plan.setup = p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    s[9] = 0;
    s[10] = (s[PST_ENTRY_SLOT] + 1) % s[PST_ENTRY_COUNT];
    return 0;
  });
  const int twice = p.buffer(plan::BufferKind::temporary, DType::i64, {1});
  const int total = p.buffer(plan::BufferKind::temporary, DType::i64, {1});
  const int next = p.output("next", DType::i64, {1}), whole = p.output("whole", DType::i64, {1});
  p.plan.buffers[size_t(twice)]->peer = true;
  p.plan.buffers[size_t(total)]->once = true;
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    *static_cast<int64_t *>(args->tensors[0].data) = 2 * args->scalars[0];
    return 0;
  }),
         {}, {twice}, {8});
  const auto copy = [](pst_kernel_args *args) -> int32_t {
    std::memcpy(args->tensors[1].data, args->tensors[0].data, 8);
    return 0;
  };
  p.step(p.kernel(copy), {twice}, {next}, {}, 1).inputs[0]->peer_slot = 10;
  plan::StepT &sum = p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t all = 0;
    for (int64_t i = 0; i < args->tensors[0].extent[0]; ++i)
      all += *reinterpret_cast<const int64_t *>(static_cast<const char *>(args->tensors[0].data) +
                                                i * args->tensors[0].stride[0]);
    *static_cast<int64_t *>(args->tensors[1].data) = all;
    return 0;
  }),
                            {twice}, {total}, {}, 1);
  sum.inputs[0]->all = true;
  sum.once = true;
  p.step(p.kernel(copy), {total}, {whole}, {}, 2);
  return p;
}

/// Six multiples of a sample's value, of which as many count as one step or another finds: more
/// than five are too many.
Pipeline countedPipeline() {
  Pipeline p = memoryPipeline();
  p.plan.substitute = 0.9;
  plan::CheckT &check = Pipeline::add(p.plan.checks);
  check.id = 5;
  check.message = "there are {0} values, more than {1}";
  check.file = "test.pipe";
  p.plan.setup = p.kernel([](pst_kernel_args *args) -> int32_t {
    args->scalars[9] = args->scalars[8] / 2 % 2;
    return 0;
  });
  const auto count = [&](pst_kernel function) {
    const int number = p.buffer(plan::BufferKind::temporary, DType::i64, {});
    p.step(p.kernel(function), {}, {number}, {8});
    return number;
  };
  const int first = count([](pst_kernel_args *args) -> int32_t {
    *static_cast<int64_t *>(args->tensors[0].data) = args->scalars[0] % 7;
    return 0;
  });
  const int second = count([](pst_kernel_args *args) -> int32_t {
    *static_cast<int64_t *>(args->tensors[0].data) = args->scalars[0] % 4;
    return 0;
  });
  const int chosen = p.buffer(plan::BufferKind::alias, DType::i64, {});
  p.plan.buffers[size_t(chosen)]->choices = {first, second};
  p.plan.buffers[size_t(chosen)]->index_slot = 9;
  const int out = p.output("values", DType::i64, {6});
  plan::OutputT &values = *p.plan.outputs.back();
  values.ragged_axis = 1;
  values.length_slot = 8;
  values.dims[1]->bound = 6;
  plan::CountT &found = Pipeline::add(values.counts);
  found.buffer = chosen;
  found.limit = 5;
  found.check = 5;
  found.is_length = true;
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    for (int64_t i = 0; i < 6; ++i)
      static_cast<int64_t *>(args->tensors[0].data)[i] = args->scalars[0] * i;
    return 0;
  }),
         {}, {out}, {8});
  const int negated = p.output("negated", DType::i64, {6}); // of what is an output, too
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    for (int64_t i = 0; i < 6; ++i)
      static_cast<int64_t *>(args->tensors[1].data)[i] =
          -static_cast<int64_t *>(args->tensors[0].data)[i];
    return 0;
  }),
         {out}, {negated});
  return p;
}

TEST(DeviceStage, FieldsCross) {
  const MemoryTable table(37);
  SessionOptions options = table.options();
  options.last = LastBatch::Keep;
  expectTheHostsSamples(memoryPipeline(), options);
}

TEST(DeviceStage, RegionsOfPicturesCross) {
  FakeFileSystem files;
  fillFolder(files, 11);
  expectTheHostsSamples(folderPipeline(), folderOptions(files), 8);
}

/// Pixels of planes, as libjpeg makes them.
int32_t pixelsOfPlanes(pst_kernel_args *args) {
  const pst_tensor *planes = args->tensors, &out = planes[3];
  const int64_t *phase = args->scalars, *halved = args->scalars + 2;
  auto at = [](const pst_tensor &plane, int64_t y, int64_t x) {
    y = std::clamp<int64_t>(y, 0, plane.extent[0] - 1);
    x = std::clamp<int64_t>(x, 0, plane.extent[1] - 1);
    return int(static_cast<const uint8_t *>(plane.data)[y * plane.stride[0] + x]);
  };
  auto chroma = [&](const pst_tensor &plane, int64_t y, int64_t x) {
    y += phase[0], x += phase[1];
    auto beside = [](int64_t i) { return i / 2 + (i % 2 ? 1 : -1); };
    if (!halved[0] && !halved[1])
      return at(plane, y, x) - 128;
    if (!halved[0])
      return ((3 * at(plane, y, x / 2) + at(plane, y, beside(x)) + (x % 2 ? 2 : 1)) >> 2) - 128;
    auto sum = [&](int64_t column) {
      return 3 * at(plane, y / 2, column) + at(plane, beside(y), column);
    };
    if (!halved[1])
      return ((sum(x) + (y % 2 ? 2 : 1)) >> 2) - 128;
    return ((3 * sum(x / 2) + sum(beside(x)) + (x % 2 ? 7 : 8)) >> 4) - 128;
  };
  for (int64_t y = 0; y < out.extent[0]; ++y)
    for (int64_t x = 0; x < out.extent[1]; ++x) {
      const int light = at(planes[0], y, x);
      const int blue = chroma(planes[1], y, x), red = chroma(planes[2], y, x);
      auto *pixel = static_cast<uint8_t *>(out.data) + y * out.stride[0] + x * out.stride[1];
      auto put = [&](int sum) {
        *pixel++ = uint8_t(std::clamp(light + ((sum + 32768) >> 16), 0, 255));
      };
      put(91881 * red);
      put(-22554 * blue - 46802 * red);
      put(116130 * blue);
    }
  return 0;
}

/// Photos of all samplings, beside files that have no planes, and some that are cut off.
TEST(DeviceStage, PlanesCross) {
  FakeFileSystem files;
  fillFolder(files, 4);
  std::mt19937 random(5);
  for (const auto &[name, across, down] :
       {std::tuple("420", 2, 2), {"422", 2, 1}, {"440", 1, 2}, {"444", 1, 1}, {"411", 4, 1}})
    for (int i = 0; i < 3; ++i) {
      const JpegRecipe recipe{.name = name, .factors = {{{across, down}, {1, 1}, {1, 1}}}};
      files.addFile("/data/dog/" + recipe.name + char('a' + i) + ".jpg",
                    randomJpeg(recipe, 30 + 7 * i, 41 - i, random));
    }
  auto cut = randomJpeg({.name = "420", .factors = {{{2, 2}, {1, 1}, {1, 1}}}}, 60, 60, random);
  cut.resize(cut.size() * 2 / 3);
  // Several, some of whose substitutes have no planes.
  for (const char *name : {"one", "two", "three", "four", "five", "six"})
    files.addFile("/data/cat/" + std::string(name) + ".jpg", cut);
  Pipeline p = folderPipeline();
  p.plan.substitute = 0.9;
  p.plan.steps[0]->scalars = {11, 12, 13, 14};
  // Of all pixels of the region, so that none may be wrong.
  p.code[size_t(p.plan.steps[0]->kernel)] = [](pst_kernel_args *args) -> int32_t {
    const pst_tensor &in = args->tensors[0];
    auto *to = static_cast<uint8_t *>(args->tensors[1].data);
    for (int64_t c = 0; c < 3; ++c) {
      uint32_t sum = 1;
      for (int64_t y = args->scalars[0]; y < args->scalars[2]; ++y)
        for (int64_t x = args->scalars[1]; x < args->scalars[3]; ++x)
          sum = sum * 31 + static_cast<const uint8_t *>(
                               in.data)[y * in.stride[0] + x * in.stride[1] + c * in.stride[2]];
      to[c] = uint8_t(sum >> 24);
    }
    return 0;
  };
  expectTheHostsSamples(p, folderOptions(files), 8, 0, pixelsOfPlanes);
}

TEST(DeviceStage, BadSamplesGetTheHostsSubstitutes) {
  const MemoryTable table(40);
  expectTheHostsSamples(failingPipeline(), table.options());
}

TEST(DeviceStage, SamplesReadEachOther) {
  const MemoryTable table(23);
  SessionOptions options = table.options();
  options.last = LastBatch::Keep;
  // The values that they read were made by the device, or by the host.
  for (size_t first : {0, 1, 2, 4})
    expectTheHostsSamples(joinedPipeline(), options, 8, first);
}

TEST(DeviceStage, NumbersOfElementsAreTheHostsOrTheDevices) {
  const MemoryTable table(40);
  // Step 0 is memoryPipeline()'s; the first number is the host's from 2 on, both are from 3 on.
  for (size_t first : {0, 1, 2, 3})
    expectTheHostsSamples(countedPipeline(), table.options(), 8, first);
}

/// Values by way of others, some of which share memory, or run for some samples alone: each step's
/// function is of what it reads and the sample's value.
Pipeline chainedPipeline() {
  Pipeline p = memoryPipeline();
  p.plan.setup = p.kernel([](pst_kernel_args *args) -> int32_t {
    args->scalars[9] = args->scalars[8] % 2;
    return 0;
  });
  const auto temporary = [&](int place) {
    const int number = p.buffer(plan::BufferKind::temporary, DType::i64, {1});
    p.plan.buffers[size_t(number)]->place = place;
    return number;
  };
  const auto step = [&](int from, int to) -> plan::StepT & {
    return p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
      const auto from = *static_cast<const int64_t *>(args->tensors[0].data);
      *static_cast<int64_t *>(args->tensors[1].data) = 3 * from + args->scalars[0];
      return 0;
    }),
                  {from}, {to}, {8});
  };
  const auto source = [&](int to) {
    p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
      *static_cast<int64_t *>(args->tensors[0].data) = args->scalars[0];
      return 0;
    }),
           {}, {to}, {8});
  };
  const int begin = temporary(0), one = temporary(1), other = temporary(2), last = temporary(0);
  source(begin);
  step(begin, one);
  step(one, other);
  step(one, last); // where `begin` was
  const int again = temporary(1);
  source(again); // where `one` was: nothing but what still reads that has to be waited for
  step(again, p.output("again", DType::i64, {1}));
  const int odd = temporary(1);
  step(other, odd).guard = 9; // where `one` was
  const int chosen = p.buffer(plan::BufferKind::alias, DType::i64, {1});
  p.plan.buffers[size_t(chosen)]->choices = {last, odd};
  p.plan.buffers[size_t(chosen)]->index_slot = 9;
  step(chosen, p.output("chosen", DType::i64, {1}));
  step(last, p.output("last", DType::i64, {1}));
  return p;
}

TEST(DeviceStage, APlanJoinsNoStepsThatCannotBeOneLaunch) {
  struct Fault {
    const char *finding;
    void (*make)(plan::PlanT &);
  };
  const Fault faults[] = {
      {"join 0 has no name on the device", [](auto &p) { p.joins[0]->name.clear(); }},
      {"join 0 has blocks of 33 threads", [](auto &p) { p.joins[0]->threads = 33; }},
      {"join 0 asks for 2097152 bytes of shared memory",
       [](auto &p) { p.joins[0]->shared = 1 << 21; }},
      {"step 1 names join 7 of 1", [](auto &p) { p.steps[1]->join = 7; }},
      {"step 3 cannot be launched with others", [](auto &p) { p.steps[2]->join = -1; }},
      {"step 0 has other blocks than what it is launched with",
       [](auto &p) { p.joins[0]->threads = 64; }},
      {"step 0 has other blocks than what it is launched with",
       [](auto &p) { p.kernels[size_t(p.steps[0]->kernel)]->device->shared = 8; }},
      {"step 2 reads other samples, and is launched with others",
       [](auto &p) { p.steps[2]->inputs[0]->peer_slot = 8; }},
  };
  for (const Fault &fault : faults) {
    DevicePipeline device(chainedPipeline(), 0, false, true);
    ASSERT_TRUE(Plan::make(device.pipeline.plan));
    fault.make(device.pipeline.plan);
    auto plan = Plan::make(device.pipeline.plan);
    ASSERT_FALSE(plan) << fault.finding;
    EXPECT_EQ(plan.error().message, std::string("damaged plan: ") + fault.finding);
  }
}

TEST(DeviceStage, APlanHasNoChainsThatCannotBe) {
  struct Fault {
    const char *finding;
    void (*make)(plan::PlanT &);
  };
  static const auto kernelOf = [](plan::PlanT &p, size_t step) -> plan::DeviceKernelT & {
    return *p.kernels[size_t(p.steps[step]->kernel)]->device;
  };
  const Fault faults[] = {
      {"join 0 has 2000 chains of 30 steps", [](auto &p) { p.joins[0]->chains = 2000; }},
      {"join 0 has 1 chains of 0 steps", [](auto &p) { p.joins[0]->room = 0; }},
      {"join 0 has room for 26 steps of a chain that has 10",
       [](auto &p) { p.joins[0]->room = 26; }},
      {"step 2 is of no chain, or of several", [](auto &p) { p.steps[2]->chain = -1; }},
      {"step 2 is of no chain, or of several", [](auto &p) { p.steps[2]->parts = 1; }},
      {"step 2 is of chain 1 and has 0 parts, of 1 chains", [](auto &p) { p.steps[2]->chain = 1; }},
      {"step 2 is of chain -1 and has 2 parts, of 1 chains",
       [](auto &p) { p.steps[2]->chain = -1, p.steps[2]->parts = 2; }},
      {"step 0 is of no chain, or of several",
       [](auto &p) { p.joins[0]->chains = p.joins[0]->room = 0; }},
      {"step 2 holds buffer 2, which is no picture of known size",
       [](auto &p) { kernelOf(p, 2).held = {0}; }},
      {"step 2 holds tensors in no order", [](auto &p) { kernelOf(p, 2).held = {1, 0}; }},
      {"step 2 holds what is not its only output", [](auto &p) { kernelOf(p, 2).held = {2}; }},
  };
  for (const Fault &fault : faults) {
    DevicePipeline device(chainedPipeline(), 0, false, true);
    device.chainSteps();
    ASSERT_TRUE(Plan::make(device.pipeline.plan));
    fault.make(device.pipeline.plan);
    auto plan = Plan::make(device.pipeline.plan);
    ASSERT_FALSE(plan) << fault.finding;
    EXPECT_EQ(plan.error().message, std::string("damaged plan: ") + fault.finding);
  }
}

TEST(DeviceStage, StepsOfALaunchHaveBarriersWhereTheirOrderMatters) {
  const MemoryTable table(40);
  for (size_t first : {0, 1, 3})
    expectTheHostsSamples(chainedPipeline(), table.options(), 8, first);
}

// More samples than one launch has.
TEST(DeviceStage, ALaunchHasNoMoreSamplesThanAGrid) {
  Pipeline pipeline = memoryPipeline();
  pipeline.plan.batch->size = 70'000;
  const MemoryTable table(70'000);
  expectTheHostsSamples(pipeline, table.options(), 1);
}

TEST(DeviceStage, OutputsStayThatTheHostHasMade) {
  const MemoryTable table(40);
  SessionOptions options = table.options();
  options.last = LastBatch::Keep;
  // One step, or all: the rest is the host's.
  for (size_t first : {1, 3, 4})
    expectTheHostsSamples(countedPipeline(), table.options(), 4, first);
  for (size_t first : {1, 99})
    expectTheHostsSamples(memoryPipeline(), options, 4, first);
}

/// Reads each batch late, on a stream of its own, and gives it back at once.
class LateConsumer {
public:
  LateConsumer(const cuda::Driver &driver, size_t bytes) : driver(driver), bytes(bytes) {
    EXPECT_EQ(driver.streamCreateWithPriority(&stream, cuda::nonBlockingStream, 0), cuda::success);
  }
  ~LateConsumer() {
    for (void *copy : copies)
      driver.memFreeHost(copy);
    driver.streamDestroy(stream);
  }
  void take(const Batch &batch) {
    const OutputView &view = batch.outputs().front();
    ASSERT_EQ(view.device, 0);
    ASSERT_EQ(driver.memHostAlloc(&copies.emplace_back(), bytes, 0), cuda::success);
    ASSERT_EQ(driver.memcpyDtoHAsync(copies.back(), reinterpret_cast<uintptr_t>(view.data), bytes,
                                     stream),
              cuda::success);
  }
  std::vector<std::string> read() {
    EXPECT_EQ(driver.streamSynchronize(stream), cuda::success);
    std::vector<std::string> all;
    for (void *copy : copies)
      all.emplace_back(static_cast<const char *>(copy), bytes);
    return all;
  }

  cuda::Stream stream = nullptr;

private:
  const cuda::Driver &driver;
  const size_t bytes;
  std::vector<void *> copies;
};

/// Null at the end, and after an error.
BatchPtr nextOf(Session &session) {
  auto batch = session.next();
  EXPECT_TRUE(batch) << batch.error().message;
  return batch ? std::move(*batch) : nullptr;
}

/// Returns the bytes of an output in the host's memory, with its shape, for each batch of a
/// session.
std::vector<std::string> tensorsOf(Session &session, size_t output) {
  std::vector<std::string> all;
  while (auto batch = nextOf(session)) {
    const OutputView &view = batch->outputs()[output];
    EXPECT_EQ(view.offsets, nullptr);
    EXPECT_EQ(view.deviceOffsets, nullptr);
    std::string &text = all.emplace_back();
    for (const auto *numbers : {&view.shape, &view.strides})
      for (int64_t number : *numbers)
        text += std::to_string(number) + " ";
    if (const void *values = batch->onHost(output))
      text.append(static_cast<const char *>(values), size_t(view.shape[0] * view.strides[0]));
  }
  return all;
}

// The host's own are those of Lengths.ABatchIsAsLongAsItsLongest.
TEST(DeviceStage, OutputsThatStayAreFilledUpToTheLongestOfTheirBatch) {
  Pipeline pipeline = countedPipeline();
  size_t number = 0;
  while (pipeline.plan.outputs[number]->name != "values")
    ++number;
  pipeline.plan.outputs[number]->fill = {1, 2, 3, 4, 5, 6, 7, 8};
  const MemoryTable table(60);
  auto host = pipeline.open(table.options());
  ASSERT_TRUE(host) << host.error().message;
  const std::vector<std::string> expected = tensorsOf(**host, number);
  ASSERT_GT(expected.size(), 10u);
  // Made by the device, or by the host; of the lengths, both, one or none are the device's.
  for (size_t first : {0, 1, 2, 3, 5, 99})
    for (int seed = 0; seed < 10; ++seed) {
      const DevicePipeline onDevice(pipeline, first, true);
      FakeDriver driver(onDevice.driver(uint64_t(seed)));
      {
        auto session = onDevice.open(driver, table.options());
        ASSERT_TRUE(session) << session.error().message;
        ASSERT_EQ(tensorsOf(**session, number), expected)
            << "from step " << first << ", seed " << seed;
      }
      EXPECT_EQ(driver.fault(), "");
      EXPECT_EQ(driver.left(), "");
    }
}

TEST(DeviceStage, ABlockIsNotWrittenUnderARunningConsumer) {
  const MemoryTable table(60);
  const size_t bytes = 4 * 3 * sizeof(int32_t);
  std::vector<std::string> expected;
  auto host = memoryPipeline().open(table.options());
  ASSERT_TRUE(host);
  while (auto batch = nextOf(**host))
    expected.emplace_back(static_cast<const char *>(batch->outputs().front().data), bytes);
  const DevicePipeline onDevice(memoryPipeline(), 0, true);
  for (int seed = 0; seed < 40; ++seed) {
    FakeDriver driver(onDevice.driver(uint64_t(seed)));
    const bool isSaid = seed % 2; // or the session's stream counts
    {
      LateConsumer consumer(driver.table(), bytes);
      SessionOptions options = table.options();
      options.prefetch = 1;
      options.stream = isSaid ? nullptr : consumer.stream;
      auto session = onDevice.open(driver, options);
      ASSERT_TRUE(session) << session.error().message;
      while (auto batch = nextOf(**session)) {
        consumer.take(*batch);
        if (isSaid)
          batch->usedOn(consumer.stream);
      }
      ASSERT_EQ(consumer.read(), expected) << "seed " << seed;
    }
    EXPECT_EQ(driver.fault(), "");
    EXPECT_EQ(driver.left(), "");
  }
}

// The session is closed, and what the consumer has queued is still to come.
TEST(DeviceStage, ABlockOutlivesItsConsumer) {
  const MemoryTable table(60);
  const DevicePipeline onDevice(memoryPipeline(), 0, true);
  for (int seed = 0; seed < 10; ++seed) {
    FakeDriver driver(onDevice.driver(uint64_t(seed)));
    {
      LateConsumer consumer(driver.table(), 48);
      std::string first;
      {
        auto session = onDevice.open(driver, table.options());
        ASSERT_TRUE(session);
        auto batch = nextOf(**session);
        ASSERT_TRUE(batch);
        first = line(*batch, 0);
        (*session)->close();
        EXPECT_EQ(line(*batch, 0), first);
        consumer.take(*batch);
        batch->usedOn(consumer.stream);
      }
      EXPECT_EQ(consumer.read().size(), 1u);
    }
    EXPECT_EQ(driver.fault(), "");
    EXPECT_EQ(driver.left(), "");
  }
}

TEST(DeviceStage, NeedsADevice) {
  const MemoryTable table(8);
  const DevicePipeline onDevice(memoryPipeline());
  auto session = onDevice.pipeline.open(table.options());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().message, "kernels or outputs of `test` are on a GPU: open it with one");
}

void failAnyCall(const DevicePipeline &onDevice) {
  const MemoryTable table(20);
  std::map<std::string, int> calls;
  std::vector<std::string> expected;
  {
    FakeDriver driver(onDevice.driver(0));
    auto session = onDevice.open(driver, table.options());
    ASSERT_TRUE(session);
    expected = twoEpochs(**session);
    calls = driver.calls();
  }
  int tried = 0;
  for (const auto &[function, count] : calls) {
    const bool givesBack = function.find("Free") != std::string::npos ||
                           function.find("Destroy") != std::string::npos ||
                           function.find("Release") != std::string::npos ||
                           function.find("ctx") == 0 || function == "moduleUnload" ||
                           function == "streamSynchronize" || function == "eventQuery";
    for (int number = 0; !givesBack && number < std::min(count, 12); ++number, ++tried) {
      FakeDriver driver(onDevice.driver(uint64_t(number)));
      driver.fail(function, number, number % 2 ? cuda::illegalAddress : cuda::outOfMemory);
      std::string error;
      std::vector<std::string> samples;
      {
        auto session = onDevice.open(driver, table.options());
        if (session)
          samples = twoEpochs(**session, &error);
        else
          error = session.error().message;
      }
      // How often memory is taken depends on which threads get the batches. What cannot be copied
      // has no hash, and where there can be no event for a consumer, the block waits for it.
      const bool isSaid =
          !error.empty() ||
          std::any_of(samples.begin(), samples.end(), [](const std::string &sample) {
            return sample.size() > 2 && sample.substr(sample.size() - 2) == " 0";
          });
      EXPECT_TRUE(isSaid || samples == expected) << function << " " << number;
      EXPECT_EQ(driver.left(), "") << function << " " << number;
      EXPECT_EQ(driver.fault(), "") << function << " " << number;
    }
  }
  EXPECT_GT(tried, 60);
}

TEST(DeviceStage, AnyCallMayFailAndNothingIsLeft) {
  failAnyCall(DevicePipeline(failingPipeline()));
  failAnyCall(DevicePipeline(countedPipeline(), 0, true));
}

// A sample's memory is given back at once, so nothing may be left that was queued before a call
// failed.
TEST(DeviceStage, WhatWasQueuedEndsWithACallThatFails) {
  const MemoryTable table(20);
  const DevicePipeline onDevice(memoryPipeline());
  for (const char *function : {"memcpyHtoDAsync", "memcpyDtoHAsync", "eventRecord",
                               "streamWaitEvent", "launchKernel", "eventSynchronize"})
    for (int number = 0; number < 4; ++number) {
      FakeDriver driver(onDevice.driver(uint64_t(number)));
      driver.fail(function, number, cuda::outOfMemory);
      {
        SessionOptions options = table.options();
        options.samplesOnly = true;
        auto session = onDevice.open(driver, options);
        for (int64_t position = 0; session && position < 4; ++position)
          (void)(*session)->sample(0, position);
      }
      EXPECT_EQ(driver.fault(), "") << function << " " << number;
      EXPECT_EQ(driver.left(), "");
    }
}

TEST(DeviceStage, StopsInTheMiddle) {
  const MemoryTable table(400);
  const DevicePipeline onDevice(failingPipeline());
  for (int turn = 0; turn < 30; ++turn) {
    FakeDriver driver(onDevice.driver(uint64_t(turn)));
    {
      SessionOptions options = table.options();
      options.prefetch = 4;
      auto session = onDevice.open(driver, options);
      ASSERT_TRUE(session);
      for (int i = 0; i < turn % 5; ++i)
        ASSERT_TRUE((*session)->next());
      std::thread other([&] {
        if (turn % 2)
          (*session)->cancel();
      });
      (void)(*session)->next();
      other.join();
    }
    EXPECT_EQ(driver.left(), "");
  }
}

} // namespace

} // namespace penstock::test
