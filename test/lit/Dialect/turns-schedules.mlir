// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// How histograms count and scatters add up, read back as it was written.

// CHECK-LABEL: pipe.kernel @tables "pixels"
pipe.kernel @tables "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  // CHECK: pipe.histogram {{.*}} {turns = #schedule.turns<tables = 4>}
  %0 = pipe.histogram %x over ["h", "w"] {turns = #schedule.turns<tables = 4>} : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<i32[bin=256]>
  pipe.return %0 : !pipe.tensor<i32[bin=256]>
}

// CHECK-LABEL: pipe.kernel @turns "pixels"
pipe.kernel @turns "pixels" schedule {level = 3 : i64} {
^bb0(%none: !pipe.tensor<i32[m=9]>, %votes: !pipe.tensor<i32[k=999]>, %at: !pipe.tensor<i64[k=999]>):
  // CHECK: pipe.scatter {{.*}} {turns = #schedule.turns<tables = 4, skip = 16>}
  %0 = pipe.scatter sum %none by %votes along "k" over ["m"] at (%at) {turns = #schedule.turns<tables = 4, skip = 16>} : !pipe.tensor<i32[m=9]>, !pipe.tensor<i32[k=999]>, !pipe.tensor<i64[k=999]> -> !pipe.tensor<i32[m=9]>
  pipe.return %0 : !pipe.tensor<i32[m=9]>
}
