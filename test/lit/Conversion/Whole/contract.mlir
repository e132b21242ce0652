// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// Columns of the matrix lie on lanes, and four rows of the value share what is loaded of it. Products and sums
// are rounded apart.
// CHECK-LABEL: func.func @contracts(
// CHECK: scf.for {{.*}} step %c4
// CHECK: scf.for {{.*}} step %c8
// CHECK: llvm.load {{.*}} -> f32
// CHECK: llvm.load {{.*}} -> vector<8xf32>
// CHECK: vector.splat
// CHECK: arith.mulf {{.*}} : vector<8xf32>
// CHECK-NOT: llvm.intr.fma
// CHECK: return
pipe.kernel @contracts "pixels" {
^bb0(%x: !pipe.tensor<f32[t=9, f=40]>, %m: !pipe.tensor<f32[f=40, mel=16]>):
  %0 = pipe.contract %x by %m : !pipe.tensor<f32[t=9, f=40]>, !pipe.tensor<f32[f=40, mel=16]> -> !pipe.tensor<f32[t=9, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=9, mel=16]>
}

// Of 128 products or more each partial sum is stored: two vectors of four rows at a time, of which each has four products, and one more
// where 130 leave two over. What it meets in the tree, 16 sums further on, is added to it at once.
// CHECK-LABEL: func.func @stores(
// CHECK: scf.for {{.*}} step %c4
// CHECK: scf.for {{.*}} step %c16
// CHECK: scf.for %{{.*}} = %c0{{.*}} to %c2
// CHECK-COUNT-20: arith.mulf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.mulf
// CHECK-COUNT-8: llvm.store {{.*}} : vector<8xf32>
// CHECK-COUNT-16: arith.mulf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.mulf
// CHECK-COUNT-8: llvm.store {{.*}} : vector<8xf32>
// CHECK: scf.for %{{.*}} = %c2{{.*}} to %c16
// CHECK-COUNT-32: arith.mulf {{.*}} : vector<16xf32>
// CHECK-NOT: arith.mulf
// CHECK: return
pipe.kernel @stores "pixels" {
^bb0(%x: !pipe.tensor<f32[t=9, f=130]>, %m: !pipe.tensor<f32[f=130, mel=32]>):
  %0 = pipe.contract %x by %m : !pipe.tensor<f32[t=9, f=130]>, !pipe.tensor<f32[f=130, mel=32]> -> !pipe.tensor<f32[t=9, mel=32]>
  pipe.return %0 : !pipe.tensor<f32[t=9, mel=32]>
}
