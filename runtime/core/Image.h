// SPDX-License-Identifier: Apache-2.0
//
// Machine code of kernels, mapped.
#pragma once

#include "runtime/abi/kernel.h"
#include "runtime/core/KernelTable.h"
#include "runtime/core/Plan.h"
#include "runtime/core/Status.h"

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>

namespace penstock::runtime {

/// An image (runtime/abi/image.h) in memory that is executable and not
/// writable. Immutable; any thread may call its kernels while it lives.
class Image {
public:
  /// Copies `bytes`. Errors: Corrupt where the file is damaged, Unsupported for
  /// another ABI version, another architecture, or a processor that lacks the image's level.
  ///
  /// The checksum finds damage, not malice: code comes from folders whose owner
  /// has been checked.
  static Result<std::shared_ptr<const Image>> load(std::span<const uint8_t> bytes);
  ~Image();
  Image(const Image &) = delete;
  Image &operator=(const Image &) = delete;

  /// The kernel of that name, or null.
  pst_kernel find(const std::string &name) const;
  /// The level that the code needs, as runtime/abi/level.h numbers it.
  int level() const { return featureLevel; }

private:
  Image() = default;

  uint8_t *memory = nullptr;
  size_t mapped = 0;
  int featureLevel = 2;
  std::map<std::string, uint64_t> entries; ///< offsets by name
};

/// The kernels of `plan`, by its numbers. Keeps the image alive. NotFound with
/// the name of a kernel that the image lacks.
Result<std::shared_ptr<const KernelTable>> tableFor(const Plan &plan,
                                                    std::shared_ptr<const Image> image);

} // namespace penstock::runtime
