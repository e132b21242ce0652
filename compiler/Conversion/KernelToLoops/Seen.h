// SPDX-License-Identifier: Apache-2.0
//
// Tensors of a kernel that a walk has met.
//
// A kernel's tensors are a graph: what is read at several places has several paths to
// it, and their number doubles wherever one follows another. A walk looks at each tensor
// once for each thing that it asks of it.
#pragma once

#include "mlir/IR/Value.h"
#include <map>
#include <set>
#include <vector>

namespace penstock::conversion {

/// A tensor, and what is asked of it: an axis, axes, or nothing more.
using Question = std::pair<const void *, std::vector<int64_t>>;
inline Question questionOf(mlir::Value tensor, llvm::ArrayRef<int64_t> what = {}) {
  return {tensor.getAsOpaquePointer(), what.vec()};
}

class Seen {
public:
  /// Returns whether nobody asked this before.
  bool isNew(mlir::Value tensor, llvm::ArrayRef<int64_t> what = {}) {
    return asked.insert(questionOf(tensor, what)).second;
  }

private:
  std::set<Question> asked;
};

} // namespace penstock::conversion
