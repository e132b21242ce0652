// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// Lanes of weights, transforms and orders, read back as they were written.

// CHECK-LABEL: pipe.kernel @lanes "pixels"
pipe.kernel @lanes "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>, %in: i64, %out: i64, %taps: i64):
  // CHECK: pipe.weights {{.*}} {weights = #schedule.weights<lanes = 8>}
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) {weights = #schedule.weights<lanes = 8>} : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  // CHECK: pipe.fft {{.*}} {fft = #schedule.fft<along = "t", lanes = 4>}
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<along = "t", lanes = 4>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  // CHECK: pipe.fft {{.*}} {fft = #schedule.fft<lanes = 16>}
  %1 = pipe.fft %x along "k" {fft = #schedule.fft<lanes = 16>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  // CHECK: pipe.fft {{.*}} {fft = #schedule.fft<along = "k", lanes = 2, across = true>}
  %5 = pipe.fft %x along "t" {fft = #schedule.fft<along = "k", lanes = 2, across = true>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[freq=11, k=64, part=2]>
  // CHECK: pipe.sort {{.*}} {sort = #schedule.sort<way = transposed, along = "t", lanes = 4>}
  %2 = pipe.sort %x along "k" {sort = #schedule.sort<way = transposed, along = "t", lanes = 4>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  // CHECK: pipe.sort {{.*}} {sort = #schedule.sort<way = across, along = "k", lanes = 16>}
  %3 = pipe.sort %x along "t" {sort = #schedule.sort<way = across, along = "k", lanes = 16>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  // CHECK: pipe.sort {{.*}} {sort = #schedule.sort<way = merged>}
  %4 = pipe.sort %x along "t" {sort = #schedule.sort<way = merged>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  pipe.return %0, %1, %5, %2, %3, %4 : !pipe.tensor<f32[t=20, freq=33, part=2]>, !pipe.tensor<f32[t=20, freq=33, part=2]>, !pipe.tensor<f32[freq=11, k=64, part=2]>, !pipe.tensor<i64[t=20, k=64]>, !pipe.tensor<i64[t=20, k=64]>, !pipe.tensor<i64[t=20, k=64]>
}
