// Where a session finds the code of its plan's kernels.
#pragma once

#include "runtime/abi/kernel.h"

#include <cstddef>

namespace penstock::runtime {

/// Entry points by the plan's kernel numbers. An Image implements it over
/// machine code, tests over plain C++ functions.
class KernelTable {
public:
  virtual ~KernelTable() = default;
  virtual size_t size() const = 0;
  /// Never null for `number` < size(). Callable from any thread as long as the
  /// table lives.
  virtual pst_kernel kernel(size_t number) const = 0;
};

} // namespace penstock::runtime
