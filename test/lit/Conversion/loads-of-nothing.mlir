// RUN: penstock-opt %s --split-input-file --pipe-schedule-cpu=level=5 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// Nothing lies behind the address of a tensor without elements: whether there are some is asked before one is read.
// CHECK-LABEL: func.func @one(
// CHECK: scf.for
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %{{.*}}, %{{.*}} : i64
// CHECK-NOT: !llvm.ptr -> vector
// CHECK: scf.if %[[SOME]] -> (
// CHECK: llvm.load {{.*}} !llvm.ptr -> vector<16xf64>
pipe.kernel @one "pixels" {
^bb0(%x: !pipe.tensor<f64[k=?, q=100]>, %k: i64):
  %0 = pipe.map() : () -> !pipe.tensor<f64[i=64]> {
  ^bb0(%i: i64):
    %1 = pipe.load %x[%k, %i] : !pipe.tensor<f64[k=?, q=100]> -> f64
    pipe.yield %1 : f64
  }
  pipe.return %0 : !pipe.tensor<f64[i=64]>
}
