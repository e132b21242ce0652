// RUN: penstock compile --from llvm %s --emit asm --target x86-64-v3 --no-cache | FileCheck %s
// RUN: penstock compile --from llvm %s --emit asm --target x86-64-v4 --no-cache | FileCheck %s
// REQUIRES: penstock

// Of the smaller one of two f16 that are no NaN, LLVM would make a call of `fminf`.
// CHECK-LABEL: smaller:
// CHECK-NOT: fmin
// CHECK: cmov
// CHECK-NOT: fmin
// CHECK: ret
llvm.func @smaller(%args: !llvm.ptr) -> i32 attributes {pipe.checks = [], pipe.kind = "pixels", pipe.scratch = [], pipe.scratch_fixed = 0 : i64, pipe.stop = 56 : i64} {
  %fine = llvm.mlir.constant(0 : i32) : i32
  %zero = llvm.mlir.constant(0.0 : f16) : f16
  %byte = llvm.load %args : !llvm.ptr -> i8
  %half = llvm.sitofp %byte : i8 to f16
  %less = llvm.fcmp "olt" %half, %zero : f16
  %least = llvm.select %less, %half, %zero : i1, f16
  llvm.store %least, %args : f16, !llvm.ptr
  llvm.return %fine : i32
}
