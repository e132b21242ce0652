// SPDX-License-Identifier: Apache-2.0
//
// Cost and value of a pointwise region.
#pragma once

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::analysis {

/// Cost of one element, in units of an f32 addition (docs/rationale/tables.md).
int64_t costOf(mlir::Block &body);
/// The share of one operation.
int64_t costOf(mlir::Operation &op);

/// Returns what the region yields for known arguments, computed by the folders of the
/// dialect and so with the bits of runtime/abi/scalar.h. Null where something
/// is not known. `arguments` may hold nulls for unused ones. `values`, if
/// given, gets every value on the way.
mlir::Attribute evaluate(mlir::Block &body, llvm::ArrayRef<mlir::Attribute> arguments,
                         llvm::DenseMap<mlir::Value, mlir::Attribute> *values = nullptr);

/// A map of one u8 element: what pipe-narrow and pipe-collapse-tables look at.
struct ByteMap {
  pipe::MapOp map;
  /// Position of the u8 input among the inputs.
  unsigned input = 0;
  /// The small static axis whose coordinate, or whose constants, the region
  /// also reads; -1 if none.
  int64_t axis = -1;
  /// Whether nothing but constants is read beside the element.
  bool isConstant = false;

  int64_t extent() const;
  /// Returns what the region yields for element `byte` at coordinate `at` of `axis`.
  mlir::Attribute valueAt(int64_t byte, int64_t at,
                          llvm::DenseMap<mlir::Value, mlir::Attribute> *values = nullptr) const;
};

/// Recognises a ByteMap. On failure `reason` says why, for a remark.
std::optional<ByteMap> byteMapOf(pipe::MapOp map, std::string &reason);

} // namespace penstock::analysis
