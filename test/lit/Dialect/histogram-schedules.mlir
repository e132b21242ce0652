// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// How histograms count, read back as it was written.

// CHECK-LABEL: pipe.kernel @tables "pixels"
pipe.kernel @tables "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  // CHECK: pipe.histogram {{.*}} {histogram = #schedule.histogram<tables = 4>}
  %0 = pipe.histogram %x over ["h", "w"] {histogram = #schedule.histogram<tables = 4>} : !pipe.tensor<u8[h=64, w=64]> -> !pipe.tensor<i32[bin=256]>
  pipe.return %0 : !pipe.tensor<i32[bin=256]>
}
