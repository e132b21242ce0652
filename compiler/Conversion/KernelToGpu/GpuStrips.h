// SPDX-License-Identifier: Apache-2.0
//
// Elements that a strip of neighbours along a row reads.
#pragma once

#include "compiler/Conversion/KernelToGpu/GpuContext.h"

namespace penstock::conversion {

/// Elements of a tensor that a strip reads: a box, whose axis `along` the strip goes.
struct StripReading {
  mlir::Value tensor;
  llvm::SmallVector<mlir::Value> at;
  llvm::SmallVector<int64_t> counts;
  int64_t along; ///< -1: all of the strip reads the same
};

/// The readings that a reading of what is only computed consists of, in the arms that are decided
/// (GpuContext::arms); nothing for others.
std::optional<llvm::SmallVector<StripReading>> readingsBehind(const GpuSite &site,
                                                              const StripReading &reading);

/// Loads the rows of memory that a strip reads into arrays in registers, where the builder stands.
/// Anything else is left to be read where it is needed.
/// \return the arrays, by the tensor that is read of them.
GpuBuffers loadRows(const GpuSite &site, const StripReading &reading);

} // namespace penstock::conversion
