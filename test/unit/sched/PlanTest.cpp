// SPDX-License-Identifier: Apache-2.0
#include "test/unit/sched/DevicePipeline.h"

#include <functional>
#include <random>

namespace penstock::test {

namespace {

TEST(PlanLoad, GivesBackWhatWasWritten) {
  Pipeline pipeline = folderPipeline();
  auto plan = Plan::load(Plan::serialize(pipeline.plan));
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ((*plan)->contents().name, "test");
  EXPECT_EQ((*plan)->kernelNumber("k1"), 1);
  EXPECT_EQ((*plan)->kernelNumber("k9"), -1);
  EXPECT_EQ((*plan)->paramNumber("root"), 0);
  EXPECT_EQ((*plan)->contents().decodes[0]->region[0].high(), 13);
}

TEST(PlanLoad, RefusesOtherBytes) {
  auto message = [](std::vector<uint8_t> bytes) {
    auto plan = Plan::load(bytes);
    return plan ? std::string("accepted") : plan.error().message;
  };
  EXPECT_EQ(message({}), "not a plan: 0 bytes are too few");
  EXPECT_EQ(message(std::vector<uint8_t>(100, 7)), "not a plan: it does not begin like one");
  Pipeline pipeline = memoryPipeline();
  std::vector<uint8_t> bytes = Plan::serialize(pipeline.plan);
  bytes.resize(bytes.size() / 2);
  EXPECT_EQ(message(bytes), "not a plan: its tables are damaged");
  pipeline.plan.abi = 77;
  EXPECT_EQ(message(Plan::serialize(pipeline.plan)),
            "the plan is for version 77 of the kernel interface, this program has " +
                std::to_string(PST_KERNEL_ABI_VERSION));
}

TEST(PlanLoad, DamageNeverCrashes) {
  std::mt19937 random(1);
  MemoryTable table(8);
  FakeFileSystem files;
  fillFolder(files, 4);
  int accepted = 0;
  for (int kind : {0, 1}) {
    const Pipeline pipeline = kind ? folderPipeline() : memoryPipeline();
    const std::vector<uint8_t> good = Plan::serialize(pipeline.plan);
    for (int i = 0; i < 20'000; ++i) {
      std::vector<uint8_t> bytes = good;
      for (int n = 1 + int(random() % 3); n > 0; --n) {
        uint8_t &byte = bytes[random() % bytes.size()];
        switch (random() % 3) {
        case 0:
          byte = uint8_t(random());
          break;
        case 1:
          byte ^= uint8_t(1u << random() % 8);
          break;
        default:
          byte = random() % 2 ? 0xFF : 0;
        }
      }
      auto plan = Plan::load(bytes);
      if (!plan)
        continue;
      ++accepted;
      if (i % 8 != 0)
        continue; // opening maps memory: some of them are enough
      SessionOptions options = kind ? folderOptions(files) : table.options();
      options.memoryBudget = 64 << 20;
      auto session =
          Session::open(*plan, std::make_shared<Kernels>(pipeline.code), std::move(options));
      if (!session) {
        EXPECT_NE(session.error().message, "");
      }
    }
  }
  EXPECT_GT(accepted, 1000); // else the damage is too crude to test anything
}

struct Fault {
  const char *finding;
  std::function<void(plan::PlanT &)> make;
};

/// Each fault in a plan of its own has its message.
void expectFindings(const std::vector<Fault> &faults, const std::function<Pipeline()> &pipeline) {
  for (const Fault &fault : faults) {
    Pipeline broken = pipeline();
    fault.make(broken.plan);
    auto plan = Plan::make(broken.plan);
    ASSERT_FALSE(plan) << fault.finding;
    EXPECT_EQ(plan.error().code, Code::Corrupt);
    EXPECT_EQ(plan.error().message, std::string("damaged plan: ") + fault.finding);
  }
}

/// A further source with the columns of the first one, made of that part.
plan::SourceT &concatOf(plan::PlanT &plan, int32_t part) {
  plan::SourceT &source = Pipeline::add(plan.sources);
  source.kind = "concat";
  source.parts = {part};
  for (const auto &column : plan.sources[0]->columns)
    source.columns.push_back(std::make_unique<plan::ColumnT>(*column));
  return source;
}

TEST(PlanCheck, EveryRuleHasItsMessage) {
  const std::vector<Fault> faults = {
      {"plan 0 has 4 slots", [](auto &p) { p.slots = 4; }},
      {"plan 0 allows a share of 2 bad samples", [](auto &p) { p.substitute = 2; }},
      {"setup kernel 0 names kernel 9 of 2", [](auto &p) { p.setup = 9; }},
      {"plan 0 has no source", [](auto &p) { p.sources.clear(); }},
      {"plan 0 has no row of its first source", [](auto &p) { p.rows.clear(); }},
      {"row 0 depends on itself", [](auto &p) { p.rows[0]->of_row = true; }},
      {"row 1 names slot -1 of 64",
       [](auto &p) { p.rows.push_back(std::make_unique<plan::RowT>()); }},
      {"length 0 has the source 3",
       [](auto &p) {
         p.lengths.push_back(std::make_unique<plan::LengthSlotT>());
         p.lengths[0]->source = 3;
       }},
      {"length 0 writes slot 6",
       [](auto &p) {
         p.lengths.push_back(std::make_unique<plan::LengthSlotT>());
         p.lengths[0]->slot = 6;
       }},
      {"parameter 0 is text in a slot", [](auto &p) { p.params[0]->slot = 9; }},
      {"source 0 has the parameter 4 of 1", [](auto &p) { p.sources[0]->arguments[0]->param = 4; }},
      {"source 0 is made of 1 parts", [](auto &p) { p.sources[0]->parts = {0}; }},
      {"source 1 has part 7", [](auto &p) { concatOf(p, 7); }},
      {"source 1 has a part concat", [](auto &p) { concatOf(p, 1); }},
      {"source 1 has a column more that its part 0 lacks",
       [](auto &p) { concatOf(p, 0).columns.back()->name = "more"; }},
      {"source 1 has a column data that is another one in its part 0",
       [](auto &p) { concatOf(p, 0).columns[0]->type = DType::text; }},
      {"field 0 names slot 99 of 64", [](auto &p) { p.fields[0]->slot = 99; }},
      {"field 0 writes slot 2", [](auto &p) { p.fields[0]->slot = PST_ENTRY_POSITION; }},
      {"field 0 names column 7", [](auto &p) { p.fields[0]->column = 7; }},
      {"field 0 is no scalar", [](auto &p) { p.fields[0]->column = 0; }},
      {"media 0 is no column of bytes", [](auto &p) { p.media[0]->column = 1; }},
      {"media 0 is of an unknown kind", [](auto &p) { p.media[0]->media = "smell"; }},
      {"media 0 has 9 numbers", [](auto &p) { p.media[0]->numbers.assign(9, -1); }},
      {"media 0 writes slot 2", [](auto &p) { p.media[0]->numbers = {PST_ENTRY_POSITION}; }},
      {"decode 0 has a region of axis 3", [](auto &p) { p.decodes[0]->region[1] = {3, 12, 14}; }},
      {"decode 0 has a region of axis 0", [](auto &p) { p.decodes[0]->region[1] = {0, 12, 14}; }},
      {"decode 0 names slot -1 of 64", [](auto &p) { p.decodes[0]->region[0] = {0, -1, 13}; }},
      {"decode 0 has 1 arguments", [](auto &p) { p.decodes[0]->arguments = {9}; }},
      {"decode 0 has 0 arguments", [](auto &p) { p.media[0]->media = "video"; }},
      {"decode 0 has an unknown format", [](auto &p) { p.decodes[0]->format = "cmyk"; }},
      {"decode 0 has an unknown format",
       [](auto &p) {
         p.media[0]->media = "ply";
         p.decodes[0]->format = "x ";
       }},
      {"decode 0 does not fit its buffer", [](auto &p) { p.decodes[0]->buffer = 1; }},
      {"decode 0 does not fit its buffer", // of three axes
       [](auto &p) {
         p.media[0]->media = "pcd";
         p.decodes[0]->format = "x y";
       }},
      {"buffer 0 has no element type", [](auto &p) { p.buffers[0]->type = DType::text; }},
      {"buffer 0 has an axis without extent", [](auto &p) { p.buffers[0]->dims[0]->slot = -1; }},
      {"buffer 0 is larger than 1099511627776 bytes",
       [](auto &p) {
         p.buffers[0]->dims[0]->extent = p.buffers[0]->dims[1]->extent = int64_t(1) << 32;
       }},
      {"buffer 0 is larger than 1099511627776 bytes",
       [](auto &p) {
         p.buffers[0]->kind = plan::BufferKind::constant;
         p.buffers[0]->dims[0]->extent = p.buffers[0]->dims[1]->extent = int64_t(1) << 32;
       }},
      {"buffer 1 differs from its output", [](auto &p) { p.buffers[1]->type = DType::f32; }},
      {"buffer 1 has 2 elements where its output has 3",
       [](auto &p) { p.buffers[1]->dims[0]->extent = 2; }},
      {"step 0 names kernel -1 of 2", [](auto &p) { p.steps[0]->kernel = -1; }},
      {"step 0 has stage 65", [](auto &p) { p.steps[0]->stage = 65; }},
      {"step 0 reads buffer 5", [](auto &p) { p.steps[0]->inputs[0]->buffer = 5; }},
      {"step 0 reads other samples in stage 0",
       [](auto &p) { p.steps[0]->inputs[0]->peer_slot = 20; }},
      {"step 0 reads other samples in stage 0", [](auto &p) { p.steps[0]->inputs[0]->all = true; }},
      {"step 0 cannot read buffer 0 of all samples",
       [](auto &p) {
         p.steps[0]->inputs[0]->all = true;
         p.steps[0]->stage = 1;
       }},
      {"step 0 runs once for the batch in stage 0", [](auto &p) { p.steps[0]->once = true; }},
      {"step 0 writes buffer 1 not as often as there are such",
       [](auto &p) { p.buffers[1]->once = true; }},
      {"step 0 writes buffer 0, which is read-only", [](auto &p) { p.steps[0]->outputs = {0}; }},
      {"step 0 reads buffer 0, which nothing has written", [](auto &p) { p.decodes.clear(); }},
      {"output 0 is written by nothing", [](auto &p) { p.steps.clear(); }},
      {"output 0 repeats an axis or has no axis n",
       [](auto &p) { p.outputs[0]->axes = p.outputs[0]->stored = {"a", "a"}; }},
      {"output 0 stores other axes than it has",
       [](auto &p) { p.outputs[0]->stored = {"n", "z"}; }},
      {"output 1 has not exactly one of buffer and scalar",
       [](auto &p) { p.outputs[1]->buffer = 1; }},
      {"output 1 has no name of its own", [](auto &p) { p.outputs[1]->name = "image"; }},
      {"check 0 has the id 0", [](auto &p) { p.checks[0]->id = 0; }},
      {"batch 0 has 0 samples", [](auto &p) { p.batch->size = 0; }},
      {"plan 0 has no batch", [](auto &p) { p.batch.reset(); }},
  };
  expectFindings(faults, [] { return folderPipeline(); });
}

TEST(PlanCheck, PlanesHaveAKernelAndNoOtherReader) {
  auto pipeline = [] {
    Pipeline p = DevicePipeline(folderPipeline()).pipeline;
    auto kernel = std::make_unique<plan::KernelT>();
    kernel->name = "planes";
    kernel->device = std::make_unique<plan::DeviceKernelT>();
    kernel->device->name = "planes";
    kernel->device->threads = 32;
    kernel->device->record = {{plan::RecordValue::entry, 0, 0, 0},
                              {plan::RecordValue::stride, 0, 1, 3},
                              {plan::RecordValue::extent, 1, 0, 2},
                              {plan::RecordValue::scalar, 0, 0, 3}};
    p.plan.planes = int(p.plan.kernels.size());
    p.plan.kernels.push_back(std::move(kernel));
    p.plan.decodes[0]->planes = true;
    return p;
  };
  EXPECT_TRUE(Plan::make(pipeline().plan));
  auto record = [](auto &p) -> auto & { return p.kernels[size_t(p.planes)]->device->record; };
  const std::vector<Fault> faults = {
      {"kernel of planes 0 names kernel 9 of 3", [](auto &p) { p.planes = 9; }},
      {"kernel of planes 0 is no kernel of a device without scratch",
       [](auto &p) { p.kernels[size_t(p.planes)]->device.reset(); }},
      {"kernel of planes 0 is no kernel of a device without scratch",
       [](auto &p) { p.kernels[size_t(p.planes)]->scratch_fixed = 64; }},
      {"kernel of planes 0 is told of argument 4",
       [&](auto &p) { record(p).emplace_back(plan::RecordValue::data, 0, 0, 4); }},
      {"kernel of planes 0 is told of argument 4",
       [&](auto &p) { record(p).emplace_back(plan::RecordValue::scalar, 0, 0, 4); }},
      {"kernel of planes 0 is told of axis 2",
       [&](auto &p) { record(p).emplace_back(plan::RecordValue::extent, 2, 0, 1); }},
      {"kernel of planes 0 is told of axis 3",
       [&](auto &p) { record(p).emplace_back(plan::RecordValue::extent, 3, 0, 3); }},
      {"decode 0 has no planes", [](auto &p) { p.planes = -1; }},
      {"decode 0 has no planes", [](auto &p) { p.buffers[0]->type = DType::u16; }},
      {"step 0 reads planes on the host",
       [](auto &p) {
         p.steps[0]->device = false;
         p.kernels[size_t(p.steps[0]->kernel)]->device.reset();
       }},
  };
  expectFindings(faults, pipeline);
}

TEST(PlanCheck, CodecsHaveWhatTheyReadAndWrite) {
  // An image through JPEG, and its file: steps 0 and 1.
  auto pipeline = [] {
    Pipeline p = memoryPipeline();
    p.plan.steps.clear();
    p.plan.outputs.clear();
    p.plan.buffers.clear();
    const int image = p.buffer(plan::BufferKind::constant, DType::u8, {2, 2, 3});
    p.plan.buffers[0]->data.resize(12);
    const int again = p.buffer(plan::BufferKind::temporary, DType::u8, {2, 2, 3});
    const int file = p.buffer(plan::BufferKind::temporary, DType::u8, {4000});
    const int count = p.buffer(plan::BufferKind::temporary, DType::i64, {});
    p.step(0, {image}, {again}, {8}).codec = plan::Codec::recompress;
    p.step(0, {again}, {file, count}, {8}).codec = plan::Codec::jpeg;
    p.scalarOutput("value", DType::i64, 8);
    return p;
  };
  EXPECT_TRUE(Plan::make(pipeline().plan));
  const std::vector<Fault> faults = {
      {"step 0 has an unknown codec", [](auto &p) { p.steps[0]->codec = plan::Codec(9); }},
      {"step 0 has not the inputs, outputs and scalars of its codec",
       [](auto &p) { p.steps[0]->scalars.clear(); }},
      {"step 0 has not the inputs, outputs and scalars of its codec",
       [](auto &p) { p.steps[0]->codec = plan::Codec::jpeg; }},
      {"step 1 has not the inputs, outputs and scalars of its codec",
       [](auto &p) { p.steps[1]->codec = plan::Codec::png; }},
      {"step 0 does not fit its codec", [](auto &p) { p.buffers[1]->type = DType::i8; }},
      {"step 0 does not fit its codec", [](auto &p) { p.buffers[1]->dims.pop_back(); }},
      {"step 1 does not fit its codec", [](auto &p) { p.buffers[3]->type = DType::i32; }},
      {"step 1 does not fit its codec", [](auto &p) { p.buffers[2]->type = DType::i8; }},
      {"step 1 does not fit its codec", [](auto &p) { p.steps[1]->inputs[0]->buffer = 2; }},
  };
  expectFindings(faults, pipeline);
}

} // namespace

} // namespace penstock::test
