// SPDX-License-Identifier: Apache-2.0
//
// Where lanes lie in memory.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"

namespace penstock::conversion {

/// Where the lanes of an access lie.
struct Access {
  mlir::Value base;                 // bytes of lane 0
  std::optional<int64_t> laneBytes; // between lanes, where known
  mlir::Value runtimeBytes;         // between lanes, where it is known when running
  mlir::Value offsets;              // vector of bytes, where it is neither
  Index pieces;                     // between lanes that go through two axes; period 0: they do not
  int64_t phase = 0;                // bytes that an interleaved axis adds to a common start
  bool fromStart = true;            // the common start is one: all between two lanes lies behind it
};

Access accessOf(const Lanes &l, const Memory &memory, const Buffer &buffer,
                llvm::ArrayRef<Index> at);

/// Of a lane from its index' base, where that is known.
int64_t offsetOf(const Index &index, int64_t lane);

} // namespace penstock::conversion
