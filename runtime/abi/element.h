// SPDX-License-Identifier: Apache-2.0
//
// The size of an element in memory.
#pragma once

#include "runtime/abi/plan_generated.h"

#include <cstdint>

namespace penstock {

/// Bytes of one element; 0 for none, bytes and text.
inline int64_t elementBytes(plan::DType type) {
  switch (type) {
  case plan::DType::u8:
  case plan::DType::i8:
  case plan::DType::boolean:
    return 1;
  case plan::DType::u16:
  case plan::DType::i16:
  case plan::DType::f16:
  case plan::DType::bf16:
    return 2;
  case plan::DType::i32:
  case plan::DType::f32:
    return 4;
  case plan::DType::i64:
  case plan::DType::f64:
    return 8;
  case plan::DType::none:
  case plan::DType::bytes:
  case plan::DType::text:
    return 0;
  }
  return 0;
}

} // namespace penstock
