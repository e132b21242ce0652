// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// Outputs, transforms and rows go side by side, one in each lane of a register, where there are as many.

// CHECK-LABEL: pipe.kernel @weights
// CHECK: pipe.weights bilinear {{.*}} {weights = #schedule.weights<lanes = 4>}
// CHECK: pipe.weights bilinear {{.*}} {weights = #schedule.weights<lanes = 2>}
// CHECK: pipe.weights lanczos {{.*}} {weights = #schedule.weights<lanes = 1>}
pipe.kernel @weights "pixels" {
^bb0(%in: i64, %out: i64, %taps: i64):
  %w, %s = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  %few, %f = pipe.weights bilinear %in to %out antialias(true) sizes(%taps) : !pipe.tensor<i32[w=3, k=?]>, !pipe.tensor<i32[w=3]>
  %sine, %e = pipe.weights lanczos %in to %out antialias(true) sizes(%taps) : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
  pipe.return %w, %s, %few, %f, %sine, %e : !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>, !pipe.tensor<i32[w=3, k=?]>, !pipe.tensor<i32[w=3]>, !pipe.tensor<i32[w=16, k=?]>, !pipe.tensor<i32[w=16]>
}

// The longer one of the other axes; none where squares would be of too few frequencies, or too large for a cache.
// CHECK-LABEL: pipe.kernel @transforms
// CHECK: pipe.fft {{.*}} {fft = #schedule.fft<along = "t", lanes = 8>}
// CHECK: pipe.fft {{.*}} {fft = #schedule.fft<lanes = 8>}
// CHECK: pipe.fft {{.*}} {fft = #schedule.fft<lanes = 8>}
pipe.kernel @transforms "pixels" {
^bb0(%x: !pipe.tensor<f32[c=9, t=20, k=64]>, %short: !pipe.tensor<f32[t=20, k=12]>, %long: !pipe.tensor<f32[t=20, k=8192]>):
  %0 = pipe.fft %x along "k" : !pipe.tensor<f32[c=9, t=20, k=64]> -> !pipe.tensor<f32[c=9, t=20, freq=33, part=2]>
  %1 = pipe.fft %short along "k" : !pipe.tensor<f32[t=20, k=12]> -> !pipe.tensor<f32[t=20, freq=7, part=2]>
  %2 = pipe.fft %long along "k" : !pipe.tensor<f32[t=20, k=8192]> -> !pipe.tensor<f32[t=20, freq=4097, part=2]>
  pipe.return %0, %1, %2 : !pipe.tensor<f32[c=9, t=20, freq=33, part=2]>, !pipe.tensor<f32[t=20, freq=7, part=2]>, !pipe.tensor<f32[t=20, freq=4097, part=2]>
}

// CHECK-LABEL: pipe.kernel @orders
// CHECK: pipe.sort {{.*}} along "k" {{.*}}sort = #schedule.sort<way = transposed, along = "t", lanes = 4>
// CHECK: pipe.sort {{.*}} along "t" {{.*}}sort = #schedule.sort<way = across, along = "k", lanes = 4>
// CHECK: pipe.sort {{.*}} along "k" {{.*}}sort = #schedule.sort<way = merged>
// CHECK: pipe.sort {{.*}} along "k" {{.*}}sort = #schedule.sort<way = digits>
// CHECK: pipe.sort {{.*}} along "k" {{.*}}sort = #schedule.sort<way = digits>
pipe.kernel @orders "pixels" {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>, %one: !pipe.tensor<f32[k=63]>, %long: !pipe.tensor<f32[k=64]>, %bytes: !pipe.tensor<u8[t=20, k=513]>):
  %0 = pipe.sort %x along "k" : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  %1 = pipe.sort %x along "t" : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<i64[t=20, k=64]>
  %2 = pipe.sort %one along "k" : !pipe.tensor<f32[k=63]> -> !pipe.tensor<i64[k=63]>
  %3 = pipe.sort %long along "k" : !pipe.tensor<f32[k=64]> -> !pipe.tensor<i64[k=64]>
  %4 = pipe.sort %bytes along "k" : !pipe.tensor<u8[t=20, k=513]> -> !pipe.tensor<i64[t=20, k=513]>
  pipe.return %0, %1, %2, %3, %4 : !pipe.tensor<i64[t=20, k=64]>, !pipe.tensor<i64[t=20, k=64]>, !pipe.tensor<i64[k=63]>, !pipe.tensor<i64[k=64]>, !pipe.tensor<i64[t=20, k=513]>
}
