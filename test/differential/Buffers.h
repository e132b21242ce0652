// SPDX-License-Identifier: Apache-2.0
//
// What a kernel gets to read and write ---------*- C++.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/abi/kernel.h"
#include "stdlib/reference/Value.h"
#include "test/differential/Guarded.h"
#include <vector>

namespace penstock::differential {

/// A dense view of a tensor's shape; the second one, over a buffer.
pst_tensor shapeOf(const reference::Tensor &tensor);
pst_tensor viewOf(const reference::Tensor &tensor, const Guarded &buffer);

/// What a call needs besides its arguments: bytes of scratch, a constant and
/// terms, each a product of dims (see pipe-kernel-to-loops).
struct Scratch {
  int64_t fixed = 0;
  struct Term {
    int64_t bytes;
    std::vector<std::vector<int64_t>> dims;
  };
  std::vector<Term> terms;

  static Scratch of(mlir::func::FuncOp kernel);
  int64_t bytes(const std::vector<pst_tensor> &tensors, const std::vector<int64_t> &scalars) const;
};

} // namespace penstock::differential
