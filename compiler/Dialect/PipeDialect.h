// SPDX-License-Identifier: Apache-2.0
//
// The pipe dialect: types, attributes, ops.
#pragma once

#include "compiler/Dialect/KernelInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace penstock::pipe {

/// One axis of a tensor type.
struct Axis {
  std::string name;
  /// The static extent, or -1 where it is known per sample only.
  int64_t extent = -1;
  /// Of a dynamic extent: its largest value, or -1 if none is stated.
  int64_t bound = -1;
  /// Colour space, box format and so on; may be empty.
  std::string metadata;

  bool isStatic() const { return extent >= 0; }
  bool operator==(const Axis &) const = default;
};
llvm::hash_code hash_value(const Axis &axis);

/// Returns whether `type` is one of the eleven element types.
bool isScalarType(mlir::Type type);
/// Returns whether values of `type` compare and convert as unsigned numbers.
inline bool isUnsigned(mlir::Type type) { return type.isUnsignedInteger(); }
inline bool isBool(mlir::Type type) { return type.isSignlessInteger(1); }
inline bool isFloat(mlir::Type type) { return llvm::isa<mlir::FloatType>(type); }
/// The language's name of an element type: `u8`, `f16`, `bool`.
llvm::StringRef scalarName(mlir::Type type);
/// The element type of that name, or null.
mlir::Type scalarType(mlir::MLIRContext *context, llvm::StringRef name);
/// Bytes of one element in memory (bool: 1).
int64_t scalarBytes(mlir::Type type);

} // namespace penstock::pipe

#include "compiler/Dialect/PipeEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/Dialect/PipeAttrs.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/Dialect/PipeTypes.h.inc"

#include "compiler/Dialect/PipeDialect.h.inc"

#define GET_OP_CLASSES
#include "compiler/Dialect/PipeOps.h.inc"

namespace penstock::pipe {

/// The type of a value that is a tensor.
inline NamedTensorType tensorOf(mlir::Value tensor) {
  return llvm::cast<NamedTensorType>(tensor.getType());
}

/// Most values that are made in the kernel that joins them by a stack or a concat.
constexpr size_t mostJoined = 8;

/// The extent of axis `axis` (a position) of `value`: an attribute where it is
/// static, else the size operand of the definition, or null for a block
/// argument (see pipe.extent).
mlir::OpFoldResult extentOf(mlir::Value value, int64_t axis);
/// The same as a value; creates a constant where it is static, and a
/// pipe.extent for a block argument.
mlir::Value extentValue(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                        int64_t axis);
/// The encode or recompress that a kernel of kind `codec` is; null where its
/// body is not one whose results it returns.
mlir::Operation *codecOf(KernelOp kernel);
/// Returns whether a kernel comes before what crosses to a GPU: the host runs it.
bool isOfHost(KernelOp kernel);
/// Returns whether a GPU runs it, as pipe-place-kernels says.
bool isOfGpu(KernelOp kernel);

/// Attaches a remark of `pass` to `op`; `penstock explain` prints them.
void addRemark(mlir::Operation *op, llvm::StringRef pass, const llvm::Twine &text);

} // namespace penstock::pipe
