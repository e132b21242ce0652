// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// The base, then element after element; the four floats of a point go as one vector.
// CHECK-LABEL: func.func @scatters(
// CHECK: scf.for
// CHECK: arith.cmpi sge
// CHECK: scf.if
// CHECK: arith.addf {{.*}} : vector<4xf32>
// CHECK: return
pipe.kernel @scatters "pixels" {
^bb0(%b: !pipe.tensor<f32[m=8, xyz=4]>, %x: !pipe.tensor<f32[k=90, xyz=4]>, %g: !pipe.tensor<i64[k=90]>):
  %0 = pipe.scatter sum %b by %x along "k" over ["m"] at (%g) : !pipe.tensor<f32[m=8, xyz=4]>, !pipe.tensor<f32[k=90, xyz=4]>, !pipe.tensor<i64[k=90]> -> !pipe.tensor<f32[m=8, xyz=4]>
  pipe.return %0 : !pipe.tensor<f32[m=8, xyz=4]>
}

// From the last element on: the first one to come is stored last.
// CHECK-LABEL: func.func @takes_the_first(
// CHECK: arith.subi %c89_i64
// CHECK: scf.if
// CHECK-NOT: arith.addf
// CHECK: return
pipe.kernel @takes_the_first "pixels" {
^bb0(%b: !pipe.tensor<f32[m=8]>, %x: !pipe.tensor<f32[k=90]>, %g: !pipe.tensor<i64[k=90]>):
  %0 = pipe.scatter first %b by %x along "k" over ["m"] at (%g) : !pipe.tensor<f32[m=8]>, !pipe.tensor<f32[k=90]>, !pipe.tensor<i64[k=90]> -> !pipe.tensor<f32[m=8]>
  pipe.return %0 : !pipe.tensor<f32[m=8]>
}
