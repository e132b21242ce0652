// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// How matrix products go, read back as it was written.

// CHECK-LABEL: pipe.kernel @ways "pixels"
pipe.kernel @ways "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[t=40, freq=64]>, %m: !pipe.tensor<f32[freq=64, mel=16]>):
  // CHECK: pipe.contract {{.*}} {contract = #schedule.contract<along = "mel", lanes = 8, unroll = "t", beside = 4, sums = registers, bands = 8>}
  %0 = pipe.contract %x by %m {contract = #schedule.contract<along = "mel", lanes = 8, unroll = "t", beside = 4, sums = registers, bands = 8>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  // CHECK: {contract = #schedule.contract<unroll = "mel", beside = 2, sums = unrolled>}
  %1 = pipe.contract %x by %m {contract = #schedule.contract<unroll = "mel", beside = 2, sums = unrolled>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  // CHECK: {contract = #schedule.contract<sums = memory>}
  %2 = pipe.contract %x by %m {contract = #schedule.contract<sums = memory>} : !pipe.tensor<f32[t=40, freq=64]>, !pipe.tensor<f32[freq=64, mel=16]> -> !pipe.tensor<f32[t=40, mel=16]>
  pipe.return %0, %1, %2 : !pipe.tensor<f32[t=40, mel=16]>, !pipe.tensor<f32[t=40, mel=16]>, !pipe.tensor<f32[t=40, mel=16]>
}
