// SPDX-License-Identifier: Apache-2.0
//
// Choices between f16 numbers.
#pragma once

#include "llvm/IR/Module.h"

namespace penstock::codegen {

/// Makes choices between single f16 numbers choices between their bits. Of the smaller or larger
/// one of two that are no NaN, LLVM 19 makes a call of `fminf` or `fmaxf`, which code may not
/// call and which may return either of two zeros.
void selectHalvesByBits(llvm::Module &module);

} // namespace penstock::codegen
