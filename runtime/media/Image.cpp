// SPDX-License-Identifier: Apache-2.0
#include "runtime/media/Image.h"

#include "runtime/abi/encoded.h"

#include <string>

namespace penstock::runtime {

Status checkSides(const Picture &picture) {
  for (const auto &[side, what] :
       {std::pair(picture.height, " rows"), std::pair(picture.width, " columns")})
    if (side < 1 || side > PST_ENCODED_MAX_SIDE)
      return Error{Code::InvalidArgument,
                   "an image of " + std::to_string(side) + what + " cannot be encoded"};
  return {};
}

} // namespace penstock::runtime
