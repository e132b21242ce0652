// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// The places of the elements that are kept are listed without a branch; then they are copied, and 0 stands behind them.
// CHECK-LABEL: func.func @compacts(
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.extui {{.*}} : i1 to i64
// CHECK: scf.yield
// CHECK: scf.for
// CHECK: llvm.load {{.*}} -> f32
// CHECK: llvm.store {{.*}} : f32
// CHECK: scf.for
// CHECK: llvm.store {{.*}} : f32
// CHECK-NOT: scf.if
// CHECK: return
pipe.kernel @compacts "pixels" {
^bb0(%x: !pipe.tensor<f32[k=9, xyz=3]>, %m: !pipe.tensor<bool[k=9]>):
  %0, %1 = pipe.compact %x along "k" where %m : !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<bool[k=9]> -> !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[]>
  pipe.return %0, %1 : !pipe.tensor<f32[k=9, xyz=3]>, !pipe.tensor<i64[]>
}
