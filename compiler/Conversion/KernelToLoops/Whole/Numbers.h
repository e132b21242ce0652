// SPDX-License-Identifier: Apache-2.0
//
// Lists of numbers in scratch memory.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"

namespace penstock::conversion {

/// i64 numbers in scratch.
struct Numbers {
  const Lanes &l;
  const Memory &m;
  mlir::Value start;

  mlir::Value read(mlir::Value index) const { return m.loadPlain(l.b.getI64Type(), place(index)); }
  void write(mlir::Value index, mlir::Value number) const { m.storePlain(number, place(index)); }
  mlir::Value place(mlir::Value index) const { return m.address(start, l.shl(index, 3)); }
};

} // namespace penstock::conversion
