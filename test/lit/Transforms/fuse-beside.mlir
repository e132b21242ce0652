// RUN: penstock-opt %s --pipe-fuse | FileCheck %s
// REQUIRES: penstock-opt

// Reductions of the same elements are one kernel; one along other axes is a kernel of its own, and so is one that waits.
// CHECK: pipe.kernel @k0 "pixels"
// CHECK: pipe.reduce min
// CHECK: pipe.reduce max
// CHECK: pipe.kernel @k1 "pixels"
// CHECK-COUNT-1: pipe.reduce sum {{.*}} over ["v"]
// CHECK: pipe.kernel @k2 "pixels"
// CHECK-COUNT-1: pipe.reduce argmax
// CHECK-NOT: "pixels"
pipe.pipeline @beside seed 0 substitute 0.0 {
  %root = pipe.param "root" : !pipe.text
  %table = pipe.source "raw" (%root) named ["root"] columns {x = !pipe.tensor<f32[v=70, w=80]>} : !pipe.text
  %row = pipe.row sequential %table
  %x = pipe.field %row "x" : !pipe.tensor<f32[v=70, w=80]>
  %batch = pipe.constant 2 : i64 -> i64
  %low = pipe.reduce min %x over ["w"] : !pipe.tensor<f32[v=70, w=80]> -> !pipe.tensor<f32[v=70]>
  %columns = pipe.reduce sum %x over ["v"] : !pipe.tensor<f32[v=70, w=80]> -> !pipe.tensor<f32[w=80]>
  %high = pipe.reduce max %x over ["w"] : !pipe.tensor<f32[v=70, w=80]> -> !pipe.tensor<f32[v=70]>
  %far = pipe.map (%x, %columns) : (!pipe.tensor<f32[v=70, w=80]>, !pipe.tensor<f32[w=80]>) -> !pipe.tensor<f32[v=70, w=80]> {
  ^bb0(%p: f32, %m: f32, %i: i64, %j: i64):
    %q = pipe.binary sub %p, %m : f32
    pipe.yield %q : f32
  }
  %place = pipe.reduce argmax %far over ["w"] : !pipe.tensor<f32[v=70, w=80]> -> !pipe.tensor<i64[v=70]>
  pipe.batch size(%batch) last drop {
    pipe.output "low" %low axes ["n", "v"] stored ["n", "v"] : !pipe.tensor<f32[v=70]>
    pipe.output "high" %high axes ["n", "v"] stored ["n", "v"] : !pipe.tensor<f32[v=70]>
    pipe.output "place" %place axes ["n", "v"] stored ["n", "v"] : !pipe.tensor<i64[v=70]>
  }
}
