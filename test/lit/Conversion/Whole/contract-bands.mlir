// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// Where rows of the value are many, it is found out which rows of the matrix are not 0 in each column, eight columns at a time: the first
// and the last one. Eight rows of the value are transposed then, unless they hold an infinity or a NaN, and a column takes a few rows more
// than it has at most, without a loop up to 64, else turns of 32.
// CHECK-LABEL: func.func @bands(
// CHECK: arith.cmpi ne, {{.*}} : vector<8xi32>
// CHECK: arith.minsi {{.*}} : vector<8xi32>
// CHECK: %[[HALF:.*]] = arith.constant 768 : i64
// CHECK-NEXT: %[[BANDED:.*]] = arith.cmpi sle, {{.*}}, %[[HALF]] : i64
// CHECK-NEXT: scf.if %[[BANDED]] {
// CHECK-COUNT-8: arith.subf {{.*}} : vector<8xf32>
// CHECK: arith.cmpf uno
// CHECK: arith.cmpi sle, %[[COUNT:.*]], %c16_i64
// CHECK: arith.cmpi sle, %[[COUNT]], %c4_i64
// CHECK: arith.cmpi sle, %[[COUNT]], %c32_i64
// CHECK: arith.cmpi sle, %[[COUNT]], %c64_i64
// CHECK: arith.divsi %[[COUNT]], %c32_i64
pipe.kernel @bands "pixels" {
^bb0(%x: !pipe.tensor<f32[t=40, f=96]>, %m: !pipe.tensor<f32[f=96, mel=16]>):
  %0 = pipe.contract %x by %m : !pipe.tensor<f32[t=40, f=96]>, !pipe.tensor<f32[f=96, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0 : !pipe.tensor<f32[t=40, mel=16]>
}
