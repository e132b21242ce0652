// SPDX-License-Identifier: Apache-2.0
//
// Buffers of a kernel call.
#pragma once

#include "compiler/Conversion/KernelContract.h"
#include "runtime/abi/kernel.h"
#include "stdlib/reference/Value.h"
#include "test/differential/Guarded.h"
#include <vector>

namespace penstock::differential {

/// Returns a dense view of a tensor's shape, without data; viewOf() returns one over a buffer.
pst_tensor shapeOf(const reference::Tensor &tensor);
pst_tensor viewOf(const reference::Tensor &tensor, const Guarded &buffer);

/// Scratch memory that a kernel needs.
struct Scratch {
  conversion::ScratchNeed need;

  static Scratch of(mlir::func::FuncOp kernel);
  int64_t bytes(const std::vector<pst_tensor> &tensors, const std::vector<int64_t> &scalars) const;
};

} // namespace penstock::differential
