// SPDX-License-Identifier: Apache-2.0
//
// Outputs as numbers and as pictures.

#include "tools/penstock/Picture.h"
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

using namespace penstock::cli;

//===--- elements -----------------------------------------------------------------===//

const char *penstock::cli::dtypeName(pst_dtype dtype) {
  constexpr const char *names[] = {"?",   "u8",  "i8",   "u16", "i16", "i32",
                                   "i64", "f16", "bf16", "f32", "f64", "bool"};
  const size_t index = static_cast<size_t>(dtype);
  return names[index < std::size(names) ? index : 0];
}

int64_t penstock::cli::dtypeBytes(pst_dtype dtype) {
  constexpr int bytes[] = {0, 1, 1, 2, 2, 4, 8, 2, 2, 4, 8, 1};
  const size_t index = static_cast<size_t>(dtype);
  return bytes[index < std::size(bytes) ? index : 0];
}

template <typename T> static T read(const char *element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

static double fromHalf(uint16_t half) {
  const int exponent = (half >> 10) & 31;
  const int mantissa = half & 1023;
  double value;
  if (exponent == 31)
    value = mantissa ? std::numeric_limits<double>::quiet_NaN()
                     : std::numeric_limits<double>::infinity();
  else
    value = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
  return half & 0x8000 ? -value : value;
}

double penstock::cli::elementValue(pst_dtype dtype, const char *element) {
  switch (dtype) {
  case PST_U8:
  case PST_BOOL:
    return read<uint8_t>(element);
  case PST_I8:
    return read<int8_t>(element);
  case PST_U16:
    return read<uint16_t>(element);
  case PST_I16:
    return read<int16_t>(element);
  case PST_I32:
    return read<int32_t>(element);
  case PST_I64:
    return static_cast<double>(read<int64_t>(element));
  case PST_F16:
    return fromHalf(read<uint16_t>(element));
  case PST_BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(read<uint16_t>(element)) << 16);
  case PST_F32:
    return read<float>(element);
  case PST_F64:
    return read<double>(element);
  }
  return 0;
}

std::string penstock::cli::elementText(pst_dtype dtype, const char *element) {
  if (dtype == PST_I64)
    return std::to_string(read<int64_t>(element));
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", elementValue(dtype, element));
  return text;
}

static void visitAxis(const pst_output &output, int32_t axis, const char *data,
                      const std::function<void(const char *)> &visit) {
  if (axis == output.rank)
    return visit(data);
  for (int64_t i = 0; i < output.shape[axis]; ++i)
    visitAxis(output, axis + 1, data + i * output.strides[axis], visit);
}

void penstock::cli::forEachElement(const pst_output &output,
                                   const std::function<void(const char *)> &visit) {
  visitAxis(output, 0, static_cast<const char *>(output.data), visit);
}

//===--- pictures -----------------------------------------------------------------===//

int32_t penstock::cli::axisOf(const pst_output &output, const char *name) {
  for (int32_t axis = 0; axis < output.rank; ++axis)
    if (std::strcmp(output.axes[axis], name) == 0)
      return axis;
  return -1;
}

bool penstock::cli::isPicture(const pst_output &output) {
  const int32_t c = axisOf(output, "c");
  return axisOf(output, "h") >= 0 && axisOf(output, "w") >= 0 && !output.offsets &&
         (c < 0 || output.shape[c] == 1 || output.shape[c] == 3);
}

Picture penstock::cli::makePicture(const pst_output &output) {
  const int32_t h = axisOf(output, "h"), w = axisOf(output, "w"), c = axisOf(output, "c");
  double low = 0, high = 255;
  if (output.dtype != PST_U8) {
    low = std::numeric_limits<double>::infinity();
    high = -low;
    forEachElement(output, [&](const char *element) {
      const double value = elementValue(output.dtype, element);
      if (std::isfinite(value)) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    });
  }
  const double scale = high > low ? 255 / (high - low) : 0;
  Picture picture{static_cast<int>(output.shape[w]), static_cast<int>(output.shape[h]), {}};
  picture.rgb.reserve(static_cast<size_t>(3 * picture.width * picture.height));
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x)
      for (int64_t channel = 0; channel < 3; ++channel) {
        const int64_t k = c >= 0 && output.shape[c] == 3 ? channel : 0;
        const char *element = static_cast<const char *>(output.data) + y * output.strides[h] +
                              x * output.strides[w] + (c >= 0 ? k * output.strides[c] : 0);
        const double value = (elementValue(output.dtype, element) - low) * scale;
        picture.rgb.push_back(
            static_cast<uint8_t>(std::clamp(std::isfinite(value) ? value : 0.0, 0.0, 255.0)));
      }
  return picture;
}
