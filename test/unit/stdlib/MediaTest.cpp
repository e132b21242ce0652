// SPDX-License-Identifier: Apache-2.0
//
// Results of a decode.
#include "test/unit/stdlib/OneSample.h"

using namespace penstock::reference;
using Reals = std::vector<double>;

namespace {

/// Two rows of three columns, 1 to 6; the data's one byte is the orientation.
class TwoRows final : public Media {
public:
  std::optional<Header> probe(const std::string &, const Bytes &data) const override {
    return Header{2, 3, (*data)[0]};
  }
  std::optional<Tensor> decode(const std::string &, const std::string &,
                               const Bytes &) const override {
    return *tensorOf<int>(DType::u8, {"h", "w"}, {2, 3}, {1, 2, 3, 4, 5, 6});
  }
};

Reals upright(uint8_t orientation) {
  const std::string type =
      orientation < 5 ? "!pipe.tensor<u8[h=2, w=3]>" : "!pipe.tensor<u8[h=3, w=2]>";
  const TwoRows media;
  BatchInputs inputs;
  inputs.positions = {0};
  inputs.media = &media;
  inputs.open = [&](const std::string &, const std::map<std::string, Field> &) {
    return std::make_shared<OneRow>(
        std::map<std::string, Field>{{"data", std::make_shared<const std::vector<uint8_t>>(
                                                  std::vector<uint8_t>{orientation})}},
        10);
  };
  const BatchResult result = runModule(
      pipelineOf("%data = pipe.field %row \"data\" : !pipe.bytes\n"
                 "%r = pipe.decode \"image\" \"gray\" orient %data : " +
                     type,
                 "pipe.output \"r\" %r axes [\"n\", \"h\", \"w\"] stored [\"n\", \"h\", \"w\"] : " +
                     type),
      inputs);
  EXPECT_EQ(result.error, "");
  if (result.samples.empty() || result.samples[0].outputs.empty())
    return {};
  return reals(*std::get<TensorRef>(result.samples[0].outputs[0].value));
}

// As EXIF numbers them: what stands at the first row and column of the file.
TEST(ReferenceMedia, everyOrientationIsTurnedUpright) {
  EXPECT_EQ(upright(1), (Reals{1, 2, 3, 4, 5, 6})); // top, left
  EXPECT_EQ(upright(2), (Reals{3, 2, 1, 6, 5, 4})); // top, right
  EXPECT_EQ(upright(3), (Reals{6, 5, 4, 3, 2, 1})); // bottom, right
  EXPECT_EQ(upright(4), (Reals{4, 5, 6, 1, 2, 3})); // bottom, left
  EXPECT_EQ(upright(5), (Reals{1, 4, 2, 5, 3, 6})); // left, top
  EXPECT_EQ(upright(6), (Reals{4, 1, 5, 2, 6, 3})); // right, top
  EXPECT_EQ(upright(7), (Reals{6, 3, 5, 2, 4, 1})); // right, bottom
  EXPECT_EQ(upright(8), (Reals{3, 6, 2, 5, 1, 4})); // left, bottom
}

} // namespace
