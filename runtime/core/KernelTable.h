// SPDX-License-Identifier: Apache-2.0
//
// The code of a plan's kernels, by their numbers.
#pragma once

#include "runtime/abi/kernel.h"

#include <atomic>
#include <cstddef>

namespace penstock::runtime {

/// `pst_kernel_args::stop` of calls that nobody stops.
inline constexpr uint8_t neverStops = 0;
/// Returns `flag` as kernels read it.
inline const volatile uint8_t *stopOf(const std::atomic<bool> &flag) {
  static_assert(sizeof flag == 1 && std::atomic<bool>::is_always_lock_free);
  return reinterpret_cast<const volatile uint8_t *>(&flag);
}
/// Returns whether the flag behind `stop` is set, without a data race.
inline bool isStopped(const volatile uint8_t *stop) {
  return __atomic_load_n(stop, __ATOMIC_RELAXED) != 0;
}

/// Entry points by the plan's kernel numbers. An Image implements it over
/// machine code, tests over plain C++ functions.
class KernelTable {
public:
  virtual ~KernelTable() = default;
  virtual size_t size() const = 0;
  /// Never null for `number` < size(), but for kernels of a device. Callable from any thread as
  /// long as the table lives.
  virtual pst_kernel kernel(size_t number) const = 0;
};

} // namespace penstock::runtime
