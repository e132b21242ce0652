// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/SyntheticSource.h"

#include "runtime/abi/random.h"
#include "runtime/core/Memory.h"
#include "runtime/core/Order.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace penstock::runtime {

using plan::DType;

namespace {

// Larger rows are a mistake sooner than a wish.
constexpr int64_t maxRowBytes = int64_t(1) << 32;

/// f32 bits to the nearest f16, halves to even; for finite values.
uint16_t narrowToHalf(double value) {
  double magnitude = std::fabs(value);
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (magnitude >= 65520)
    return sign | 0x7C00;
  int exponent = std::max(magnitude > 0 ? std::ilogb(magnitude) : -14, -14);
  // The step between neighbours; nearbyint rounds half to even.
  double step = std::ldexp(1.0, exponent - 10);
  auto steps = uint32_t(std::nearbyint(magnitude / step));
  return uint16_t(sign | ((uint32_t(exponent + 14) << 10) + steps));
}

uint16_t narrowToBf16(double value) {
  auto bits = std::bit_cast<uint32_t>(float(value));
  return uint16_t((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

template <typename T> void store(uint8_t *to, T value) { std::memcpy(to, &value, sizeof value); }

void storeReal(DType type, double value, uint8_t *to) {
  switch (type) {
  case DType::f16:
    return store(to, narrowToHalf(value));
  case DType::bf16:
    return store(to, narrowToBf16(value));
  case DType::f32:
    return store(to, float(value));
  default:
    return store(to, value);
  }
}

class SyntheticSource final : public Source {
public:
  SyntheticSource(int64_t rows, std::vector<ColumnInfo> table, std::vector<SyntheticColumn> given,
                  uint64_t key)
      : Source(rows, std::move(table)), given(std::move(given)), key(key) {}

  Result<int64_t> scalar(int64_t row, int column) const override {
    if (!columns()[size_t(column)].isScalar())
      return noSuchField(column, "a scalar");
    uint8_t bytes[16];
    fill(row, column, 1, bytes);
    return loadScalar(columns()[size_t(column)].type, bytes);
  }

  Status shape(int64_t row, int column, TensorView &out) const override {
    const ColumnInfo &info = columns()[size_t(column)];
    if (!info.isTensor())
      return noSuchField(column, "a tensor");
    out = {};
    for (const Extent &extent : info.dims)
      out.extents[size_t(out.rank++)] = extent.bound;
    if (!info.dims[0].isStatic())
      out.extents[0] = random::integer(wide(block(row, column, ~uint64_t(0)), 0),
                                       info.dims[0].minimum, info.dims[0].bound + 1);
    return {};
  }

  Result<TensorView> tensor(int64_t row, int column, Buffer &scratch) const override {
    TensorView view;
    if (Status status = shape(row, column, view); !status)
      return status.error();
    int64_t elements = view.elements();
    auto bytes = size_t(elements * sizeOf(columns()[size_t(column)].type));
    if (!scratch.resize(bytes))
      return noMemory("for the " + std::to_string(bytes) + " bytes of " + rowName(row));
    fill(row, column, elements, scratch.data());
    view.data = scratch.data();
    return view;
  }

private:
  using Words = std::array<uint32_t, 4>;

  Words block(int64_t row, int column, uint64_t number) const {
    return random::philox({uint32_t(row), uint32_t(uint64_t(row) >> 32) | uint32_t(column) << 16,
                           uint32_t(number), uint32_t(number >> 32)},
                          {uint32_t(key), uint32_t(key >> 32)});
  }

  static uint64_t wide(const Words &words, unsigned half) {
    return uint64_t(words[2 * half]) << 32 | words[2 * half + 1];
  }

  void fill(int64_t row, int column, int64_t elements, uint8_t *to) const {
    const SyntheticColumn &wanted = given[size_t(column)];
    int64_t size = sizeOf(wanted.type);
    if (isFloat(wanted.type) || wanted.range)
      return fillByDraws(row, column, elements, size, to);
    int64_t bytes = elements * size;
    for (int64_t at = 0; at < bytes; at += 16) {
      Words words = block(row, column, uint64_t(at / 16));
      std::memcpy(to + at, words.data(), size_t(std::min<int64_t>(16, bytes - at)));
    }
    if (wanted.type == DType::boolean)
      for (int64_t at = 0; at < bytes; ++at)
        to[at] &= 1;
  }

  void fillByDraws(int64_t row, int column, int64_t elements, int64_t size, uint8_t *to) const {
    const SyntheticColumn &wanted = given[size_t(column)];
    auto range = wanted.range.value_or(SyntheticColumn::Range{});
    Words words{};
    for (int64_t i = 0; i < elements; ++i, to += size) {
      if (i % 2 == 0)
        words = block(row, column, uint64_t(i / 2));
      uint64_t bits = wide(words, unsigned(i % 2));
      if (isFloat(wanted.type)) {
        storeReal(wanted.type, random::uniform(bits, range.low, range.end), to);
        continue;
      }
      int64_t value = random::integer(bits, int64_t(range.low), int64_t(range.end));
      std::memcpy(to, &value, size_t(size)); // little endian: the low bytes
    }
  }

  std::vector<SyntheticColumn> given;
  uint64_t key;
};

/// Returns the range of an integer type, as [low, end).
SyntheticColumn::Range holds(DType type) {
  switch (type) {
  case DType::boolean:
    return {0, 2};
  case DType::u8:
    return {0, 0x1p8};
  case DType::i8:
    return {-0x1p7, 0x1p7};
  case DType::u16:
    return {0, 0x1p16};
  case DType::i16:
    return {-0x1p15, 0x1p15};
  case DType::i32:
    return {-0x1p31, 0x1p31};
  default:
    return {-0x1p53, 0x1p53}; // exact in f64
  }
}

std::string numberText(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.')
    text.pop_back();
  return text;
}

Status check(const SyntheticColumn &column, const ColumnInfo &info) {
  auto refuse = [&](std::string text) {
    return Error{Code::InvalidArgument, "column `" + column.name + "`: " + text};
  };
  int64_t bytes = sizeOf(column.type);
  if (bytes == 0)
    return refuse("synthetic rows cannot be " + info.typeText());
  if (column.dims.size() > size_t(TensorView::maxRank))
    return refuse(std::to_string(column.dims.size()) + " axes, the limit is 8");
  for (size_t axis = 0; axis < column.dims.size(); ++axis) {
    const Extent &extent = column.dims[axis];
    if (extent.minimum < 0 || extent.minimum > extent.bound)
      return refuse("an axis of " + std::to_string(extent.minimum) + " to " +
                    std::to_string(extent.bound) + " elements");
    if (axis > 0 && !extent.isStatic())
      return refuse("only the leading axis may differ from row to row");
    if (__builtin_mul_overflow(bytes, extent.bound, &bytes) || bytes > maxRowBytes)
      return refuse("a row of " + info.typeText() + " takes more than 4 GiB");
  }
  if (!column.range)
    return {};
  double low = column.range->low, end = column.range->end;
  std::string text = numberText(low) + " .. " + numberText(end);
  if (!std::isfinite(low) || !std::isfinite(end) || !(low < end))
    return refuse("the range " + text + " is empty");
  if (isFloat(column.type))
    return {};
  SyntheticColumn::Range limits = holds(column.type);
  if (low < limits.low || end > limits.end || low != std::floor(low) || end != std::floor(end))
    return refuse("the range " + text + " does not fit " + info.typeText());
  return {};
}

} // namespace

Result<std::unique_ptr<Source>> openSynthetic(int64_t length, std::vector<SyntheticColumn> columns,
                                              uint64_t seed) {
  if (length < 0 || length > Order::maxPositions)
    return Error{Code::InvalidArgument,
                 "synthetic() of " + std::to_string(length) + " rows; it can have 0 up to 2^48"};
  if (columns.empty() || columns.size() > 65535)
    return Error{Code::InvalidArgument, "synthetic() with " + std::to_string(columns.size()) +
                                            " columns; it can have 1 up to 65535"};
  std::vector<ColumnInfo> table;
  for (const SyntheticColumn &column : columns) {
    table.push_back({column.name, column.type, column.dims});
    if (Status status = check(column, table.back()); !status)
      return status.error();
  }
  uint64_t key = random::mix(seed, random::drawId("<synthetic>"));
  return std::unique_ptr<Source>(
      new SyntheticSource(length, std::move(table), std::move(columns), key));
}

} // namespace penstock::runtime
