// SPDX-License-Identifier: Apache-2.0
//
// Values in memory where an op of a kernel stands.
#pragma once

#include "compiler/Analysis/Strides.h"
#include "compiler/Dialect/ScheduleDialect.h"
#include "llvm/ADT/DenseSet.h"

namespace penstock::schedules {

/// Values stored where an op of a kernel stands: whoever asks goes through the ops in their order.
struct StoredValues {
  llvm::DenseSet<mlir::Value> inMemory;
  /// Results of a resampling whose rows are made when they are read.
  llvm::DenseSet<mlir::Value> rows;
  /// How far elements of those in memory lie apart, and what windows find around them.
  llvm::DenseMap<mlir::Value, analysis::Strides> strides;
  llvm::DenseMap<mlir::Value, analysis::Margin> margins;

  /// Those that a kernel begins with.
  void addArguments(pipe::KernelOp kernel);
  /// A value that is computed as a whole: into an output if it is one, else into scratch memory,
  /// `aligned` with rows at the beginnings of lines.
  void addWhole(pipe::KernelOp kernel, mlir::Value value, bool aligned);
  /// One that is stored with its margins.
  void addPadded(mlir::Value value, const analysis::Margin &margin);
  void add(mlir::Value value, analysis::Strides apart) {
    inMemory.insert(value);
    strides[value] = std::move(apart);
  }
  /// `denseInputs`: with all axes of inputs where they are if these are dense.
  analysis::InMemory memory(bool denseInputs = false) const;
};

} // namespace penstock::schedules
