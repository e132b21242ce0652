// SPDX-License-Identifier: Apache-2.0
//
// The chain as its definition reads, one value at a time.
#include "bench/handwritten/half.h"
#include "bench/handwritten/plan.h"

#include <vector>

namespace penstock::bench {

// 1 / (255 deviation) and -mean / deviation. That the fused form rounds to the
// same f16 as (v / 255 - mean) / deviation in f32 is checked for all 256 values
// by check.py.
const Constants kImagenet = {
    {float(1 / (255 * 0.229)), float(1 / (255 * 0.224)), float(1 / (255 * 0.225))},
    {float(-0.485 / 0.229), float(-0.456 / 0.224), float(-0.406 / 0.225)},
};

void imagenetScalar(const hw_imagenet_plan &plan, const uint8_t *image, ptrdiff_t stride,
                    uint16_t *out) {
  constexpr float mean[3] = {0.485f, 0.456f, 0.406f};
  constexpr float deviation[3] = {0.229f, 0.224f, 0.225f};
  const int top = plan.box.top, height = plan.box.height;
  std::vector<uint8_t> middle(size_t(height) * kRowBytes);
  for (int row = 0; row < height; ++row) {
    const uint8_t *source = image + (top + row) * stride;
    for (int column = 0; column < kSide; ++column) {
      const Taps &taps = plan.columns.taps[plan.flip ? kSide - 1 - column : column];
      for (int channel = 0; channel < 3; ++channel) {
        int32_t sum = 1 << (kPrecision - 1);
        for (int tap = 0; tap < taps.count; ++tap)
          sum +=
              source[(taps.first + tap) * 3 + channel] * plan.columns.weights[taps.weights + tap];
        middle[size_t(row) * kRowBytes + column * 3 + channel] = clampByte(sum >> kPrecision);
      }
    }
  }
  for (int row = 0; row < kSide; ++row) {
    const Taps &taps = plan.rows.taps[row];
    for (int at = 0; at < kRowBytes; ++at) {
      int32_t sum = 1 << (kPrecision - 1);
      for (int tap = 0; tap < taps.count; ++tap)
        sum += middle[size_t(taps.first - top + tap) * kRowBytes + at] *
               plan.rows.weights[taps.weights + tap];
      const int channel = at % 3;
      const float unit = float(clampByte(sum >> kPrecision)) / 255.0f;
      out[(channel * kSide + row) * kSide + at / 3] =
          toHalf((unit - mean[channel]) / deviation[channel]);
    }
  }
}

} // namespace penstock::bench
