// SPDX-License-Identifier: Apache-2.0
//
// Rows without a file.
#include "test/differential/Inputs.h"
#include "runtime/abi/random.h"
#include <cmath>
#include <limits>

using namespace penstock::reference;

namespace penstock::differential {

static Scalar integerElement(uint64_t bits, DType type) {
  // One in eight is an end of some range.
  static constexpr int64_t ends[] = {0,   1,     -1,     127,        -128,      255,
                                     256, 32767, -32768, 2147483647, INT64_MIN, INT64_MAX};
  const auto value = static_cast<int64_t>(
      bits % 8 == 0 ? static_cast<uint64_t>(ends[(bits >> 8) % 12]) : (bits >> 8) % 1000);
  return intScalar(value, type);
}

static Scalar realElement(uint64_t bits, DType type) {
  static const double specials[] = {0.0,
                                    -0.0,
                                    std::numeric_limits<double>::infinity(),
                                    -std::numeric_limits<double>::infinity(),
                                    std::numeric_limits<double>::quiet_NaN(),
                                    1e-40,
                                    -1e-7,
                                    65504,
                                    1e30,
                                    0x1p-149,
                                    0.5,
                                    -2.5};
  if (bits % 16 == 0)
    return realScalar(specials[(bits >> 8) % 12], type);
  return realScalar((static_cast<double>(bits >> 11) * 0x1p-53 - 0.4) * 300, type);
}

/// Of some tensors a few lines along one axis, which is another one each time, are NaN throughout:
/// what reduces them finds no number.
static void loseLines(Tensor &tensor, uint64_t key) {
  if (key % 4 || tensor.extents.empty() || !isFloat(tensor.type))
    return;
  const size_t axis = (key >> 8) % tensor.extents.size();
  int64_t inside = 1;
  for (size_t i = axis + 1; i < tensor.extents.size(); ++i)
    inside *= tensor.extents[i];
  for (int64_t i = 0; i < tensor.count(); ++i) {
    const int64_t line = i / (inside * tensor.extents[axis]) * inside + i % inside;
    if (random::mix(~key, static_cast<uint64_t>(line)) % 3 == 0)
      tensor.store(i, realScalar(std::numeric_limits<double>::quiet_NaN(), tensor.type));
  }
}

namespace {
class Synthetic final : public Table {
public:
  Synthetic(std::vector<Column> columns, uint64_t seed) : columns(std::move(columns)), seed(seed) {}

  int64_t length() const override { return 7; }

  Field field(int64_t row, const std::string &name) const override {
    const uint64_t key =
        random::mix(random::mix(seed, static_cast<uint64_t>(row)), random::drawId(name));
    if (name == "label")
      return intScalar(static_cast<int64_t>(key % 10));
    if (name == "score")
      return realScalar(static_cast<double>(key >> 11) * 0x1p-53);
    for (const Column &column : columns)
      if (column.name == name)
        return tensor(column, row, key);
    return std::string("no such column");
  }

private:
  static TensorRef tensor(const Column &column, int64_t row, uint64_t key) {
    std::vector<int64_t> extents = column.extents;
    for (size_t axis = 0; axis < extents.size(); ++axis)
      if (column.dynamic[axis])
        extents[axis] = std::max(column.least, extents[axis] - row % 3);
    auto result = std::make_shared<Tensor>(column.type, column.axes, extents);
    for (int64_t i = 0; i < result->count(); ++i) {
      const uint64_t bits = random::mix(key, static_cast<uint64_t>(i));
      if (column.type == DType::boolean)
        result->store(i, boolScalar(bits & 1));
      else
        result->store(i, isFloat(column.type) ? realElement(bits, column.type)
                                              : integerElement(bits, column.type));
    }
    loseLines(*result, key);
    return result;
  }

  std::vector<Column> columns;
  uint64_t seed;
};
} // namespace

std::shared_ptr<Table> syntheticTable(std::vector<Column> columns, uint64_t seed) {
  return std::make_shared<Synthetic>(std::move(columns), seed);
}

namespace {
/// Height, width (four bytes together), what pixels are rounded down to, pixels.
class MadeUpMedia final : public Media {
public:
  std::optional<Header> probe(const std::string &, const Bytes &) const override {
    return std::nullopt;
  }
  std::optional<Tensor> decode(const std::string &, const std::string &format,
                               const Bytes &data) const override {
    const std::vector<uint8_t> &file = *data;
    const int64_t height = file[0] + 256 * file[1], width = file[2] + 256 * file[3];
    Tensor image = format == "rgb" ? Tensor(DType::u8, {"h", "w", "c"}, {height, width, 3})
                                   : Tensor(DType::u8, {"h", "w"}, {height, width});
    std::copy(file.begin() + madeUpHeader, file.end(), image.bytes.begin());
    return image;
  }
  std::optional<Bytes> encode(const std::string &format, const Tensor &value,
                              int64_t quality) const override {
    std::vector<uint8_t> file(madeUpHeader);
    for (size_t i = 0; i < 4; ++i)
      file[i] = static_cast<uint8_t>(value.extents[i / 2] >> (8 * (i % 2)));
    const int64_t step = format == "jpeg" ? 101 - quality : 1;
    for (uint8_t byte : value.bytes)
      file.push_back(static_cast<uint8_t>(byte / step * step));
    return std::make_shared<const std::vector<uint8_t>>(std::move(file));
  }
};
} // namespace

const Media &madeUpMedia() {
  static const MadeUpMedia media;
  return media;
}

} // namespace penstock::differential
