// SPDX-License-Identifier: Apache-2.0
//
// Resampling filters: their width, and how many taps that makes.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "runtime/abi/scalar.h"
#include <algorithm>
#include <cmath>

namespace penstock::pipe {

/// Half the width of a resampling filter, in elements of the input.
inline double filterSupport(Filter filter) {
  constexpr double supports[] = {0, 0.5, 1.0, 1.0, 2.0, 3.0};
  return supports[static_cast<int>(filter)];
}

/// Returns whether weights take sines.
inline bool hasSine(Filter filter) {
  return filter == Filter::lanczos || filter == Filter::hamming;
}

/// Returns the result of `pipe.taps`, for in > 0 and out > 0.
inline int64_t tapCount(Filter filter, int64_t in, int64_t out, bool antialias) {
  if (filter == Filter::nearest)
    return 1;
  const double ratio = static_cast<double>(in) / static_cast<double>(out);
  const double support = filterSupport(filter) * (antialias ? std::max(ratio, 1.0) : 1.0);
  const double slack = static_cast<double>(in + 1) * scalar::tapSlack;
  return std::min(in, static_cast<int64_t>(std::ceil(support + support + slack)));
}

} // namespace penstock::pipe
