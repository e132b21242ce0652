// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// Factors of 64 with their tables of sines; 64 real values are 32 complex ones.
// CHECK-COUNT-2: llvm.mlir.global internal constant
// CHECK-LABEL: func.func @ffts(
// CHECK: scf.for {{.*}} to %c32
// CHECK-COUNT-2: llvm.load {{.*}} -> f32
// CHECK-COUNT-2: llvm.store {{.*}} : f32
// CHECK: scf.for {{.*}} to %c8
// CHECK: arith.subf
// CHECK: return
pipe.kernel @ffts "pixels" {
^bb0(%x: !pipe.tensor<f32[t=64]>):
  %0 = pipe.fft %x along "t" : !pipe.tensor<f32[t=64]> -> !pipe.tensor<f32[freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[freq=33, part=2]>
}

// The schedule says whether transforms go side by side, and how many elements of one at once.
// CHECK-LABEL: func.func @side_by_side(
// CHECK: vector.shuffle
// CHECK: arith.subf {{.*}} : vector<4xf32>
// CHECK-LABEL: func.func @one_by_one(
// CHECK-NOT: vector.shuffle
// CHECK: arith.subf {{.*}} : vector<16xf32>
// CHECK: return
pipe.kernel @side_by_side "pixels" {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<along = "t", lanes = 4>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}
pipe.kernel @one_by_one "pixels" {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  %0 = pipe.fft %x along "k" {fft = #schedule.fft<lanes = 16>} : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[t=20, freq=33, part=2]>
  pipe.return %0 : !pipe.tensor<f32[t=20, freq=33, part=2]>
}

// Columns are read and stored as they lie; where results lie otherwise, these are transposed.
// CHECK-LABEL: func.func @columns(
// CHECK-NOT: vector.shuffle
// CHECK: llvm.load {{.*}} -> vector<4xf32>
// CHECK: arith.subf {{.*}} : vector<4xf32>
// CHECK: llvm.store {{.*}} : vector<8xf32>
// CHECK-LABEL: func.func @columns_into_rows(
// CHECK: arith.subf {{.*}} : vector<4xf32>
// CHECK: vector.shuffle
// CHECK: return
pipe.kernel @columns "pixels" {
^bb0(%x: !pipe.tensor<f32[t=20, k=4]>):
  %0 = pipe.fft %x along "t" {fft = #schedule.fft<along = "k", lanes = 4, across = true>} : !pipe.tensor<f32[t=20, k=4]> -> !pipe.tensor<f32[freq=11, k=4, part=2]>
  pipe.return %0 : !pipe.tensor<f32[freq=11, k=4, part=2]>
}
pipe.kernel @columns_into_rows "pixels" {
^bb0(%x: !pipe.tensor<f32[t=20, k=64]>):
  %0 = pipe.view %x by affine_map<(d0, d1) -> (d1, d0)>[] : !pipe.tensor<f32[t=20, k=64]> -> !pipe.tensor<f32[k=64, t=20]>
  %1 = pipe.fft %0 along "t" {fft = #schedule.fft<along = "k", lanes = 4, across = true>} : !pipe.tensor<f32[k=64, t=20]> -> !pipe.tensor<f32[k=64, freq=11, part=2]>
  pipe.return %1 : !pipe.tensor<f32[k=64, freq=11, part=2]>
}
