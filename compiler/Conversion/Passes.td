// SPDX-License-Identifier: Apache-2.0
//
// From kernels to loops and to the LLVM dialect -*- tablegen.
#ifndef PENSTOCK_CONVERSION_PASSES_TD
#define PENSTOCK_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def KernelToLoops : Pass<"pipe-kernel-to-loops", "::mlir::ModuleOp"> {
  let summary = "Turn every kernel into a function of loops";
  let description = [{
    Each `pipe.kernel` becomes `func.func @name(!llvm.ptr) -> i32` (the contract
    of runtime/abi/kernel.h) over scf, arith, vector, lane and plain LLVM loads and
    stores. The `schedule` of a kernel says how; without one the code is right
    and slow. The function's attributes tell the plan what it needs: `pipe.kind`;
    `pipe.scratch_fixed` bytes and `pipe.scratch` terms (a dim is {0, scalar
    argument}, {1, tensor argument, axis} or {2, number}); `pipe.checks`, whose
    ids count from 1 over the functions of the module; `pipe.draws`, those that
    a slot holds. The pipeline op stays.

    ```mlir
    pipe.kernel @k "pixels" {
    ^bb0(%x: !pipe.tensor<u8[w=4]>):
      pipe.return %x : !pipe.tensor<u8[w=4]>
    }
    // becomes
    func.func @k(%args: !llvm.ptr) -> i32 { ... }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
    "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect",
    "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect",
    "::penstock::lane::LaneDialect"
  ];
}

def AddCancellationPoints : Pass<"pipe-add-cancellation-points", "::mlir::ModuleOp"> {
  let summary = "Let loops that may run long look whether they shall stop";
  let description = [{
    Estimates the work of every loop from the ends of its range where these are
    known. Loops that may take more than a millisecond get a
    `pipe.cancellation_point` at the end of their bodies, or of runs of iterations
    where one is short. Functions say with `pipe.stop` how many bytes behind their
    first argument the flag's address lies; those that do not say it cannot stop.
    A loop with the attribute `pipe.short` is left as it is.

    ```mlir
    scf.for %i = %c0 to %n step %c1 {
      ...
    }
    // becomes
    scf.for %j = %c0 to %n step %c256 {
      %last = arith.addi %j, %c256 : i64
      %end = arith.minsi %last, %n : i64
      scf.for %i = %j to %end step %c1 {
        ...
      }
      %more = arith.cmpi slt, %last, %n : i64
      scf.if %more {
        pipe.cancellation_point %flag : !llvm.ptr
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect"];
}

def RemoveRepeats : Pass<"pipe-remove-repeats", "::mlir::ModuleOp"> {
  let summary = "Leave out operations of loops that repeat what is known";
  let description = [{
    Upstream's elimination of common subexpressions, for functions whose blocks are
    not too long for it: index arithmetic of the loops repeats itself. Functions with
    a block of more than 8,192 operations stay as they are.

    ```mlir
    %a = arith.muli %i, %width : i64
    %b = arith.muli %i, %width : i64
    // becomes
    %a = arith.muli %i, %width : i64
    ```
  }];
}

def LoopsToLLVM : Pass<"pipe-loops-to-llvm", "::mlir::ModuleOp"> {
  let summary = "Turn loops into the LLVM dialect, and drop the pipeline";
  let description = [{
    Upstream's conversions. What is left refers to no other module: no libm, no
    memcpy, helpers are private functions.
  }];
  let dependentDialects = ["::mlir::cf::ControlFlowDialect", "::mlir::LLVM::LLVMDialect"];
  let options = [
    Option<"level", "level", "int", "3", "what code is made for, as compiler/Lane/Features.h numbers it; its architecture counts here">
  ];
}

def KernelToGpu : Pass<"pipe-kernel-to-gpu", "::mlir::ModuleOp"> {
  let summary = "Turn scheduled kernels into what the threads of a GPU do for one sample";
  let description = [{
    Kernels whose schedule names `threads` become functions over scf, arith,
    memref and the scalar ops of pipe; others stay. A `scf.parallel` with
    `pipe.workers` deals its elements (one per axis in `pipe.axes`) out to the
    "threads", the "warps" or the "blocks" of the sample; between nests stand barriers. Loads and stores of
    neighbours that one access may take have a `pipe.run`: the place in it, its length, and of loads its
    number and the alignment that is known. Each
    argument says in `pipe.arguments` where it comes from. `pipe.scratch` and
    `pipe.scratch_fixed` are those of the CPU's kernels.

    ```mlir
    pipe.kernel @k "pixels" schedule {mapping = "grid", threads = 256 : i64} {
    ^bb0(%x: !pipe.tensor<u8[w=4]>):
      pipe.return %x : !pipe.tensor<u8[w=4]>
    }
    // becomes
    func.func @k(%in0: memref<?xui8>, %out0: memref<?xui8>) attributes {pipe.mapping = "grid", ...} {
      scf.parallel (%w) = (%c0) to (%c4) step (%c1) {
        %0 = memref.load %in0[%w] : memref<?xui8>
        memref.store %0, %out0[%w] : memref<?xui8>
      } {pipe.axes = ["w"], pipe.workers = "threads"}
      return
    }
    ```
  }];
  let dependentDialects = [
    "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect",
    "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"
  ];
}

#endif
