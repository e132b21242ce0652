// SPDX-License-Identifier: Apache-2.0
#include "bench/handwritten/colour.h"

#include <vector>

namespace penstock::bench {

void colourScalar(const uint8_t *image, float brightness, float contrast, float saturation,
                  uint16_t *out) {
  constexpr float mean[3] = {0.485f, 0.456f, 0.406f};
  constexpr float deviation[3] = {0.229f, 0.224f, 0.225f};
  std::vector<uint8_t> pixels(image, image + kPixels * 3);
  uint64_t sum = 0;
  for (int at = 0; at < kPixels * 3; at += 3) {
    for (int channel = 0; channel < 3; ++channel)
      pixels[at + channel] = blend(0, pixels[at + channel], brightness);
    sum += luma(pixels[at], pixels[at + 1], pixels[at + 2]);
  }
  const int centre = roundedMean(sum);
  for (int pixel = 0; pixel < kPixels; ++pixel) {
    uint8_t *at = &pixels[3 * pixel];
    for (int channel = 0; channel < 3; ++channel)
      at[channel] = blend(centre, at[channel], contrast);
    const int gray = luma(at[0], at[1], at[2]);
    for (int channel = 0; channel < 3; ++channel) {
      const float unit = float(blend(gray, at[channel], saturation)) / 255.0f;
      out[channel * kPixels + pixel] = toHalf((unit - mean[channel]) / deviation[channel]);
    }
  }
}

} // namespace penstock::bench

using namespace penstock::bench;

extern "C" void hw_colour_run(hw_isa isa, const uint8_t *image, float brightness, float contrast,
                              float saturation, uint16_t *out) {
  const hw_isa best = hw_best_isa();
  switch (isa < best ? isa : best) {
  case HW_AVX512:
    return colourAvx512(image, brightness, contrast, saturation, out);
  case HW_AVX2:
    return colourAvx2(image, brightness, contrast, saturation, out);
  case HW_SCALAR:
    return colourScalar(image, brightness, contrast, saturation, out);
  }
}
