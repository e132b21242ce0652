// SPDX-License-Identifier: Apache-2.0
#include "runtime/core/DType.h"

#include "runtime/abi/element.h"

namespace penstock::runtime {

int64_t sizeOf(plan::DType type) { return elementBytes(type); }

const char *nameOf(plan::DType type) {
  if (type == plan::DType::boolean)
    return "bool";
  if (type < plan::DType::MIN || type > plan::DType::MAX)
    return "?";
  return plan::EnumNameDType(type);
}

} // namespace penstock::runtime
