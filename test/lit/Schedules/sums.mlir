// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 | FileCheck %s
// REQUIRES: penstock-opt

// Sums are taken in 32 bits for as many elements in each lane as fit by their ranges: of bytes, what is computed of them, and counts.

// CHECK-LABEL: pipe.kernel @channels
// CHECK: pipe.reduce sum {{.*}}lanes = 32, unroll = "c", small = 32>
// CHECK-LABEL: pipe.kernel @as_they_lie
// CHECK: pipe.reduce sum {{.*}}<way = lanes, lanes = 32, small = 128>
// CHECK-LABEL: pipe.kernel @computed
// CHECK: pipe.reduce sum {{.*}}<way = lanes, lanes = 32, small = 128>
// CHECK-LABEL: pipe.kernel @too_large
// CHECK: pipe.reduce sum {{.*}}<way = lanes, lanes = 32>
// CHECK-LABEL: pipe.kernel @counted
// CHECK: pipe.reduce count {{.*}}<way = lanes, lanes = 32, small = 16384>
pipe.kernel @channels "pixels" {
^bb0(%x: !pipe.tensor<u8[h=16, w=64, c=3]>):
  %0 = pipe.cast value %x : !pipe.tensor<u8[h=16, w=64, c=3]> -> !pipe.tensor<i64[h=16, w=64, c=3]>
  %1 = pipe.reduce sum %0 over ["h", "w"] : !pipe.tensor<i64[h=16, w=64, c=3]> -> !pipe.tensor<i64[c=3]>
  pipe.return %1 : !pipe.tensor<i64[c=3]>
}
pipe.kernel @as_they_lie "pixels" {
^bb0(%x: !pipe.tensor<u8[w=4096]>):
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=4096]> -> !pipe.tensor<i64[w=4096]>
  %1 = pipe.reduce sum %0 over ["w"] : !pipe.tensor<i64[w=4096]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}
pipe.kernel @computed "pixels" {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<i64[h=64, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %3 = pipe.cast value %v : ui8 -> i32
    %4 = pipe.binary mul %3, %3 : i32
    %5 = pipe.cast value %4 : i32 -> i64
    pipe.yield %5 : i64
  }
  %1 = pipe.reduce sum %0 over ["h", "w"] : !pipe.tensor<i64[h=64, w=64]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}
pipe.kernel @too_large "pixels" {
^bb0(%x: !pipe.tensor<u8[h=64, w=64]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[h=64, w=64]>) -> !pipe.tensor<i64[h=64, w=64]> {
  ^bb0(%v: ui8, %i: i64, %j: i64):
    %3 = pipe.cast value %v : ui8 -> i32
    %4 = pipe.binary mul %3, %3 : i32
    %5 = pipe.binary add %4, %4 : i32
    %6 = pipe.cast value %5 : i32 -> i64
    pipe.yield %6 : i64
  }
  %1 = pipe.reduce sum %0 over ["h", "w"] : !pipe.tensor<i64[h=64, w=64]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}
pipe.kernel @counted "pixels" {
^bb0(%x: !pipe.tensor<bool[w=?]>):
  %1 = pipe.reduce count %x over ["w"] : !pipe.tensor<bool[w=?]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}

// Of rows whose length nobody knows, the 32 partial sums of floats are in memory, and so they are where the place of an element
// that is 32 further differs from place to place.
// CHECK-LABEL: pipe.kernel @partial_sums
// CHECK: pipe.reduce sum {{.*}}<way = lanes, lanes = 32, sums = memory>
// CHECK: pipe.reduce sum {{.*}}<way = across, along = "w", lanes = 8>
// CHECK: pipe.reduce sum {{.*}}<way = across, along = "w", lanes = 8, sums = memory>
pipe.kernel @partial_sums "pixels" {
^bb0(%x: !pipe.tensor<f32[h=9, w=?]>, %y: !pipe.tensor<f32[t=80, k=4, w=9]>, %z: !pipe.tensor<f32[t=80, k=5, w=9]>):
  %0 = pipe.reduce sum %x over ["w"] : !pipe.tensor<f32[h=9, w=?]> -> !pipe.tensor<f32[h=9]>
  %1 = pipe.reduce sum %y over ["t", "k"] : !pipe.tensor<f32[t=80, k=4, w=9]> -> !pipe.tensor<f32[w=9]>
  %2 = pipe.reduce sum %z over ["t", "k"] : !pipe.tensor<f32[t=80, k=5, w=9]> -> !pipe.tensor<f32[w=9]>
  pipe.return %0, %1, %2 : !pipe.tensor<f32[h=9]>, !pipe.tensor<f32[w=9]>, !pipe.tensor<f32[w=9]>
}
