// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// How scans go, read back as it was written.

// CHECK-LABEL: pipe.kernel @ways "pixels"
pipe.kernel @ways "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=40, w=64]>, %b: !pipe.tensor<f64[j=3]>):
  // CHECK: pipe.scan {{.*}} along "h" {scan = #schedule.scan<way = across, along = "w", lanes = 16>}
  %0 = pipe.scan sum %x along "h" {scan = #schedule.scan<way = across, along = "w", lanes = 16>} : !pipe.tensor<f32[h=40, w=64]> -> !pipe.tensor<f32[h=40, w=64]>
  // CHECK: {scan = #schedule.scan<way = transposed, lanes = 8>}
  %1 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = transposed, lanes = 8>} : !pipe.tensor<f32[h=40, w=64]> -> !pipe.tensor<f32[h=40, w=64]>
  // CHECK: {scan = #schedule.scan<way = single, beside = 4>}
  %2 = pipe.scan max %x along "w" {scan = #schedule.scan<way = single, beside = 4>} : !pipe.tensor<f32[h=40, w=64]> -> !pipe.tensor<f32[h=40, w=64]>
  // CHECK: pipe.filter {{.*}} {scan = #schedule.scan<way = across, along = "w", lanes = 8, band = 64>}
  %3 = pipe.filter %x along "h" by %b over %b {scan = #schedule.scan<way = across, along = "w", lanes = 8, band = 64>} : !pipe.tensor<f32[h=40, w=64]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f32[h=40, w=64]>
  pipe.return %0, %1, %2, %3 : !pipe.tensor<f32[h=40, w=64]>, !pipe.tensor<f32[h=40, w=64]>, !pipe.tensor<f32[h=40, w=64]>, !pipe.tensor<f32[h=40, w=64]>
}
