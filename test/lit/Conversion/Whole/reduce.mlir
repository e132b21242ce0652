// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// A sum of floats has 32 partial sums, which are added by halves; two rows at once.
// CHECK-LABEL: func.func @reduces(
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<32xf32>, vector<32xf32>)
// CHECK: arith.addf {{.*}} : vector<32xf32>
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: arith.addf {{.*}} : vector<2xf32>
// CHECK: llvm.store {{.*}} : vector<2xf32>
// CHECK: return
pipe.kernel @reduces "pixels" {
^bb0(%x: !pipe.tensor<f32[t=9, k=100]>):
  %0 = pipe.reduce sum %x over ["k"] : !pipe.tensor<f32[t=9, k=100]> -> !pipe.tensor<f32[t=9]>
  pipe.return %0 : !pipe.tensor<f32[t=9]>
}
