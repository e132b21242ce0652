// SPDX-License-Identifier: Apache-2.0
//
// How far apart elements of a kernel's tensors lie in memory.
#pragma once

#include "compiler/Analysis/WindowMargins.h"
#include <functional>

namespace penstock::analysis {

/// Bytes between neighbours along each axis; null where nobody knows when compiling.
using Strides = llvm::SmallVector<std::optional<int64_t>>;

/// How many outer axes of a kernel's tensor lie where the runtime says: those outside of n, and
/// the outermost one, of a decoded region, of a batch, of a plane. A single axis is dense but where
/// n lies inside of it.
int64_t axesOfRuntime(pipe::NamedTensorType type, int64_t outsideBatch);

/// Of the type's dense layout: an axis further out than a dynamic one has none that is known.
Strides denseStrides(pipe::NamedTensorType type);
/// Of what a kernel gets from its caller, as one of its inputs or outputs, by number.
Strides inputStrides(pipe::KernelOp kernel, int64_t number);
Strides outputStrides(pipe::KernelOp kernel, int64_t number);

/// Room for a tensor of known extents and its margins: bytes before the first element, and in all.
struct Room {
  Strides strides;
  int64_t before, bytes;
};
/// Rows begin where lines do: half of the reads of long vectors would touch two otherwise.
Room roomOf(pipe::NamedTensorType type, const Margin &margin);
/// The same without margins.
Room roomOf(pipe::NamedTensorType type);

/// Tensors in memory at some place in a kernel.
struct InMemory {
  /// Null where elements are computed when they are read.
  std::function<const Strides *(mlir::Value)> stridesOf;
  /// Returns whether what a window reads outside of its input is there.
  std::function<bool(pipe::WindowOp)> hasMargin;
  /// Returns the value of the arm of a choice that is known to be taken; null for anything else.
  std::function<mlir::Value(mlir::Value)> armOf = [](mlir::Value) { return mlir::Value(); };
};

/// How many elements lie between neighbours along an axis of `tensor`: the most of all that is
/// read; 0 where the axis does not count, null where nobody can tell.
std::optional<int64_t> elementsApart(const InMemory &memory, mlir::Value tensor, int64_t axis);
/// Returns whether axes that follow each other, `names`, are one run of elements wherever they are
/// read: an index of the last one may then go through all of them.
bool isOneRun(const InMemory &memory, mlir::Value tensor, llvm::ArrayRef<llvm::StringRef> names);
/// How many of the last axes of `tensor` are one run of elements wherever they are read: lanes
/// along the last one may then go through all of them.
int64_t axesInRun(const InMemory &memory, mlir::Value tensor);

} // namespace penstock::analysis
