// RUN: penstock-opt %s | penstock-opt | FileCheck %s
// REQUIRES: penstock-opt

// What is looked up in tables of bytes, read back as it was written.

// CHECK-LABEL: pipe.kernel @tables "pixels"
pipe.kernel @tables "pixels" schedule {level = 5 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>, %t: !pipe.tensor<u8[k=256]>, %f: f32):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<u8[w=64]> {
  ^bb0(%v: ui8, %i: i64):
    %1 = pipe.cast value %v : ui8 -> f32
    %2 = pipe.binary mul %1, %f : f32
    // CHECK: pipe.cast {{.*}} {table = true} : f32 -> ui8
    %3 = pipe.cast value %2 {table = true} : f32 -> ui8
    %4 = pipe.cast value %3 : ui8 -> i64
    // CHECK: pipe.load {{.*}} {table = false}
    %5 = pipe.load %t[%4] {table = false} : !pipe.tensor<u8[k=256]> -> ui8
    pipe.yield %5 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[w=64]>
}
