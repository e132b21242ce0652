// SPDX-License-Identifier: Apache-2.0
//
// Lists of numbers in scratch memory.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/LaneHalves.h"
#include "compiler/Conversion/KernelToLoops/Vector/Memory.h"

namespace penstock::conversion {

/// i64 numbers in scratch, or the lower 32 bits of some.
struct Numbers {
  const Lanes &l;
  const Memory &m;
  mlir::Value start;
  int64_t bytes = 8; ///< of each: 4 or 8

  mlir::Value read(mlir::Value index) const { return widen(m.loadPlain(type(), place(index))); }
  void write(mlir::Value index, mlir::Value number) const {
    m.storePlain(narrow(number), place(index));
  }
  /// Returns the number that read() gives where this was written.
  mlir::Value cut(mlir::Value number) const { return widen(narrow(number)); }
  mlir::Value place(mlir::Value index) const {
    return m.address(start, l.shl(index, bytes == 4 ? 2 : 3));
  }

private:
  mlir::Type type() const { return l.b.getIntegerType(static_cast<unsigned>(8 * bytes)); }
  mlir::Value widen(mlir::Value number) const {
    return bytes == 4 ? l.b.create<mlir::arith::ExtSIOp>(l.loc, l.b.getI64Type(), number) : number;
  }
  mlir::Value narrow(mlir::Value number) const {
    return bytes == 4 ? l.b.create<mlir::arith::TruncIOp>(l.loc, type(), number) : number;
  }
};

} // namespace penstock::conversion
