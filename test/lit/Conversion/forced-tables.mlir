// RUN: penstock-opt %s --split-input-file --pipe-schedule-cpu=level=5 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// The schedule says what is looked up: here a chain of one step, which is not worth it.
// CHECK-LABEL: func.func @looked_up(
// CHECK-COUNT-4: arith.mulf {{.*}} : vector<64xf32>
// CHECK: scf.for
// CHECK-NOT: arith.mulf
// CHECK: lane.permute_two
// CHECK-NOT: arith.mulf
// CHECK: return
pipe.kernel @looked_up "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=64]>, %f: f32):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=32, w=64]>) -> !pipe.tensor<u8[h=32, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> f32
    %2 = pipe.binary mul %1, %f : f32
    %3 = pipe.cast value %2 {table = true} : f32 -> ui8
    pipe.yield %3 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=32, w=64]>
}

// -----

// And one of two, which is.
// CHECK-LABEL: func.func @computed(
// CHECK-NOT: lane.permute_two
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK-NOT: lane.permute_two
// CHECK: return
pipe.kernel @computed "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=64]>, %f: f32):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=32, w=64]>) -> !pipe.tensor<u8[h=32, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> f32
    %2 = pipe.binary mul %1, %f : f32
    %3 = pipe.binary add %2, %f : f32
    %4 = pipe.cast value %3 {table = false} : f32 -> ui8
    pipe.yield %4 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=32, w=64]>
}

// -----

// All bytes of a table are read before the loops, or one at a time in them.
// CHECK-LABEL: func.func @loaded_before(
// CHECK: lane.permute_two
// CHECK-LABEL: func.func @loaded_inside(
// CHECK-NOT: lane.permute_two
// CHECK: return
pipe.kernel @loaded_before "pixels" {
^bb0(%x: !pipe.tensor<u8[h=4, w=64]>, %t: !pipe.tensor<u8[k=256]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=4, w=64]>) -> !pipe.tensor<u8[h=4, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> i64
    %2 = pipe.load %t[%1] {table = true} : !pipe.tensor<u8[k=256]> -> ui8
    pipe.yield %2 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=4, w=64]>
}
pipe.kernel @loaded_inside "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=64]>, %t: !pipe.tensor<u8[k=256]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=32, w=64]>) -> !pipe.tensor<u8[h=32, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> i64
    %2 = pipe.load %t[%1] {table = false} : !pipe.tensor<u8[k=256]> -> ui8
    pipe.yield %2 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=32, w=64]>
}
