// SPDX-License-Identifier: Apache-2.0
//
// One pipeline on two levels.
#include "test/unit/stdlib/OneSample.h"
#include <cstring>
#include <fstream>
#include <sstream>

using namespace penstock::reference;

namespace {

std::string read(const std::string &name) {
  std::ifstream file(std::string(PENSTOCK_SOURCE_DIR "/test/lit/inputs/") + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// "Bytes" are height and width; the picture is a ramp.
class Ramp final : public Media {
public:
  std::optional<Header> probe(const std::string &, const Bytes &data) const override {
    if (data->size() != 2)
      return std::nullopt;
    return Header{(*data)[0], (*data)[1], 1};
  }
  std::optional<Tensor> decode(const std::string &, const std::string &,
                               const Bytes &data) const override {
    Tensor image(DType::u8, {"h", "w", "c"}, {(*data)[0], (*data)[1], 3});
    for (int64_t i = 0; i < image.count(); ++i)
      image.bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(i * 37 + i / 3 * 5 + i / 150);
    return image;
  }
};

BatchResult runFile(const std::string &name, const std::vector<uint8_t> &data) {
  Ramp media;
  BatchInputs inputs;
  inputs.positions = {5, 6};
  inputs.batchPosition = 5;
  inputs.params["root"] = std::string("nowhere");
  inputs.media = &media;
  inputs.open = [&](const std::string &kind, const std::map<std::string, Field> &args) {
    EXPECT_EQ(kind, "image_folder");
    EXPECT_EQ(std::get<std::string>(args.at("root")), "nowhere");
    return std::make_shared<OneRow>(
        std::map<std::string, Field>{{"data", std::make_shared<const std::vector<uint8_t>>(data)},
                                     {"label", intScalar(7)}},
        10);
  };
  return runModule(read(name), inputs);
}

TEST(ReferenceImageNet, importedAndSplitFormsGiveTheSameBits) {
  const BatchResult imported = runFile("imagenet-pipe.mlir", {61, 83});
  const BatchResult split = runFile("imagenet-kernels.mlir", {61, 83});
  ASSERT_EQ(imported.error, "");
  ASSERT_EQ(split.error, "");
  ASSERT_EQ(imported.samples.size(), 2u);
  for (size_t s = 0; s < 2; ++s) {
    ASSERT_FALSE(imported.samples[s].failure);
    ASSERT_EQ(imported.samples[s].outputs.size(), 2u);
    const Tensor &a = *std::get<TensorRef>(imported.samples[s].outputs[0].value);
    const Tensor &b = *std::get<TensorRef>(split.samples[s].outputs[0].value);
    EXPECT_EQ(a.extents, (std::vector<int64_t>{3, 224, 224}));
    EXPECT_EQ(a.type, DType::f16);
    EXPECT_TRUE(a == b);
    EXPECT_EQ(std::get<Scalar>(imported.samples[s].outputs[1].value).integer, 7);
    EXPECT_EQ(std::get<Scalar>(split.samples[s].outputs[1].value).integer, 7);
  }
  // Positions draw apart.
  EXPECT_FALSE(*std::get<TensorRef>(imported.samples[0].outputs[0].value) ==
               *std::get<TensorRef>(imported.samples[1].outputs[0].value));
}

TEST(ReferenceImageNet, damagedBytesFailTheSample) {
  const BatchResult result = runFile("imagenet-pipe.mlir", {1});
  ASSERT_EQ(result.error, "");
  ASSERT_TRUE(result.samples[0].failure);
  EXPECT_EQ(result.samples[0].failure->message, "the header cannot be read");
}

} // namespace
