// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// Counts become 0 on lanes; then each key inside the bins is counted.
// CHECK-LABEL: func.func @histograms(
// CHECK: llvm.store {{.*}} : vector<8xi32>
// CHECK: arith.extui {{.*}} : i8 to i64
// CHECK: arith.cmpi slt
// CHECK: scf.if
// CHECK: arith.addi {{.*}} : i32
// CHECK: llvm.store {{.*}} : i32
pipe.kernel @histograms "pixels" {
^bb0(%x: !pipe.tensor<u8[h=9, w=100]>):
  %0 = pipe.histogram %x over ["w"] : !pipe.tensor<u8[h=9, w=100]> -> !pipe.tensor<i32[h=9, bin=256]>
  pipe.return %0 : !pipe.tensor<i32[h=9, bin=256]>
}
