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

bool isFloat(plan::DType type) {
  using plan::DType;
  return type == DType::f16 || type == DType::bf16 || type == DType::f32 || type == DType::f64;
}

std::string textOf(plan::DType type, std::span<const int64_t> extents) {
  std::string text = nameOf(type);
  for (size_t axis = 0; axis < extents.size(); ++axis)
    text += (axis ? ", " : "[") + std::to_string(extents[axis]);
  return extents.empty() ? text : text + "]";
}

} // namespace penstock::runtime
