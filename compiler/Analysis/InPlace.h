// SPDX-License-Identifier: Apache-2.0
//
// Kernels for a GPU that may store over what they read.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::analysis {

/// Returns whether the only output of a kernel, scheduled for a GPU, may lie where its input number
/// `input` does, dense and at a boundary of 16 bytes: no thread reads an element that another one
/// stores, and each reads all of its own before it stores any.
bool isInPlace(pipe::KernelOp kernel, int64_t input);

} // namespace penstock::analysis
