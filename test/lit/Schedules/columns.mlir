// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// Transforms along an outer axis have lanes along an inner one, where elements lie side by side. Fewer lanes where there are fewer columns, or where those of a long transform would leave the caches.
// CHECK-LABEL: pipe.kernel @transforms
// CHECK: pipe.fft {{.*}} {fft = #schedule.fft<along = "c", lanes = 8, across = true>}
// CHECK: pipe.fft {{.*}} {fft = #schedule.fft<along = "c", lanes = 2, across = true>}
// CHECK: pipe.fft {{.*}} {fft = #schedule.fft<along = "c", lanes = 4, across = true>}
// CHECK: pipe.fft {{.*}} {fft = #schedule.fft<along = "a", lanes = 8>}
pipe.kernel @transforms "pixels" {
^bb0(%x: !pipe.tensor<f32[t=20, c=64]>, %few: !pipe.tensor<f32[t=20, c=3]>, %long: !pipe.tensor<f32[t=8192, c=64]>, %inner: !pipe.tensor<f32[a=20, t=64, part=1]>):
  %0 = pipe.fft %x along "t" : !pipe.tensor<f32[t=20, c=64]> -> !pipe.tensor<f32[freq=11, c=64, part=2]>
  %1 = pipe.fft %few along "t" : !pipe.tensor<f32[t=20, c=3]> -> !pipe.tensor<f32[freq=11, c=3, part=2]>
  %2 = pipe.fft %long along "t" : !pipe.tensor<f32[t=8192, c=64]> -> !pipe.tensor<f32[freq=4097, c=64, part=2]>
  %v = pipe.view %inner by affine_map<(d0, d1) -> (d0, d1, 0)>[] : !pipe.tensor<f32[a=20, t=64, part=1]> -> !pipe.tensor<f32[a=20, t=64]>
  %3 = pipe.fft %v along "t" : !pipe.tensor<f32[a=20, t=64]> -> !pipe.tensor<f32[a=20, freq=33, part=2]>
  pipe.return %0, %1, %2, %3 : !pipe.tensor<f32[freq=11, c=64, part=2]>, !pipe.tensor<f32[freq=11, c=3, part=2]>, !pipe.tensor<f32[freq=4097, c=64, part=2]>, !pipe.tensor<f32[a=20, freq=33, part=2]>
}
