// SPDX-License-Identifier: Apache-2.0
//
// The contract of codegen with a function that was a kernel.
//
// Conversion writes it with the functions of this header and codegen reads it with them: nobody
// else spells the attributes. Texts may hold anything, so a module that comes from one is verified
// first.
#pragma once

#include "compiler/Dialect/PipeDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace penstock::conversion {

/// Of each function: "pixels", "codec", "rows", "select" or "setup"; null for helpers.
mlir::StringAttr kindOf(mlir::Operation *function);
void setKind(mlir::Operation *function, mlir::StringAttr kind);

/// Where its first argument points to the address of the flag that stops it, in bytes; nothing for
/// functions that do not look. Conversion's own.
std::optional<int64_t> stopFlagOf(mlir::Operation *function);
void setStopFlag(mlir::Operation *function, int64_t offset);

//===--- scratch memory ------------------------------------------------------===//

/// An extent, for one who knows the kernel's arguments.
struct ArgumentExtent {
  enum class Kind : int64_t { scalar = 0, tensor = 1, number = 2 };
  Kind kind;
  int64_t value;    ///< the number of a scalar or a tensor argument, or the extent itself
  int64_t axis = 0; ///< of a tensor
};

/// So many bytes for each combination of indices below the extents.
struct ScratchTerm {
  int64_t bytes;
  llvm::SmallVector<ArgumentExtent, 4> extents;
};

/// Bytes that a call needs: fixed ones, and the sum of the terms.
struct ScratchNeed {
  int64_t fixed = 0;
  llvm::SmallVector<ScratchTerm, 2> terms;
};
ScratchNeed scratchOf(mlir::Operation *function);
void setScratch(mlir::Operation *function, const ScratchNeed &need);

//===--- draws and checks ----------------------------------------------------===//

/// A draw whose value setup leaves in a slot of the parameter block.
struct KeptDraw {
  mlir::StringAttr path;
  int64_t slot;
  mlir::Type type;
};
llvm::SmallVector<KeptDraw> drawsOf(mlir::Operation *function);
void setDraws(mlir::Operation *function, llvm::ArrayRef<KeptDraw> draws);

/// A check by its message, and the user's place. Ids are numbers of them over the module, from 1.
struct KeptCheck {
  mlir::StringAttr message, file;
  int64_t line, column;
};
llvm::SmallVector<KeptCheck> checksOf(mlir::Operation *function);
void setChecks(mlir::Operation *function, llvm::ArrayRef<KeptCheck> checks);
/// How many those are.
int64_t checkCount(mlir::Operation *function);

//===--- codecs --------------------------------------------------------------===//

/// The codec that the runtime runs in place of a function of kind "codec".
struct CodecCall {
  mlir::StringAttr codec;         ///< "jpeg", "png" or "recompress"
  std::optional<int64_t> quality; ///< its number among the scalar arguments
};
std::optional<CodecCall> codecCallOf(mlir::Operation *function);
void setCodecCall(mlir::Operation *function, const CodecCall &call);

//===--- functions for a GPU -------------------------------------------------===//

/// Where an argument comes from; all fields of a sample's record.
enum class ArgumentSource { data, extent, stride, scalar, scratch, part };
struct KernelArgument {
  mlir::StringAttr name;
  ArgumentSource source;
  std::optional<int64_t> number; ///< of the tensor (inputs, then outputs) or scalar
  std::optional<int64_t> axis;   ///< of an extent or stride
  std::optional<int64_t> bytes;  ///< of an element, where the data of a tensor are meant
};
llvm::SmallVector<KernelArgument> argumentsOf(mlir::Operation *function);
void setArguments(mlir::Operation *function, llvm::ArrayRef<KernelArgument> arguments);

/// How it is launched; only functions for a GPU have that.
struct DeviceLaunch {
  int64_t threads;                 ///< of a block
  mlir::StringAttr mapping;        ///< "grid", "block" or "tile"
  std::optional<int64_t> inputs;   ///< tensors that are inputs
  std::optional<int64_t> shared;   ///< bytes of shared memory
  std::optional<int64_t> blocks;   ///< that have work; else any number may
  std::optional<int64_t> resident; ///< blocks that are to fit on a multiprocessor at once
  /// Tensors, inputs before outputs, that lie in shared memory, from this byte on: the last that
  /// `shared` counts, but for bytes around that may be read.
  llvm::SmallVector<int64_t, 2> held = {};
  std::optional<int64_t> heldAt = {};
  bool isOneBlock() const { return mapping == "block"; }
};
std::optional<DeviceLaunch> launchOf(mlir::Operation *function);
void setLaunch(mlir::Operation *function, const DeviceLaunch &launch);

//===--- what those hold -----------------------------------------------------===//

/// A nest whose iterations are shared out.
struct ThreadNest {
  llvm::SmallVector<llvm::StringRef> axes; ///< the user's names, one for each variable
  llvm::StringRef workers; ///< "threads", "warps", "blocks", or "block": its own threads
  bool isNarrow;           ///< the number of iterations fits 32 bits
};
ThreadNest nestOf(mlir::scf::ParallelOp nest);
void setNest(mlir::scf::ParallelOp nest, const ThreadNest &note);

/// A load or store of one element that is done together with those of its neighbours.
struct RunAccess {
  int64_t place, length; ///< of this one, of how many
  int64_t number = 0;    ///< loads: of the run, in the function
  int64_t alignment = 0; ///< loads: in bytes, where it is known
};
std::optional<RunAccess> runOf(mlir::memref::LoadOp load);
std::optional<RunAccess> runOf(mlir::memref::StoreOp store);
void setRun(mlir::memref::LoadOp load, const RunAccess &run);
void setRun(mlir::memref::StoreOp store, const RunAccess &run);

/// An array of a thread's own that is to be held in registers, so that its elements have no
/// addresses, and a loop over them that is unrolled, so that each place is known; or one that is
/// unrolled by a number of turns, whose loads do not wait for each other.
bool isInRegisters(mlir::memref::AllocaOp array);
void setInRegisters(mlir::memref::AllocaOp array);
std::optional<int64_t> unrolledBy(mlir::scf::ForOp loop); ///< 0: whole
void setUnrolled(mlir::scf::ForOp loop, int64_t turns = 0);

/// The name in penstock.cuh of a function that is only called; null for others.
mlir::StringAttr deviceNameOf(mlir::Operation *function);
void setDeviceName(mlir::Operation *function, mlir::StringAttr name);

/// Returns the elements of a table of constants.
mlir::DenseElementsAttr elementsOf(mlir::memref::GlobalOp table);
void setElements(mlir::memref::GlobalOp table, mlir::DenseElementsAttr elements);

//===--- from a text ---------------------------------------------------------===//

/// Returns whether what functions of `module` say can be read, and fits their arguments; else an
/// error at the function.
mlir::LogicalResult verifyContracts(mlir::ModuleOp module);

} // namespace penstock::conversion
