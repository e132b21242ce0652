// SPDX-License-Identifier: Apache-2.0
//
// Element types of plans and tables.
#pragma once

#include "runtime/abi/plan_generated.h"

#include <cstdint>

namespace penstock::runtime {

/// Bytes of one element; 0 for none, bytes and text.
int64_t sizeOf(plan::DType type);
/// The name in the language: "u8", "f16", "bool" ...
const char *nameOf(plan::DType type);

} // namespace penstock::runtime
