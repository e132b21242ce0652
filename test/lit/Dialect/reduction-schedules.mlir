// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// How reductions go, read back as it was written.

// CHECK-LABEL: pipe.kernel @ways "pixels"
pipe.kernel @ways "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=40, w=64, c=3]>, %y: !pipe.tensor<u8[h=70, w=130]>, %z: !pipe.tensor<f32[t=?]>, %m: !pipe.tensor<bool[t=?]>):
  // CHECK: pipe.reduce {{.*}} over ["h"] {reduction = #schedule.reduction<way = across, along = "w", lanes = 16, unroll = "c", unrolled = true>}
  %0 = pipe.reduce sum %x over ["h"] {reduction = #schedule.reduction<way = across, along = "w", lanes = 16, unroll = "c", unrolled = true>}
    : !pipe.tensor<f32[h=40, w=64, c=3]> -> !pipe.tensor<f32[w=64, c=3]>
  // CHECK: {reduction = #schedule.reduction<way = rows, lanes = 64, beside = 8>}
  %1 = pipe.reduce max %y over ["h"] {reduction = #schedule.reduction<way = rows, lanes = 64, beside = 8>}
    : !pipe.tensor<u8[h=70, w=130]> -> !pipe.tensor<u8[w=130]>
  // CHECK: {reduction = #schedule.reduction<way = lanes, lanes = 32, unroll = "c", run = 2>}
  %2 = pipe.reduce sum %x over ["h", "w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, unroll = "c", run = 2>}
    : !pipe.tensor<f32[h=40, w=64, c=3]> -> !pipe.tensor<f32[c=3]>
  // CHECK: {reduction = #schedule.reduction<way = single, run = 2>}
  %3 = pipe.reduce argmax %x over ["w", "c"] {reduction = #schedule.reduction<way = single, run = 2>}
    : !pipe.tensor<f32[h=40, w=64, c=3]> -> !pipe.tensor<i64[h=40]>
  // CHECK: {reduction = #schedule.reduction<way = single, unrolled = true, pieces = true>, schedule = "inline"}
  %4 = pipe.reduce sum %x over ["c"] {schedule = "inline", reduction = #schedule.reduction<way = single, unrolled = true, pieces = true>}
    : !pipe.tensor<f32[h=40, w=64, c=3]> -> !pipe.tensor<f32[h=40, w=64]>
  // CHECK: {reduction = #schedule.reduction<way = lanes, lanes = 32, sums = memory>}
  %5 = pipe.reduce sum %z over ["t"] {reduction = #schedule.reduction<way = lanes, lanes = 32, sums = memory>} : !pipe.tensor<f32[t=?]> -> !pipe.tensor<f32[]>
  // CHECK: {reduction = #schedule.reduction<way = lanes, lanes = 8, small = 4096>}
  %6 = pipe.reduce count %m over ["t"] {reduction = #schedule.reduction<way = lanes, lanes = 8, small = 4096>} : !pipe.tensor<bool[t=?]> -> !pipe.tensor<i64[]>
  pipe.return %0, %1, %2, %3, %4, %5, %6 : !pipe.tensor<f32[w=64, c=3]>, !pipe.tensor<u8[w=130]>, !pipe.tensor<f32[c=3]>, !pipe.tensor<i64[h=40]>, !pipe.tensor<f32[h=40, w=64]>, !pipe.tensor<f32[]>, !pipe.tensor<i64[]>
}
