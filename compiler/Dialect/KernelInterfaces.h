//===- KernelInterfaces.h - what the compiler asks of ops -------*- C++ -*-===//
#ifndef PENSTOCK_COMPILER_DIALECT_KERNELINTERFACES_H
#define PENSTOCK_COMPILER_DIALECT_KERNELINTERFACES_H

#include "mlir/IR/OpDefinition.h"

namespace penstock::pipe {

/// What an op does with tensors, and what stands beside that.
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

/// The answer of ops that are of one class wherever they stand.
template <OpClass opClass> struct OfClass {
  template <typename ConcreteOp>
  struct Impl : mlir::OpTrait::TraitBase<ConcreteOp, Impl> {
    OpClass getOpClass() { return opClass; }
  };
};

/// One size per dynamic axis of the results of a SizedOpInterface; else it says so.
mlir::LogicalResult verifySizes(mlir::Operation *op);

} // namespace penstock::pipe

#include "compiler/Dialect/KernelInterfaces.h.inc"

namespace penstock::pipe {

/// The class of an op; what other dialects compute are scalars.
inline OpClass classOf(mlir::Operation *op) {
  auto classified = llvm::dyn_cast<ClassifiedOpInterface>(op);
  return classified ? classified.getOpClass() : OpClass::scalar;
}

/// Whether a result or an operand, also one used inside a region, is a tensor.
bool touchesTensors(mlir::Operation *op);

/// Whether `op` computes scalars from scalars and has no effect, with all that
/// its regions hold; it may then be evaluated where its result is not needed.
bool isPureScalar(mlir::Operation *op);

} // namespace penstock::pipe

#endif
