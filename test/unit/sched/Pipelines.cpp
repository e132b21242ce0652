// SPDX-License-Identifier: Apache-2.0
#include "test/unit/sched/Pipelines.h"

#include "runtime/abi/random.h"
#include "test/unit/runtime/JpegFiles.h"

#include <cstring>

namespace penstock::test {

Pipeline valuePipeline() {
  Pipeline p;
  plan::SourceT &source = Pipeline::add(p.plan.sources);
  source.kind = "raw";
  plan::ColumnT &value = Pipeline::add(source.columns);
  value.name = "value";
  value.type = DType::i64;
  Pipeline::add(p.plan.rows);
  p.fieldSlot(0, 8);
  return p;
}

Pipeline memoryPipeline(plan::Order order) {
  Pipeline p = valuePipeline();
  plan::ColumnT &pixels = Pipeline::add(p.plan.sources[0]->columns);
  pixels.name = "pixels";
  pixels.type = DType::u8;
  Pipeline::dims(pixels.dims, {3});
  p.plan.order = order;
  p.plan.setup = p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    const random::Key key{uint64_t(s[PST_ENTRY_SEED]), uint64_t(s[PST_ENTRY_POSITION]),
                          uint32_t(s[PST_ENTRY_EPOCH]), 0};
    s[9] = random::integer(random::bits(key, 77), 0, 1000);
    return 0;
  });
  Pipeline::add(p.plan.draws) = [] {
    plan::DrawT draw;
    draw.path = "test/noise";
    draw.type = DType::i64;
    draw.slot = 9;
    return draw;
  }();
  const int in = p.buffer(plan::BufferKind::field, DType::u8, {3});
  p.plan.buffers[size_t(in)]->row = 0;
  p.plan.buffers[size_t(in)]->column = 1;
  const int out = p.output("noise", DType::i32, {3});
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    auto *from = static_cast<const uint8_t *>(args->tensors[0].data);
    auto *to = static_cast<char *>(args->tensors[1].data);
    for (int64_t i = 0; i < args->tensors[1].extent[0]; ++i) {
      const int32_t element = int32_t(from[i]) + int32_t(args->scalars[0]);
      std::memcpy(to + i * args->tensors[1].stride[0], &element, 4);
    }
    return 0;
  }),
         {in}, {out}, {9});
  p.scalarOutput("value", DType::i64, 8);
  return p;
}

Pipeline folderPipeline() {
  Pipeline p;
  p.param("root", DType::text, true);
  plan::SourceT &source = Pipeline::add(p.plan.sources);
  source.kind = "image_folder";
  plan::ArgumentT &root = Pipeline::add(source.arguments);
  root.name = "root";
  root.param = 0;
  for (auto [name, type] : {std::pair("data", DType::bytes), std::pair("label", DType::i64),
                            std::pair("name", DType::text)}) {
    plan::ColumnT &column = Pipeline::add(source.columns);
    column.name = name;
    column.type = type;
  }
  Pipeline::add(p.plan.rows);
  p.plan.order = plan::Order::shuffled;
  p.fieldSlot(1, 8);
  plan::MediaT &media = Pipeline::add(p.plan.media);
  media.media = "image";
  media.numbers = {9, 10};
  p.plan.setup = p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    s[11] = s[9] / 2;
    s[12] = s[10] / 2;
    s[13] = s[9];
    s[14] = s[10];
    if (s[9] == 13) { // a check that pictures of 13 rows fail
      args->failure[0] = s[9];
      args->failure[1] = s[10];
      return 1;
    }
    return 0;
  });
  plan::CheckT &check = Pipeline::add(p.plan.checks);
  check.id = 1;
  check.message = "the image has {0} rows and {1} columns";
  check.file = "test.pipe";
  check.line = 3;
  check.column = 5;
  const int image = p.buffer(plan::BufferKind::media, DType::u8, {-1, -1, 3});
  for (int axis : {0, 1})
    p.plan.buffers[size_t(image)]->dims[size_t(axis)]->slot = 9 + axis;
  plan::DecodeT &decode = Pipeline::add(p.plan.decodes);
  decode.format = "rgb";
  decode.buffer = image;
  decode.region = {{0, 11, 13}, {1, 12, 14}};
  const int out = p.output("image", DType::u8, {3});
  p.step(p.kernel([](pst_kernel_args *args) -> int32_t {
    const pst_tensor &in = args->tensors[0];
    auto *to = static_cast<uint8_t *>(args->tensors[1].data);
    for (int64_t c = 0; c < 3; ++c)
      to[c] = *(static_cast<const uint8_t *>(in.data) + args->scalars[0] * in.stride[0] +
                args->scalars[1] * in.stride[1] + c * in.stride[2]);
    return 0;
  }),
         {image}, {out}, {11, 12});
  p.scalarOutput("label", DType::i64, 8);
  return p;
}

void fillFolder(FakeFileSystem &files, int count) {
  for (int i = 0; i < count; ++i) {
    const int height = 16 + i, width = 24;
    std::vector<uint8_t> pixels;
    for (int p = 0; p < height * width; ++p)
      for (int value : {10 * i, 255 - 10 * i, 100})
        pixels.push_back(uint8_t(value));
    JpegRecipe recipe;
    recipe.stored = JCS_RGB;
    recipe.quality = 100;
    files.addFile("/data/" + std::string(i % 2 ? "dog" : "cat") + "/" + char('a' + i) + ".jpg",
                  encodeJpeg(recipe, width, height, pixels));
  }
}

SessionOptions folderOptions(FakeFileSystem &files) {
  SessionOptions options;
  options.params = {{"root", std::string("/data")}};
  options.files = &files;
  options.threads = 2;
  options.fetchThreads = 3;
  return options;
}

} // namespace penstock::test
