// SPDX-License-Identifier: Apache-2.0
//
// Interfaces that ops implement.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"

namespace penstock::pipe {

/// Kinds of ops, by what they do with tensors or beside them.
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
  template <typename ConcreteOp> struct Impl : mlir::OpTrait::TraitBase<ConcreteOp, Impl> {
    OpClass getOpClass() { return opClass; }
  };
};

/// How a kernel computes an op.
enum class KernelForm {
  inlined, ///< an element is computed where it is read, unless a schedule stores it
  whole,   ///< all of it, before any of it is read; rows or elements do not need each other
  passes,  ///< the same, but some parts of it are done before others begin
  runtime  ///< not at all: the runtime does it, or a kernel of its own is
};
template <KernelForm form> struct OfForm {
  template <typename ConcreteOp> struct Impl : mlir::OpTrait::TraitBase<ConcreteOp, Impl> {
    KernelForm getKernelForm() { return form; }
  };
};

/// Ways in which an element of a result reads the inputs. Elements of own, moved and joined
/// are inputs' elements, or computed of one element of each input.
enum class InputAccess {
  nothing,
  own,    ///< of each input, the element at its own place along the axes that the input has
  moved,  ///< the element of the one input at another place
  joined, ///< an element of one of the inputs
  once,   ///< several, each of which is read once by the whole op
  often   ///< several, which others read too, or one after the other: kept where they cost anything
};
template <InputAccess access> struct OfAccess {
  template <typename ConcreteOp> struct Impl : mlir::OpTrait::TraitBase<ConcreteOp, Impl> {
    InputAccess getInputAccess() { return access; }
  };
};

/// The indices `low` ..< `high` of an axis; null for the whole axis.
struct AxisRange {
  mlir::Value low, high;
  bool isWhole() const { return !low; }
};
using Box = llvm::SmallVector<AxisRange>;

/// Who asks an op which boxes of its inputs it reads (RequiredBoxOpInterface).
class BoxRequest {
public:
  virtual ~BoxRequest() = default;
  /// Where the numbers of boxes are computed.
  virtual mlir::OpBuilder &at() = 0;
  /// Returns whether a scalar is there at that place.
  virtual bool isKnown(mlir::Value scalar) const = 0;
  virtual void need(mlir::Value tensor, const Box &box) = 0;
  void needWhole(mlir::Value tensor);
};

/// The answer of ops that read all of their inputs.
void needAllInputs(mlir::Operation *op, BoxRequest &request);
template <typename ConcreteOp>
struct NeedsAllInputs : mlir::OpTrait::TraitBase<ConcreteOp, NeedsAllInputs> {
  void requireInputs(const Box &, BoxRequest &request) {
    needAllInputs(this->getOperation(), request);
  }
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

/// How a kernel computes an op with tensor results.
inline KernelForm formOf(mlir::Operation *op) {
  auto tensors = llvm::dyn_cast<TensorOpInterface>(op);
  return tensors ? tensors.getKernelForm() : KernelForm::runtime;
}

/// Returns what an element of `op` reads of its inputs; null where `op` is null, or none of those
/// that compute tensors.
inline std::optional<InputAccess> inputAccessOf(mlir::Operation *op) {
  auto tensors = llvm::dyn_cast_if_present<TensorOpInterface>(op);
  return tensors ? std::optional(tensors.getInputAccess()) : std::nullopt;
}
/// Returns whether an element is computed of one element of each input.
inline bool readsOneOfEach(mlir::Operation *op) {
  const auto access = inputAccessOf(op);
  return access == InputAccess::own || access == InputAccess::moved;
}

/// Returns whether a result or an operand, also one used inside a region, is a tensor.
bool touchesTensors(mlir::Operation *op);

/// Returns whether `op` computes scalars from scalars and has no effect, with all that
/// its regions hold; it may then be evaluated where its result is not needed.
bool isPureScalar(mlir::Operation *op);

} // namespace penstock::pipe
