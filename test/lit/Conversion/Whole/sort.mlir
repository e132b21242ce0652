// RUN: penstock-opt %s --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops | FileCheck %s
// REQUIRES: penstock-opt

// A merge sort of places: keys that order as the elements do, then runs of twice the length, from one half of the
// scratch memory to the other.
// CHECK-LABEL: func.func @sorts(
// CHECK: arith.cmpf oeq
// CHECK: arith.xori
// CHECK: scf.while
// CHECK: arith.shli
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.cmpi sle
// CHECK: arith.select
// CHECK: llvm.store {{.*}} : i64
pipe.kernel @sorts "pixels" {
^bb0(%x: !pipe.tensor<f32[k=60]>):
  %0 = pipe.sort %x along "k" : !pipe.tensor<f32[k=60]> -> !pipe.tensor<i64[k=60]>
  pipe.return %0 : !pipe.tensor<i64[k=60]>
}

// Digits of a longer row: keys of 32 bits that order as unsigned numbers, counted four times while they are made; then byte
// after byte, those that all keys have left out. Places of up to 2^31 elements take 32 bits.
// CHECK-LABEL: func.func @sorts_by_digits(
// CHECK-NOT: scf.while
// CHECK: %[[TOP:.*]] = arith.constant -2147483648 : i32
// CHECK: arith.ori {{.*}}, %[[TOP]] : i32
// CHECK: %[[NONE:.*]] = arith.constant -1 : i32
// CHECK: arith.select {{.*}}, %[[NONE]] : i32
// CHECK-COUNT-4: arith.shrui
// CHECK: scf.for {{.*}} iter_args
// CHECK: arith.cmpi ne
// CHECK: scf.if
// CHECK: scf.for {{.*}} iter_args
// CHECK: llvm.store {{.*}} : i32
// CHECK: llvm.store {{.*}} : i32
pipe.kernel @sorts_by_digits "pixels" {
^bb0(%x: !pipe.tensor<f32[k=3000]>):
  %0 = pipe.sort %x along "k" : !pipe.tensor<f32[k=3000]> -> !pipe.tensor<i64[k=3000]>
  pipe.return %0 : !pipe.tensor<i64[k=3000]>
}

// Rows of numbers of 32 bits, one in each of four lanes: keys and places are one number of 64 bits, turned into vectors of one
// place of all rows. What is exchanged takes a minimum and a maximum; then the places go back.
// CHECK-LABEL: func.func @sorts_side_by_side(
// CHECK-NOT: scf.while
// CHECK: arith.shli {{.*}} : vector<4xi64>
// CHECK: vector.shuffle
// CHECK: arith.minsi {{.*}} : vector<4xi64>
// CHECK: arith.maxsi {{.*}} : vector<4xi64>
// CHECK-NOT: scf.while
// CHECK: return
pipe.kernel @sorts_side_by_side "pixels" {
^bb0(%x: !pipe.tensor<f32[t=9, k=100]>):
  %0 = pipe.sort %x along "k" : !pipe.tensor<f32[t=9, k=100]> -> !pipe.tensor<i64[t=9, k=100]>
  pipe.return %0 : !pipe.tensor<i64[t=9, k=100]>
}

// Columns lie in the lanes as they are. Bytes and their places fit 32 bits.
// CHECK-LABEL: func.func @sorts_columns(
// CHECK-NOT: vector.shuffle
// CHECK: arith.minsi {{.*}} : vector<8xi32>
// CHECK: return
pipe.kernel @sorts_columns "pixels" {
^bb0(%x: !pipe.tensor<u8[k=100, t=64]>):
  %0 = pipe.sort %x along "k" : !pipe.tensor<u8[k=100, t=64]> -> !pipe.tensor<i64[k=100, t=64]>
  pipe.return %0 : !pipe.tensor<i64[k=100, t=64]>
}

// The same rows one after the other, and the columns in as many lanes, where the schedule says so.
// CHECK-LABEL: func.func @merges(
// CHECK: scf.while
// CHECK-LABEL: func.func @many_columns(
// CHECK: arith.minsi {{.*}} : vector<16xi32>
// CHECK: return
pipe.kernel @merges "pixels" {
^bb0(%x: !pipe.tensor<f32[t=9, k=100]>):
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = merged>} : !pipe.tensor<f32[t=9, k=100]> -> !pipe.tensor<i64[t=9, k=100]>
  pipe.return %0 : !pipe.tensor<i64[t=9, k=100]>
}
pipe.kernel @many_columns "pixels" {
^bb0(%x: !pipe.tensor<u8[k=100, t=64]>):
  %0 = pipe.sort %x along "k" {sort = #schedule.sort<way = across, along = "t", lanes = 16>} : !pipe.tensor<u8[k=100, t=64]> -> !pipe.tensor<i64[k=100, t=64]>
  pipe.return %0 : !pipe.tensor<i64[k=100, t=64]>
}
