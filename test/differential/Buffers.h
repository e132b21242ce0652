// SPDX-License-Identifier: Apache-2.0
//
// What a kernel gets to read and write.
#pragma once

#include "compiler/Conversion/KernelContract.h"
#include "runtime/abi/kernel.h"
#include "stdlib/reference/Value.h"
#include "test/differential/Guarded.h"
#include <vector>

namespace penstock::differential {

/// A dense view of a tensor's shape; the second one, over a buffer.
pst_tensor shapeOf(const reference::Tensor &tensor);
pst_tensor viewOf(const reference::Tensor &tensor, const Guarded &buffer);

/// What a call needs besides its arguments.
struct Scratch {
  conversion::ScratchNeed need;

  static Scratch of(mlir::func::FuncOp kernel);
  int64_t bytes(const std::vector<pst_tensor> &tensors, const std::vector<int64_t> &scalars) const;
};

} // namespace penstock::differential
