//===- OpClass.h - the class of an op: I, P, H, G, R, M ---------*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_ANALYSIS_OPCLASS_H
#define PENSTOCK_COMPILER_ANALYSIS_OPCLASS_H

#include "compiler/Dialect/PipeDialect.h"

namespace penstock::analysis {

/// The classes of design.md, section 5, and what stands beside them.
enum class OpClass {
  scalar,   ///< no tensor in or out: select and setup
  constant, ///< a tensor known when compiling: copied to its users
  weights,  ///< tap tables of a resampling
  index,
  point,
  halo,
  gather,
  barrier,
  codec,  ///< encode, recompress: a kernel of its own, which the runtime is
  media,  ///< decode, tensor field: the runtime's work
  peer,   ///< the value of another sample, or of all: a stage boundary
  branch, ///< choose or repeat with an arm that is not pointwise
  other   ///< output, batch, launch and so on
};

OpClass classOf(mlir::Operation *op);

/// Whether a result or an operand, also one used inside a region, is a tensor.
bool touchesTensors(mlir::Operation *op);

/// Whether `op` computes scalars from scalars and has no effect, with all that
/// its regions hold; it may then be evaluated where its result is not needed.
bool isPureScalar(mlir::Operation *op);

/// Moves `op` and the scalar ops that it depends on before `before`, which
/// stands in the same block or a block around it. Returns false, moving
/// nothing, if it depends on a value defined after `before` that cannot move.
bool hoistScalars(mlir::Value value, mlir::Operation *before);

} // namespace penstock::analysis

#endif
