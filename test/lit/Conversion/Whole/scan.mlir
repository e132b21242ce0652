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

// What a running maximum carries has the canonical NaN alone, whose bits nothing takes on its way.
// CHECK-LABEL: func.func @largest(
// CHECK: llvm.load {{.*}} vector<16xf32>
// CHECK-NOT: dense<2143289344>
// CHECK: llvm.store {{.*}} vector<8xf32>
// CHECK-NOT: dense<2143289344>
// CHECK: return
pipe.kernel @largest "pixels" {
^bb0(%x: !pipe.tensor<f32[h=50, w=64]>):
  %0 = pipe.scan max %x along "h" : !pipe.tensor<f32[h=50, w=64]> -> !pipe.tensor<f32[h=50, w=64]>
  pipe.return %0 : !pipe.tensor<f32[h=50, w=64]>
}
