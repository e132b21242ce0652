// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// Squares of bytes and of 16 bits have 16 and 8 rows, and elements of one part of each number lie near enough to each other.
// CHECK-LABEL: pipe.kernel @turned
// CHECK: pipe.view {{.*}}along = "a", lanes = 32, across = "d"
// CHECK: pipe.view {{.*}}along = "a", lanes = 32, across = "d"
// CHECK: pipe.view {{.*}}along = "a", lanes = 32, across = "d"
// CHECK: pipe.view {{.*}}along = "f", lanes = 32, across = "w"
// CHECK: pipe.view
// CHECK-NOT: across
pipe.kernel @turned "pixels" {
^bb0(%x: !pipe.tensor<u8[a=32, b=3, d=16]>, %y: !pipe.tensor<bool[a=32, b=3, d=16]>, %z: !pipe.tensor<i16[a=32, b=3, d=8]>, %parts: !pipe.tensor<f32[f=40, w=48, part=2]>, %short: !pipe.tensor<u8[a=32, b=3, d=15]>, %many: !pipe.tensor<f32[f=40, w=48, j=5]>):
  %0 = pipe.view %x by affine_map<(d0, d1, d2) -> (d2, d1, d0)>[] : !pipe.tensor<u8[a=32, b=3, d=16]> -> !pipe.tensor<u8[d=16, b=3, a=32]>
  %1 = pipe.view %y by affine_map<(d0, d1, d2) -> (d2, d1, d0)>[] : !pipe.tensor<bool[a=32, b=3, d=16]> -> !pipe.tensor<bool[d=16, b=3, a=32]>
  %2 = pipe.view %z by affine_map<(d0, d1, d2) -> (d2, d1, d0)>[] : !pipe.tensor<i16[a=32, b=3, d=8]> -> !pipe.tensor<i16[d=8, b=3, a=32]>
  %3 = pipe.view %parts by affine_map<(d0, d1) -> (d1, d0, 1)>[] : !pipe.tensor<f32[f=40, w=48, part=2]> -> !pipe.tensor<f32[w=48, f=40]>
  %4 = pipe.view %short by affine_map<(d0, d1, d2) -> (d2, d1, d0)>[] : !pipe.tensor<u8[a=32, b=3, d=15]> -> !pipe.tensor<u8[d=15, b=3, a=32]>
  %5 = pipe.view %many by affine_map<(d0, d1) -> (d1, d0, 1)>[] : !pipe.tensor<f32[f=40, w=48, j=5]> -> !pipe.tensor<f32[w=48, f=40]>
  pipe.return %0, %1, %2, %3, %4, %5 : !pipe.tensor<u8[d=16, b=3, a=32]>, !pipe.tensor<bool[d=16, b=3, a=32]>, !pipe.tensor<i16[d=8, b=3, a=32]>, !pipe.tensor<f32[w=48, f=40]>, !pipe.tensor<u8[d=15, b=3, a=32]>, !pipe.tensor<f32[w=48, f=40]>
}
