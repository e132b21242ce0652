// SPDX-License-Identifier: Apache-2.0
//
// Elements that windows read beyond the ends of their axes.
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"

namespace penstock::conversion {

/// Returns whether what the window reads outside of its input is there.
bool hasMargin(const Site &site, pipe::WindowOp op);
/// Room for a tensor and its margins; the pointer is that of its first element. Rows begin where
/// lines do: half of the reads of long vectors would touch two otherwise.
mlir::FailureOr<Buffer> marginBuffer(const Site &site, mlir::Value tensor, const Margin &margin);
void keepMargins(const Site &site, mlir::Value tensor, Buffer buffer, const Margin &margin);
/// Stores what the window reads, with margins, where that pays.
mlir::LogicalResult prepareMargins(const Site &site, pipe::WindowOp op);
/// Copies the bytes of a tensor that lies elsewhere, whose axes but the outermost are dense.
void copyTensor(const Site &site, mlir::Value tensor, const Buffer &from, const Buffer &to);

} // namespace penstock::conversion
