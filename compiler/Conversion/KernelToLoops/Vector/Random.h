// SPDX-License-Identifier: Apache-2.0
//
// Draws as generated code.
#pragma once

#include "compiler/Conversion/KernelToLoops/Vector/Lanes.h"

namespace penstock::conversion {

/// random.h's Key as i64 registers (or vectors of them).
struct KeyValue {
  mlir::Value state, position, epoch, view;
};

/// Emits what runtime/abi/random.h computes.
class Random {
public:
  explicit Random(const Lanes &lanes) : l(lanes) {}

  mlir::Value mix(mlir::Value state, mlir::Value value);
  KeyValue withView(const KeyValue &key, mlir::Value view);
  KeyValue mixed(const KeyValue &key, mlir::Value index);
  /// `element` is null for element 0.
  LaneValue draw(pipe::DrawKind kind, const KeyValue &key, int64_t id,
                 llvm::ArrayRef<LaneValue> args, mlir::Value element);

  /// The rounds of Philox, unrolled.
  mlir::Value rounds(const KeyValue &key, mlir::Value id, mlir::Value element);

private:
  mlir::Value bits(const KeyValue &key, int64_t id, mlir::Value element);
  mlir::Value highProduct(mlir::Value x, mlir::Value y);

  const Lanes &l;
};

} // namespace penstock::conversion
