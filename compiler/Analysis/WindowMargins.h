// SPDX-License-Identifier: Apache-2.0
//
// Margins that windows want of what they read.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::analysis {

/// Elements that a border makes up, stored around a tensor: so many along each axis.
struct Margin {
  pipe::Border border;
  llvm::SmallVector<int64_t> low, high;
};

/// Returns the tensor that a window reads, short of conversions of elements that are not stored
/// themselves.
mlir::Value rootOf(pipe::WindowOp op);
/// Returns whether the body reads so many neighbours that it becomes loops over them, where their
/// terms are alike: unrolled, few are a third faster.
bool isWide(pipe::WindowOp op);
/// Returns whether what lies outside is made of elements, or of zeros.
bool isPlain(pipe::WindowOp op);
/// The axis that lanes lie along where nothing else is said: the innermost one, but for channels.
int64_t usualLaneAxis(pipe::NamedTensorType type);
/// Channels, of which code is written for each.
constexpr int64_t mostChannels = 4;
/// The margins that windows want of `tensor`; null where there are none. `asCopy`: it is stored for
/// nothing else.
std::optional<Margin> marginOf(pipe::KernelOp kernel, mlir::Value tensor, bool asCopy);
/// Returns whether what the window reads outside of its input is in `margin`, stored around its
/// root.
bool holds(const Margin &margin, pipe::WindowOp op);

} // namespace penstock::analysis
