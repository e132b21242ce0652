// SPDX-License-Identifier: Apache-2.0
//
// Tables among which neighbours take turns (`#schedule.turns`).
#pragma once

#include "compiler/Conversion/KernelToLoops/Context.h"

namespace penstock::conversion {

/// The buffer of a result of integers, and others in scratch; all are added up at the end.
class Turns {
public:
  /// As many as the schedule gives `op`, whose result they are.
  static mlir::FailureOr<Turns> of(const Site &site, mlir::Operation *op);

  const Buffer &first() const { return tables.front(); }
  /// Stores 0 everywhere, from table `begin` on.
  void clear(size_t begin) const;
  /// Runs `body` for `size` numbers from `first` on, in their order. `known` is that size, where
  /// there are several tables.
  void forEach(mlir::Value first, mlir::Value size, int64_t known,
               llvm::function_ref<void(mlir::Value, const Buffer &)> body) const;
  /// Adds all tables up in the first.
  void addUp() const;

private:
  Turns(const Site &site, mlir::Value result) : site(site), result(result) {}
  void overElements(llvm::function_ref<void(const Site &, llvm::ArrayRef<Index>)> body) const;

  const Site &site;
  mlir::Value result;
  llvm::SmallVector<Buffer> tables;
};

} // namespace penstock::conversion
