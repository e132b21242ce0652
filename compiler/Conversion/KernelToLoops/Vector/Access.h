// SPDX-License-Identifier: Apache-2.0
//
// Where lanes lie in memory.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"

namespace penstock::conversion {

/// On a load of numbers from what was stored before the loops at hand.
constexpr llvm::StringLiteral completeLoad("pipe.complete");

/// Returns the type of elements in memory.
inline mlir::Type inMemory(const Lanes &l, mlir::Type element) {
  return element.isSignlessInteger(1) ? l.b.getI8Type() : registerType(element);
}

/// What bits in memory mean; `wide` are those of up to 4 bytes as i32, extended with zeros.
LaneValue loaded(const Lanes &l, const Buffer &buffer, mlir::Value bits);
LaneValue loadedWide(const Lanes &l, const Buffer &buffer, mlir::Value wide);

/// Where the lanes of an access lie.
struct Access {
  mlir::Value base;                 // bytes of lane 0
  std::optional<int64_t> laneBytes; // between lanes, where known
  mlir::Value runtimeBytes;         // between lanes, where it is known when running
  mlir::Value offsets;              // vector of bytes, where it is neither
  Index pieces;                     // between lanes that go through two axes; period 0: they do not
  mlir::Value
      turns; // bytes between runs that lanes take turns among, where it is known when running
  int64_t phase = 0;     // bytes that an interleaved axis adds to a common start
  bool fromStart = true; // the common start is one: all between two lanes lies behind it
};

/// `takesTurns`: whether runs may lie as far apart as it is known when running.
Access accessOf(const Lanes &l, const Memory &memory, const Buffer &buffer,
                llvm::ArrayRef<Index> at, bool takesTurns = false);

/// Of a lane from its index' base, where that is known.
int64_t offsetOf(const Index &index, int64_t lane);

/// Returns whether lanes that go through two axes take turns among runs of some elements: those of
/// one turn lie side by side.
bool areRuns(const Lanes &l, const Index &apart, int64_t size);

using AddressOf = llvm::function_ref<mlir::Value(int64_t lane)>;
/// Lanes that lie anywhere, one by one.
mlir::Value gatherEach(const Memory &m, mlir::Type type, AddressOf addressOf, bool constant);
/// The same, `phase` bytes behind these addresses.
LaneValue gather(const Memory &m, const Buffer &buffer, AddressOf addressOf, int64_t phase);
LaneValue gatherOffsets(const Memory &m, const Buffer &buffer, llvm::ArrayRef<Index> at,
                        const Access &access);

} // namespace penstock::conversion
