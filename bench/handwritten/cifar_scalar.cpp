// SPDX-License-Identifier: Apache-2.0
#include "bench/handwritten/cifar.h"

namespace penstock::bench {

void cifarScalar(const uint8_t *images, const int64_t *rows, const hw_cifar_draw *draws,
                 size_t count, float *out) {
  for (size_t each = 0; each < count; ++each, out += kCifarBytes) {
    const uint8_t *image = images + rows[each] * kCifarBytes;
    const hw_cifar_draw draw = draws[each];
    for (int channel = 0; channel < 3; ++channel) {
      for (int row = 0; row < kCifar; ++row) {
        for (int column = 0; column < kCifar; ++column) {
          const int y = row + draw.dy - kPad;
          const int x = (draw.flip ? kCifar - 1 - column : column) + draw.dx - kPad;
          const bool inside = y >= 0 && y < kCifar && x >= 0 && x < kCifar;
          const float unit = float(inside ? image[(y * kCifar + x) * 3 + channel] : 0) / 255.0f;
          out[(channel * kCifar + row) * kCifar + column] =
              (unit - kCifarMean[channel]) / kCifarDeviation[channel];
        }
      }
    }
  }
}

} // namespace penstock::bench

using namespace penstock::bench;

extern "C" void hw_cifar_run(hw_isa isa, const uint8_t *images, const int64_t *rows,
                             const hw_cifar_draw *draws, size_t count, int streaming, float *out) {
  const hw_isa best = hw_best_isa();
  switch (isa < best ? isa : best) {
  case HW_AVX512:
    return cifarAvx512(images, rows, draws, count, streaming != 0, out);
  case HW_AVX2:
    return cifarAvx2(images, rows, draws, count, streaming != 0, out);
  case HW_SCALAR:
    return cifarScalar(images, rows, draws, count, out);
  }
}
