// SPDX-License-Identifier: Apache-2.0
//
// The numbers of the discrete Fourier transform.
//
// A libm's last bits differ between machines; these do not. See
// docs/rationale/fft.md.
#pragma once

#include "runtime/abi/scalar.h"

namespace penstock::scalar {

struct Twiddle {
  double cosine, sine;
};

/// Cosine and sine of 2 pi j / n, for 0 <= j and 0 < n < 2^52. Whole quarters of
/// a turn are exact; sine and cosine are computed below an eighth only.
inline Twiddle twiddleOf(int64_t j, int64_t n) {
  j %= n;
  const int64_t quarter = 4 * j / n, rest = 4 * j - quarter * n;
  const bool steep = 2 * rest > n;
  const double angle =
      1.5707963267948966 * (static_cast<double>(steep ? n - rest : rest) / static_cast<double>(n));
  Twiddle twiddle{sine(angle, 1), sine(angle)};
  if (steep)
    twiddle = {twiddle.sine, twiddle.cosine};
  switch (quarter) {
  case 0:
    return twiddle;
  case 1:
    return {-twiddle.sine, twiddle.cosine};
  case 2:
    return {-twiddle.cosine, -twiddle.sine};
  default:
    return {twiddle.sine, -twiddle.cosine};
  }
}

} // namespace penstock::scalar
