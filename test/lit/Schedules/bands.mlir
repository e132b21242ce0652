// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// What goes along an outer axis has lanes along an inner one, where elements lie side by side.

// Rows of more than one vector go in bands, whose numbers fill half of the nearest cache at most: 16 bytes for each row of a filter of three, 8 of one of two.
// CHECK-LABEL: pipe.kernel @filters
// CHECK: pipe.filter {{.*}} {scan = #schedule.scan<way = across, along = "c", lanes = 8, band = 64>}
// CHECK: pipe.filter {{.*}} {scan = #schedule.scan<way = single, beside = 4>}
// CHECK: pipe.filter {{.*}} {scan = #schedule.scan<way = across, along = "w", lanes = 8, band = 1024>}
// CHECK: pipe.filter {{.*}} {scan = #schedule.scan<way = across, along = "c", lanes = 8>}
// CHECK: pipe.filter {{.*}} {scan = #schedule.scan<way = across, along = "c", lanes = 8>}
pipe.kernel @filters "pixels" {
^bb0(%x: !pipe.tensor<f32[t=90, c=64]>, %wide: !pipe.tensor<f64[h=9, w=5000]>, %few: !pipe.tensor<f32[t=90, c=8]>, %open: !pipe.tensor<f32[t=90, c=?]>, %b: !pipe.tensor<f64[j=3]>, %c: i64):
  %0 = pipe.filter %x along "t" by %b over %b : !pipe.tensor<f32[t=90, c=64]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f32[t=90, c=64]>
  %1 = pipe.filter %x along "c" by %b over %b : !pipe.tensor<f32[t=90, c=64]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f32[t=90, c=64]>
  %2 = pipe.filter %wide along "h" by %b over %b : !pipe.tensor<f64[h=9, w=5000]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f64[h=9, w=5000]>
  %3 = pipe.filter %few along "t" by %b over %b : !pipe.tensor<f32[t=90, c=8]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f32[t=90, c=8]>
  %4 = pipe.filter %open along "t" by %b over %b sizes(%c) : !pipe.tensor<f32[t=90, c=?]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f32[t=90, c=?]>
  pipe.return %0, %1, %2, %3, %4 : !pipe.tensor<f32[t=90, c=64]>, !pipe.tensor<f32[t=90, c=64]>, !pipe.tensor<f64[h=9, w=5000]>, !pipe.tensor<f32[t=90, c=8]>, !pipe.tensor<f32[t=90, c=?]>
}
