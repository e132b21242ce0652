// SPDX-License-Identifier: Apache-2.0
//
// Division by a constant as a product.
#pragma once

namespace penstock::conversion {

/// 1 / c in two parts of one sign: x / c is nearly fma(x, high, x * low), and an
/// infinite x gives an infinity. `low` is 0 where `high` is exact.
struct Reciprocal {
  float high, low;

  /// \param c  neither 0 nor infinite, and its reciprocal neither.
  explicit Reciprocal(float c);
  float divide(float x) const;
};

/// Returns whether fma(x, high, x * low) is x / c, rounded once, for every float x that is
/// zero, infinite, NaN, or at least 2^-60 in magnitude. Decided, not estimated: the
/// few significands whose quotients lie near the middle of two floats are tried.
///
/// Source: N. Brisebarre, J.-M. Muller, "Correctly rounded multiplication by
/// arbitrary precision constants", IEEE Transactions on Computers 57 (2), 2008.
bool dividesExactly(float c);

} // namespace penstock::conversion
