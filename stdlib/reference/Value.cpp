// SPDX-License-Identifier: Apache-2.0
//
// Elements in memory.
#include "stdlib/reference/Value.h"
#include "runtime/abi/scalar.h"
#include <cstring>

using namespace penstock::reference;
namespace scalar = penstock::scalar;

int64_t penstock::reference::bytesOf(DType type) {
  switch (type) {
  case DType::u8:
  case DType::i8:
  case DType::boolean:
    return 1;
  case DType::u16:
  case DType::i16:
  case DType::f16:
  case DType::bf16:
    return 2;
  case DType::i32:
  case DType::f32:
    return 4;
  case DType::i64:
  case DType::f64:
    return 8;
  }
  return 0;
}

std::string_view penstock::reference::nameOf(DType type) {
  switch (type) {
  case DType::u8:
    return "u8";
  case DType::i8:
    return "i8";
  case DType::u16:
    return "u16";
  case DType::i16:
    return "i16";
  case DType::i32:
    return "i32";
  case DType::i64:
    return "i64";
  case DType::f16:
    return "f16";
  case DType::bf16:
    return "bf16";
  case DType::f32:
    return "f32";
  case DType::f64:
    return "f64";
  case DType::boolean:
    return "bool";
  }
  return "";
}

bool penstock::reference::isFloat(DType type) {
  return type == DType::f16 || type == DType::bf16 || type == DType::f32 || type == DType::f64;
}

Scalar penstock::reference::intScalar(int64_t value, DType type) { return {type, value, 0}; }
Scalar penstock::reference::realScalar(double value, DType type) { return {type, 0, value}; }
Scalar penstock::reference::boolScalar(bool value) { return {DType::boolean, value, 0}; }

Tensor::Tensor(DType type, std::vector<std::string> axes, std::vector<int64_t> extents)
    : type(type), axes(std::move(axes)), extents(std::move(extents)) {
  bytes.resize(static_cast<size_t>(count() * bytesOf(type)));
}

int64_t Tensor::count() const {
  int64_t result = 1;
  for (int64_t extent : extents)
    result *= extent;
  return result;
}

int64_t Tensor::axis(std::string_view name) const {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i] == name)
      return static_cast<int64_t>(i);
  return -1;
}

int64_t Tensor::offset(const std::vector<int64_t> &index) const {
  int64_t result = 0;
  for (size_t i = 0; i < extents.size(); ++i)
    result = result * extents[i] + index[i];
  return result;
}

template <typename T> static T read(const Tensor &tensor, int64_t element) {
  T value;
  std::memcpy(&value, tensor.bytes.data() + element * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}
template <typename T> static void write(Tensor &tensor, int64_t element, T value) {
  if constexpr (std::is_floating_point_v<T>)
    if (value != value)
      value = scalar::canonicalNan<T>();
  std::memcpy(tensor.bytes.data() + element * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

Scalar Tensor::load(int64_t element) const {
  switch (type) {
  case DType::u8:
    return intScalar(read<uint8_t>(*this, element), type);
  case DType::i8:
    return intScalar(read<int8_t>(*this, element), type);
  case DType::u16:
    return intScalar(read<uint16_t>(*this, element), type);
  case DType::i16:
    return intScalar(read<int16_t>(*this, element), type);
  case DType::i32:
    return intScalar(read<int32_t>(*this, element), type);
  case DType::i64:
    return intScalar(read<int64_t>(*this, element), type);
  case DType::f16:
    return realScalar(scalar::fromHalf(read<uint16_t>(*this, element)), type);
  case DType::bf16:
    return realScalar(scalar::fromBfloat(read<uint16_t>(*this, element)), type);
  case DType::f32:
    return realScalar(read<float>(*this, element), type);
  case DType::f64:
    return realScalar(read<double>(*this, element), type);
  case DType::boolean:
    return boolScalar(read<uint8_t>(*this, element) != 0);
  }
  return {};
}

void Tensor::store(int64_t element, const Scalar &value) {
  switch (type) {
  case DType::u8:
  case DType::i8:
  case DType::boolean:
    return write(*this, element, static_cast<uint8_t>(value.integer));
  case DType::u16:
  case DType::i16:
    return write(*this, element, static_cast<uint16_t>(value.integer));
  case DType::i32:
    return write(*this, element, static_cast<int32_t>(value.integer));
  case DType::i64:
    return write(*this, element, value.integer);
  case DType::f16:
    return write(*this, element, scalar::toHalf(value.real));
  case DType::bf16:
    return write(*this, element, scalar::toBfloat(value.real));
  case DType::f32:
    return write(*this, element, static_cast<float>(value.real));
  case DType::f64:
    return write(*this, element, value.real);
  }
}

bool penstock::reference::operator==(const Tensor &a, const Tensor &b) {
  return a.type == b.type && a.axes == b.axes && a.extents == b.extents && a.bytes == b.bytes;
}
