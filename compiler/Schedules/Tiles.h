// SPDX-License-Identifier: Apache-2.0
//
// Kernels of which a GPU's block makes some rows.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::schedules {

/// Limits of blocks and tiles, and whether a tile has to pay.
struct TileLimits {
  int64_t sharedBytes; ///< of shared memory
  int64_t rows;        ///< of output in a tile, at most
  bool everywhere;     ///< also where it does not pay
};

/// Puts what a kernel stores into shared memory, some rows at a time, where all that it stores are
/// rows of pixels that fit: `tile` names the rows of the outputs that a block makes, and axes of
/// which it makes one place; `rows` how many of each stored value there is room for; `copied` which
/// inputs a block copies into shared memory before it reads them, and bytes for that. Null where
/// one block has to see a whole sample.
mlir::DictionaryAttr chooseTile(pipe::KernelOp kernel, const TileLimits &limits);

} // namespace penstock::schedules
