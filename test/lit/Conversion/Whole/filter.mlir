// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// The state is carried in registers from element to element, in f64.
// CHECK-LABEL: func.func @filters(
// CHECK: arith.divf
// CHECK: scf.for {{.*}} iter_args({{.*}}, {{.*}}) -> (f64, f64)
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: arith.subf
// CHECK: arith.truncf
// CHECK: return
pipe.kernel @filters "pixels" {
^bb0(%x: !pipe.tensor<f32[c=2, t=90]>, %b: !pipe.tensor<f64[j=3]>, %a: !pipe.tensor<f64[j=2]>):
  %0 = pipe.filter %x along "t" by %b over %a : !pipe.tensor<f32[c=2, t=90]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=2]> -> !pipe.tensor<f32[c=2, t=90]>
  pipe.return %0 : !pipe.tensor<f32[c=2, t=90]>
}
