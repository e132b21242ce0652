// SPDX-License-Identifier: Apache-2.0
//
// Joined launches that are connected by what they hand on.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace penstock::schedules {

/// The stack of parts along the first axis of the output that is all that a kernel's elements are
/// made of, place by place, but for tables; null if there is none.
pipe::StackOp partsOf(pipe::KernelOp kernel);
/// The numbers of a kernel's arguments that a value inside of it is made of.
llvm::SetVector<int64_t> argumentsBehind(mlir::Value value);

/// What reads these values, also as the choice of a switch: no switches.
llvm::SetVector<mlir::Operation *> readersOf(mlir::ValueRange values);

/// The launches of a group, and the chains that they are.
class LaunchChains {
public:
  LaunchChains(llvm::ArrayRef<pipe::LaunchOp> launches, const mlir::SymbolTable &symbols);

  /// The launches of which several parts are made, such as a resize that all views read: no chain
  /// can have them. In their order.
  llvm::SmallVector<pipe::LaunchOp> sharedByParts() const;
  /// Finds the chains, and numbers them: as the parts of an output that are made of them, then the
  /// others. False where parts have no chain each.
  bool find();

  size_t count() const { return numbers.size(); }
  int64_t numberOf(pipe::LaunchOp launch) { return numbers[leaderOf(launch)]; }
  /// Returns whether a launch makes a part in each chain, and is of none.
  bool isOfParts(pipe::LaunchOp launch) const { return parts.contains(launch); }
  /// Returns whether all that may read a launch's results are launches of its chain, or make parts
  /// of it.
  bool keeps(pipe::LaunchOp launch);
  pipe::KernelOp kernelOf(size_t number) const { return kernels[number]; }

private:
  llvm::SetVector<mlir::Operation *> madeOf(llvm::SetVector<mlir::Operation *> launches) const;
  bool isRead(pipe::LaunchOp launch) const;
  void connect();
  bool numberParts();
  bool numberParts(pipe::LaunchOp launch, pipe::StackOp stack);
  llvm::SetVector<mlir::Operation *> makersOf(mlir::Value tensor) const;
  llvm::SetVector<mlir::Operation *> makersOfPart(pipe::LaunchOp launch, mlir::Value part) const;
  mlir::Operation *leaderOf(mlir::Operation *launch) { return chains.getLeaderValue(launch); }

  llvm::SmallVector<pipe::LaunchOp> launches;
  llvm::SmallVector<pipe::KernelOp> kernels; ///< by launch
  llvm::DenseSet<mlir::Operation *> members, parts;
  llvm::EquivalenceClasses<mlir::Operation *> chains;
  llvm::MapVector<mlir::Operation *, int64_t> numbers; ///< of chains, by their leaders
};

} // namespace penstock::schedules
