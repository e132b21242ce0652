// SPDX-License-Identifier: Apache-2.0
//
// Values of the interpreter.
//
// Scalars and tensors without MLIR, so that a harness can make and compare
// them. A tensor's elements lie row-major in the order of its type's axes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace penstock::reference {

enum class DType { u8, i8, u16, i16, i32, i64, f16, bf16, f32, f64, boolean };

/// Bytes of one element in memory.
int64_t bytesOf(DType type);
/// `u8`, `f16`, `bool`.
std::string_view nameOf(DType type);
bool isFloat(DType type);

/// One number. Integers and bool stand in `integer`, floats in `real`, which
/// holds every value of the narrower float types exactly.
struct Scalar {
  DType type = DType::i64;
  int64_t integer = 0;
  double real = 0;
};
Scalar intScalar(int64_t value, DType type = DType::i64);
Scalar realScalar(double value, DType type = DType::f64);
Scalar boolScalar(bool value);

struct Tensor {
  DType type = DType::u8;
  std::vector<std::string> axes;
  std::vector<int64_t> extents;
  std::vector<uint8_t> bytes;

  Tensor() = default;
  /// Makes a tensor of zeros.
  Tensor(DType type, std::vector<std::string> axes, std::vector<int64_t> extents);

  int64_t count() const;
  int64_t rank() const { return static_cast<int64_t>(extents.size()); }
  /// Position of an axis, or -1.
  int64_t axis(std::string_view name) const;
  /// Row-major number of the element at `index`.
  int64_t offset(const std::vector<int64_t> &index) const;

  /// Returns an element by its row-major number. A load widens exactly.
  Scalar load(int64_t element) const;
  /// Sets an element. A store rounds f16 and bf16 once, and makes any NaN the canonical one.
  void store(int64_t element, const Scalar &value);
};

/// Returns whether both have the same type, axes, extents and bytes.
bool operator==(const Tensor &a, const Tensor &b);

/// Visits all indices of a domain in row-major order.
template <typename Visit> void forEachIndex(const std::vector<int64_t> &extents, Visit visit) {
  std::vector<int64_t> index(extents.size(), 0);
  for (int64_t extent : extents)
    if (extent <= 0)
      return;
  for (;;) {
    visit(static_cast<const std::vector<int64_t> &>(index));
    size_t axis = extents.size();
    while (axis > 0 && ++index[axis - 1] == extents[axis - 1])
      index[--axis] = 0;
    if (axis == 0)
      return;
  }
}

using Bytes = std::shared_ptr<const std::vector<uint8_t>>;
using TensorRef = std::shared_ptr<const Tensor>;

/// A parameter's value, or a field of a row.
using Field = std::variant<Scalar, TensorRef, Bytes, std::string>;

} // namespace penstock::reference
