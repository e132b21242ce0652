// SPDX-License-Identifier: Apache-2.0
//
// Element types of plans and tables.
#pragma once

#include "runtime/abi/plan_generated.h"

#include <cstdint>
#include <span>
#include <string>

namespace penstock::runtime {

/// Bytes of one element; 0 for none, bytes and text.
int64_t sizeOf(plan::DType type);
/// The name in the language: "u8", "f16", "bool" ...
const char *nameOf(plan::DType type);
bool isFloat(plan::DType type);
/// A tensor's type as text, such as "f32[3, 4]"; the name alone without extents.
std::string textOf(plan::DType type, std::span<const int64_t> extents);

} // namespace penstock::runtime
