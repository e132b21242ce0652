// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// The elements of each group are listed in their order (a counting sort); each sum has the 32 partial sums of a reduction.
// CHECK-LABEL: func.func @reduces_by(
// CHECK: scf.if
// CHECK: scf.if
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.andi {{.*}} %c31
// CHECK: arith.addf {{.*}} : f32
// CHECK: arith.addf {{.*}} : vector<16xf32>
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK: arith.addf {{.*}} : vector<1xf32>
// CHECK: return
pipe.kernel @reduces_by "pixels" {
^bb0(%x: !pipe.tensor<f32[k=90, xyz=3]>, %g: !pipe.tensor<i64[k=90]>):
  %0 = pipe.reduce_by sum %x along "k" by %g : !pipe.tensor<f32[k=90, xyz=3]>, !pipe.tensor<i64[k=90]> -> !pipe.tensor<f32[m=4, xyz=3]>
  pipe.return %0 : !pipe.tensor<f32[m=4, xyz=3]>
}
