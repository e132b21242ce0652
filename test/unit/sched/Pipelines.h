// Plans as the compiler would write them, with kernels in C++.
#pragma once

#include "runtime/abi/random.h"
#include "runtime/core/FakeFileSystem.h"
#include "runtime/core/Order.h"
#include "runtime/sched/Session.h"
#include "test/unit/runtime/JpegFiles.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace penstock::test {

using namespace penstock::runtime;
using plan::DType;

class Kernels final : public KernelTable {
public:
  explicit Kernels(std::vector<pst_kernel> code) : code(std::move(code)) {}
  size_t size() const override { return code.size(); }
  pst_kernel kernel(size_t number) const override { return code[number]; }

private:
  std::vector<pst_kernel> code;
};

/// A plan under construction, with its code.
struct Pipeline {
  plan::PlanT plan;
  std::vector<pst_kernel> code;

  Pipeline() {
    plan.abi = PST_KERNEL_ABI_VERSION;
    plan.name = "test";
    plan.hash = 0x1234;
    plan.seed = 7;
    plan.substitute = 0.5;
    plan.slots = 64;
    plan.batch = std::make_unique<plan::BatchT>();
    plan.batch->size = 4;
  }

  template <typename T> static T &add(std::vector<std::unique_ptr<T>> &list) {
    return *list.emplace_back(std::make_unique<T>());
  }
  static void dims(std::vector<std::unique_ptr<plan::DimT>> &list,
                   const std::vector<int64_t> &extents) {
    for (int64_t extent : extents)
      add(list).extent = extent;
  }
  int kernel(pst_kernel function) {
    add(plan.kernels).name = "k" + std::to_string(code.size());
    code.push_back(function);
    return int(code.size()) - 1;
  }
  int buffer(plan::BufferKind kind, DType type, const std::vector<int64_t> &extents) {
    plan::BufferT &b = add(plan.buffers);
    b.kind = kind;
    b.type = type;
    dims(b.dims, extents);
    return int(plan.buffers.size()) - 1;
  }
  /// An output with axes n, a, b, c ... and its buffer.
  int output(const std::string &name, DType type, const std::vector<int64_t> &extents) {
    const int number = int(plan.outputs.size());
    plan::OutputT &o = add(plan.outputs);
    o.name = name;
    o.type = type;
    o.axes = {"n"};
    add(o.dims);
    for (size_t i = 0; i < extents.size(); ++i)
      o.axes.push_back(std::string(1, char('a' + i)));
    o.stored = o.axes;
    dims(o.dims, extents);
    const int result = buffer(plan::BufferKind::output, type, extents);
    o.buffer = result;
    plan.buffers[size_t(result)]->output = number;
    return result;
  }
  void scalarOutput(const std::string &name, DType type, int slot) {
    plan::OutputT &o = add(plan.outputs);
    o.name = name;
    o.type = type;
    o.axes = o.stored = {"n"};
    add(o.dims);
    o.scalar_slot = slot;
  }
  plan::StepT &step(int kernel, const std::vector<int> &inputs, const std::vector<int> &outputs,
                    const std::vector<int> &scalars = {}, int stage = 0) {
    plan::StepT &s = add(plan.steps);
    s.kernel = kernel;
    s.stage = stage;
    for (int input : inputs)
      add(s.inputs).buffer = input;
    s.outputs = outputs;
    s.scalars = scalars;
    return s;
  }
  void param(const std::string &name, DType type, bool required = false) {
    plan::ParamT &p = add(plan.params);
    p.name = name;
    p.type = type;
    p.required = required;
  }
  void fieldSlot(int column, int slot) {
    plan::FieldSlotT &f = add(plan.fields);
    f.column = column;
    f.slot = slot;
  }

  Result<std::unique_ptr<Session>> open(SessionOptions options = {}) const {
    auto checked = Plan::make(plan);
    if (!checked)
      return checked.error();
    return Session::open(*checked, std::make_shared<Kernels>(code), std::move(options));
  }
};

/// raw(value: i64, pixels: u8[a=3]) over memory. Outputs value, and noise: the
/// pixels plus a draw that depends on seed, epoch and position.
inline Pipeline memoryPipeline(plan::Order order = plan::Order::shuffled) {
  Pipeline p;
  plan::SourceT &source = Pipeline::add(p.plan.sources);
  source.kind = "raw";
  plan::ColumnT &value = Pipeline::add(source.columns);
  value.name = "value";
  value.type = DType::i64;
  plan::ColumnT &pixels = Pipeline::add(source.columns);
  pixels.name = "pixels";
  pixels.type = DType::u8;
  Pipeline::dims(pixels.dims, {3});
  Pipeline::add(p.plan.rows);
  p.plan.order = order;
  p.fieldSlot(0, 8);
  p.plan.setup = p.kernel([](pst_kernel_args *args) -> int32_t {
    int64_t *s = args->scalars;
    const random::Key key{uint64_t(s[PST_SLOT_SEED]), uint64_t(s[PST_SLOT_POSITION]),
                          uint32_t(s[PST_SLOT_EPOCH]), 0};
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

/// Columns for memoryPipeline(): row r has value 100 + r.
struct MemoryTable {
  explicit MemoryTable(int64_t rows) {
    for (int64_t r = 0; r < rows; ++r) {
      values.push_back(100 + r);
      for (int64_t i = 0; i < 3; ++i)
        pixels.push_back(uint8_t(r * 7 + i));
    }
  }
  SessionOptions options() const {
    SessionOptions options;
    const int64_t rows = int64_t(values.size());
    options.memory = {{"value", DType::i64, {rows}, values.data(), nullptr},
                      {"pixels", DType::u8, {rows, 3}, pixels.data(), nullptr}};
    options.threads = 2;
    return options;
  }
  std::vector<int64_t> values;
  std::vector<uint8_t> pixels;
};

/// image_folder(root), decoded around its centre; outputs image: u8[n, a=3]
/// (the first decoded pixel) and label.
inline Pipeline folderPipeline() {
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
  media.height_slot = 9;
  media.width_slot = 10;
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
  decode.top = 11;
  decode.left = 12;
  decode.bottom = 13;
  decode.right = 14;
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

/// A folder with `count` images in two classes; image i has the colour
/// (10 i, 255 - 10 i, 100).
inline void fillFolder(FakeFileSystem &files, int count) {
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

inline SessionOptions folderOptions(FakeFileSystem &files) {
  SessionOptions options;
  options.params = {{"root", std::string("/data")}};
  options.files = &files;
  options.threads = 2;
  options.fetchThreads = 3;
  return options;
}

/// What next() said, one line per sample.
struct Epoch {
  std::vector<std::string> samples; // "position row hash"
  std::string error;
};

inline std::string line(const Batch &batch, int64_t slot) {
  return std::to_string(batch.epoch()) + "/" + std::to_string(batch.positions()[size_t(slot)]) +
         " row " + std::to_string(batch.rows()[size_t(slot)]) + " " +
         std::to_string(batch.contentHash(slot));
}

/// Up to the end of the epoch, or `batches`.
inline Epoch readEpoch(Session &session, int64_t batches = INT64_MAX) {
  Epoch epoch;
  for (int64_t i = 0; i < batches; ++i) {
    auto batch = session.next();
    if (!batch) {
      epoch.error = batch.error().message;
      break;
    }
    if (!*batch)
      break;
    for (int64_t slot = 0; slot < (*batch)->count(); ++slot)
      epoch.samples.push_back(line(**batch, slot));
  }
  return epoch;
}

} // namespace penstock::test
