// SPDX-License-Identifier: Apache-2.0
//
// Cheaper forms that 256 trials prove.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace penstock::conversion {

/// f32 operations with constants from one u8 value to what a map yields.
struct ByteChain {
  struct Step {
    pipe::BinaryKind kind;
    float constant;
    bool constantFirst;
  };
  mlir::Value root;                            ///< the u8
  llvm::SmallPtrSet<mlir::Operation *, 8> ops; ///< from the root to the yield
  llvm::SmallVector<Step> steps;
  mlir::Type result; ///< f32, f16 or bf16
};

/// The chain that `body` ends with, if it does. `constantOf` knows the block's
/// arguments.
std::optional<ByteChain>
findByteChain(mlir::Block &body, llvm::function_ref<std::optional<float>(mlir::Value)> constantOf);

/// A form without divisions that gives the chain's bits for all 256 inputs: one
/// fused multiply-add for all of it, or for each division by a constant a
/// product with its reciprocal in two parts.
struct CheaperChain {
  std::optional<std::pair<float, float>> oneStep; ///< scale, offset; else reciprocals
  Interval range;
};
std::optional<CheaperChain> proveByteChain(const ByteChain &chain, const lane::Features &has);

LaneValue emitByteChain(const Lanes &lanes, const ByteChain &chain, const CheaperChain &form,
                        LaneValue root);

} // namespace penstock::conversion
