// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// In f64, outputs on lanes: weights and their sum, then each is divided by it and scaled by 2^22.
// CHECK-LABEL: func.func @weights(
// CHECK: arith.divf {{.*}} : f64
// CHECK: scf.for {{.*}} step %c4
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<4xf64>)
// CHECK: llvm.intr.fabs
// CHECK: arith.addf
// CHECK: scf.for
// CHECK: arith.divf {{.*}} : vector<4xf64>
// CHECK: arith.fptosi {{.*}} : vector<4xf64> to vector<4xi32>
// CHECK: llvm.store {{.*}} : i32
pipe.kernel @weights "pixels" {
^bb0(%in: i64, %out: i64, %taps: i64):
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  pipe.return %w, %s : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
}

// Lanes are the schedule's: two outputs, and one.
// CHECK-LABEL: func.func @two_outputs(
// CHECK: scf.for {{.*}} step %c2
// CHECK: arith.divf {{.*}} : vector<2xf64>
// CHECK-LABEL: func.func @one_output(
// CHECK-NOT: vector<
// CHECK: return
pipe.kernel @two_outputs "pixels" {
^bb0(%in: i64, %out: i64, %taps: i64):
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) {weights = #schedule.weights<lanes = 2>} : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  pipe.return %w, %s : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
}
pipe.kernel @one_output "pixels" {
^bb0(%in: i64, %out: i64, %taps: i64):
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) {weights = #schedule.weights<lanes = 1>} : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  pipe.return %w, %s : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
}
