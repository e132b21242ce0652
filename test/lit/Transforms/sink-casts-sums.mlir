// RUN: penstock-opt %s --pipe-sink-casts | FileCheck %s
// REQUIRES: penstock-opt

// A sum of f64 that were integers of up to 16 bits is exact in any order, and so the integers are added. Not so larger ones, what
// is computed, few elements, which are an expression, and floats of 32 bits, which are as fast.
// CHECK-LABEL: pipe.kernel @sums
pipe.kernel @sums "pixels" {
^bb0(%b: !pipe.tensor<u8[h=9, w=80]>, %s: !pipe.tensor<i16[w=90]>, %i: !pipe.tensor<i32[w=80]>, %f: !pipe.tensor<f32[w=80]>, %few: !pipe.tensor<u8[w=8]>):
  // CHECK: %[[WIDE:.*]] = pipe.cast value %arg0 : !pipe.tensor<u8[h=9, w=80]> -> !pipe.tensor<i64[h=9, w=80]>
  // CHECK: %[[SUM:.*]] = pipe.reduce sum %[[WIDE]] over ["w"] : <i64[h=9, w=80]> -> <i64[h=9]>
  // CHECK: pipe.cast value %[[SUM]] : !pipe.tensor<i64[h=9]> -> !pipe.tensor<f64[h=9]>
  %b32 = pipe.cast value %b : !pipe.tensor<u8[h=9, w=80]> -> !pipe.tensor<f32[h=9, w=80]>
  %b64 = pipe.cast value %b32 : !pipe.tensor<f32[h=9, w=80]> -> !pipe.tensor<f64[h=9, w=80]>
  %0 = pipe.reduce sum %b64 over ["w"] : !pipe.tensor<f64[h=9, w=80]> -> !pipe.tensor<f64[h=9]>
  // CHECK: pipe.reduce sum {{.*}} : <i64[w=90]> -> <i64[]>
  %s64 = pipe.cast value %s : !pipe.tensor<i16[w=90]> -> !pipe.tensor<f64[w=90]>
  %1 = pipe.reduce sum %s64 over ["w"] : !pipe.tensor<f64[w=90]> -> !pipe.tensor<f64[]>
  // CHECK: pipe.reduce sum {{.*}} : <f64[w=80]> -> <f64[]>
  %i64 = pipe.cast value %i : !pipe.tensor<i32[w=80]> -> !pipe.tensor<f64[w=80]>
  %2 = pipe.reduce sum %i64 over ["w"] : !pipe.tensor<f64[w=80]> -> !pipe.tensor<f64[]>
  // CHECK: pipe.reduce sum {{.*}} : <f64[w=80]> -> <f64[]>
  %f64 = pipe.cast value %f : !pipe.tensor<f32[w=80]> -> !pipe.tensor<f64[w=80]>
  %3 = pipe.reduce sum %f64 over ["w"] : !pipe.tensor<f64[w=80]> -> !pipe.tensor<f64[]>
  // CHECK: pipe.reduce sum {{.*}} : <f64[w=8]> -> <f64[]>
  %few64 = pipe.cast value %few : !pipe.tensor<u8[w=8]> -> !pipe.tensor<f64[w=8]>
  %4 = pipe.reduce sum %few64 over ["w"] : !pipe.tensor<f64[w=8]> -> !pipe.tensor<f64[]>
  // CHECK: pipe.reduce sum {{.*}} : <f32[h=9, w=80]> -> <f32[h=9]>
  %5 = pipe.reduce sum %b32 over ["w"] : !pipe.tensor<f32[h=9, w=80]> -> !pipe.tensor<f32[h=9]>
  pipe.return %0, %1, %2, %3, %4, %5 : !pipe.tensor<f64[h=9]>, !pipe.tensor<f64[]>, !pipe.tensor<f64[]>, !pipe.tensor<f64[]>, !pipe.tensor<f64[]>, !pipe.tensor<f32[h=9]>
}
