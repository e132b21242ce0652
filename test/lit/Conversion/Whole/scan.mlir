// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// Rows lie on lanes: pieces of eight rows are turned, added up one after the other, and turned back.
// CHECK-LABEL: func.func @scans(
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>)
// CHECK-COUNT-8: llvm.load {{.*}} -> vector<8xf32>
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: arith.addf {{.*}} : vector<8xf32>
// CHECK-COUNT-24: vector.shuffle
// CHECK-COUNT-8: llvm.store {{.*}} : vector<8xf32>
pipe.kernel @scans "pixels" {
^bb0(%x: !pipe.tensor<f32[t=100, k=40]>):
  %0 = pipe.scan sum %x along "k" : !pipe.tensor<f32[t=100, k=40]> -> !pipe.tensor<f32[t=100, k=40]>
  pipe.return %0 : !pipe.tensor<f32[t=100, k=40]>
}
