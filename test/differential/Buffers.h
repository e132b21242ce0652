// SPDX-License-Identifier: Apache-2.0
//
// What a kernel gets to read and write ---------*- C++.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "runtime/abi/kernel.h"
#include "stdlib/reference/Value.h"
#include <utility>
#include <vector>

namespace penstock::differential {

/// Memory aligned to 64 whose last 64-byte line touches a page that cannot be
/// read or written.
class Guarded {
public:
  /// Of `size` bytes; `tail` more are readable.
  Guarded(size_t size, size_t tail);
  Guarded(Guarded &&other) noexcept
      : memory(std::exchange(other.memory, nullptr)), start(other.start), size(other.size),
        mapped(other.mapped) {}
  ~Guarded();

  uint8_t *data() const { return start; }
  /// Whether nothing was written around the buffer.
  bool intact() const;

private:
  uint8_t *memory, *start;
  size_t size, mapped;
};

/// A dense view of a tensor's shape over a buffer.
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
