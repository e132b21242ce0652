// SPDX-License-Identifier: Apache-2.0
//
// Where what a sample needs crosses from the host to a GPU.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace penstock::analysis {

/// How far the host goes. Each level includes those before it, as in transferLevels.
enum class TransferLevel {
  planes,    ///< what is decoded crosses, photos before upsampling and colour conversion
  pixels,    ///< what is decoded crosses
  resampled, ///< what has its final grid crosses: pixels behind all resampling and all warps
  last,      ///< outputs cross, where they stand on a GPU
};

/// As transferLevels (runtime/abi/transfer.h) names them.
std::optional<TransferLevel> transferLevelNamed(llvm::StringRef name);

/// The ops of `blocks` (a pipeline's body, then its batch, without branches) that the host
/// runs at a level. What one of them reads is among them, so what crosses does not come back.
llvm::DenseSet<mlir::Operation *> opsOfHost(llvm::ArrayRef<mlir::Block *> blocks,
                                            TransferLevel level);

} // namespace penstock::analysis
