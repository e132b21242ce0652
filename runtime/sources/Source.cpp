// SPDX-License-Identifier: Apache-2.0
#include "runtime/sources/Source.h"

#include <bit>
#include <cstring>

namespace penstock::runtime {

using plan::DType;

namespace {

template <typename T> T load(const uint8_t *data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

/// Exact: every f16 is an f32.
double widenHalf(uint16_t half) {
  uint32_t sign = uint32_t(half >> 15) << 31;
  uint32_t exponent = half >> 10 & 31, mantissa = half & 1023;
  if (exponent == 0) {
    double magnitude = double(mantissa) * 0x1p-24;
    return sign ? -magnitude : magnitude;
  }
  uint32_t bits =
      exponent == 31 ? 0x7F800000u | mantissa << 13 : (exponent + 112) << 23 | mantissa << 13;
  return double(std::bit_cast<float>(sign | bits));
}

} // namespace

int64_t loadScalar(DType type, const uint8_t *data) {
  auto real = [](double value) { return std::bit_cast<int64_t>(value); };
  switch (type) {
  case DType::u8:
    return *data;
  case DType::boolean:
    return *data != 0;
  case DType::i8:
    return load<int8_t>(data);
  case DType::u16:
    return load<uint16_t>(data);
  case DType::i16:
    return load<int16_t>(data);
  case DType::i32:
    return load<int32_t>(data);
  case DType::i64:
  case DType::f64:
    return load<int64_t>(data);
  case DType::f32:
    return real(double(load<float>(data)));
  case DType::f16:
    return real(widenHalf(load<uint16_t>(data)));
  case DType::bf16:
    return real(double(std::bit_cast<float>(uint32_t(load<uint16_t>(data)) << 16)));
  default:
    return 0;
  }
}

Result<MediaPlace> placeOfFile(FileSystem &files, std::string path) {
  auto file = files.openFile(path);
  if (!file)
    return file.error();
  const FileInfo info = (*file)->info();
  return MediaPlace{std::move(*file), 0, info.size, info.modifiedNs, std::move(path)};
}

std::string ColumnInfo::typeText() const {
  std::string text = nameOf(type);
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    text += axis == 0 ? "[" : ", ";
    if (!dims[axis].isStatic())
      text += (dims[axis].minimum > 0 ? std::to_string(dims[axis].minimum) + " <= " : "") + "k <= ";
    text += std::to_string(dims[axis].bound);
  }
  return dims.empty() ? text : text + "]";
}

int64_t TensorView::elements() const {
  int64_t product = 1;
  for (int axis = 0; axis < rank; ++axis)
    product *= extents[size_t(axis)];
  return product;
}

Source::~Source() = default;

void Source::prefetch(int64_t, int) const {}

std::vector<FilePart> Source::checkpointParts() const { return {}; }

int Source::columnNumber(std::string_view name) const {
  for (size_t i = 0; i < table.size(); ++i)
    if (table[i].name == name)
      return int(i);
  return -1;
}

std::string Source::rowName(int64_t row) const { return "row " + std::to_string(row); }

Error Source::noSuchField(int column, const char *wanted) const {
  return {Code::InvalidArgument, "column `" + table[size_t(column)].name + "` is " +
                                     table[size_t(column)].typeText() + ", not " + wanted};
}

Result<int64_t> Source::scalar(int64_t, int column) const {
  return noSuchField(column, "a scalar");
}

Result<std::string> Source::text(int64_t, int column) const { return noSuchField(column, "text"); }

Result<std::string> Source::otherText(int64_t, std::string_view column) const {
  return Error{Code::InvalidArgument,
               "the table has no column `" + std::string(column) + "` of text"};
}

Status Source::fetch(int64_t, int column, Buffer &) const { return noSuchField(column, "bytes"); }

Result<MediaPlace> Source::place(int64_t, int column) const {
  return Error{Code::Unsupported,
               "column `" + table[size_t(column)].name + "` has no files to read parts of"};
}

std::span<const uint8_t> Source::mediaIndex(int64_t, int) const { return {}; }

std::vector<std::string> Source::classNames() const { return {}; }

uint64_t Source::indexesMade() const { return 0; }

Status Source::shape(int64_t, int column, TensorView &) const {
  return noSuchField(column, "a tensor");
}

Result<TensorView> Source::tensor(int64_t, int column, Buffer &) const {
  return noSuchField(column, "a tensor");
}

} // namespace penstock::runtime
