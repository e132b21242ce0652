// RUN: penstock-opt %s --pipe-schedule-cpu=level=5 | FileCheck %s
// RUN: penstock-opt %s --pipe-schedule-cpu=level=4 | FileCheck %s --check-prefix=NONE
// REQUIRES: penstock-opt

// What is made of one byte and of numbers that are known when running is looked up, where arithmetic costs more, many elements
// pass through the loops, and registers hold tables.
// NONE-NOT: table

// CHECK-LABEL: pipe.kernel @scaled
// CHECK: pipe.binary mul
// CHECK-NOT: table
// CHECK: pipe.cast {{.*}} {table = true} : f32 -> ui8
// CHECK: pipe.cast {{.*}} : ui8 -> f32
// CHECK-NOT: table
// CHECK: pipe.yield
pipe.kernel @scaled "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=64]>, %f: f32):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=32, w=64]>) -> !pipe.tensor<f32[h=32, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> f32
    %2 = pipe.binary mul %1, %f : f32
    %3 = pipe.binary add %2, %f : f32
    %4 = pipe.cast value %3 : f32 -> ui8
    %5 = pipe.cast value %4 : ui8 -> f32
    pipe.yield %5 : f32
  }
  pipe.return %0 : !pipe.tensor<f32[h=32, w=64]>
}

// CHECK-LABEL: pipe.kernel @few
// CHECK-NOT: table
// CHECK-LABEL: pipe.kernel @of_two
// CHECK-NOT: table
// CHECK-LABEL: pipe.kernel @cheap
// CHECK-NOT: table
pipe.kernel @few "pixels" {
^bb0(%x: !pipe.tensor<u8[h=15, w=64]>, %f: f32):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=15, w=64]>) -> !pipe.tensor<u8[h=15, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> f32
    %2 = pipe.binary mul %1, %f : f32
    %3 = pipe.binary add %2, %f : f32
    %4 = pipe.cast value %3 : f32 -> ui8
    pipe.yield %4 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=15, w=64]>
}
pipe.kernel @of_two "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=64]>, %y: !pipe.tensor<u8[h=32, w=64]>, %f: f32):
  %0 = pipe.map(%x, %y) : (!pipe.tensor<u8[h=32, w=64]>, !pipe.tensor<u8[h=32, w=64]>) -> !pipe.tensor<u8[h=32, w=64]> {
  ^bb0(%v: ui8, %o: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> f32
    %2 = pipe.cast value %o : ui8 -> f32
    %3 = pipe.binary mul %1, %2 : f32
    %4 = pipe.binary add %3, %f : f32
    %5 = pipe.cast value %4 : f32 -> ui8
    pipe.yield %5 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=32, w=64]>
}
pipe.kernel @cheap "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=64]>, %f: f32):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=32, w=64]>) -> !pipe.tensor<u8[h=32, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> f32
    %2 = pipe.binary mul %1, %f : f32
    %3 = pipe.cast value %2 : f32 -> ui8
    pipe.yield %3 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=32, w=64]>
}

// CHECK-LABEL: pipe.kernel @loaded
// CHECK: pipe.load {{.*}} {table = true}
pipe.kernel @loaded "pixels" {
^bb0(%x: !pipe.tensor<u8[h=32, w=64]>, %t: !pipe.tensor<u8[k=256]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=32, w=64]>) -> !pipe.tensor<u8[h=32, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %1 = pipe.cast value %v : ui8 -> i64
    %2 = pipe.load %t[%1] : !pipe.tensor<u8[k=256]> -> ui8
    pipe.yield %2 : ui8
  }
  pipe.return %0 : !pipe.tensor<u8[h=32, w=64]>
}
