// RUN: penstock-opt %s --split-input-file --verify-diagnostics --pipe-schedule-cpu=level=3 --pipe-kernel-to-loops
// REQUIRES: penstock-opt

// How many elements 32 bits hold the sum of, by the ranges of these: a schedule that has more is refused.

pipe.kernel @bytes "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=64]> -> !pipe.tensor<i64[w=64]>
  // expected-error @below {{is scheduled with sums of 8421505 elements in 32 bits, which hold those of 8421504 whose magnitude is up to 255}}
  %1 = pipe.reduce sum %0 over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 8421505>} : !pipe.tensor<i64[w=64]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}

// -----

pipe.kernel @arithmetic "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  %fifteen = pipe.constant 15 : i64 -> i64
  %three = pipe.constant 3 : i64 -> i64
  %fifty = pipe.constant 50 : i64 -> i64
  %0 = pipe.map(%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<i64[w=64]> {
  ^bb0(%b: ui8, %i: i64):
    %v = pipe.cast value %b : ui8 -> i64
    %2 = pipe.binary bit_and %v, %fifteen : i64
    %3 = pipe.binary mul %2, %three : i64
    %4 = pipe.binary sub %3, %fifty : i64
    pipe.yield %4 : i64
  }
  // expected-error @below {{which hold those of 42949672 whose magnitude is up to 50}}
  %1 = pipe.reduce sum %0 over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 2147483647>} : !pipe.tensor<i64[w=64]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}

// -----

pipe.kernel @places "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  %0 = pipe.map(%x) : (!pipe.tensor<u8[w=64]>) -> !pipe.tensor<i64[w=64]> {
  ^bb0(%v: ui8, %i: i64):
    %2 = pipe.cast value %v : ui8 -> i64
    %3 = pipe.binary mul %2, %i : i64
    pipe.yield %3 : i64
  }
  // expected-error @below {{which hold those of 133674 whose magnitude is up to 16065}}
  %1 = pipe.reduce sum %0 over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 133675>} : !pipe.tensor<i64[w=64]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}

// -----

// Of a number that may be NaN the other one is the smaller one.
pipe.kernel @floats "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[w=64]>):
  %most = pipe.constant 1.000000e+03 : f32 -> f32
  %least = pipe.constant -2.500000e+00 : f32 -> f32
  %0 = pipe.map(%x) : (!pipe.tensor<f32[w=64]>) -> !pipe.tensor<i64[w=64]> {
  ^bb0(%v: f32, %i: i64):
    %2 = pipe.binary min %v, %most : f32
    %3 = pipe.binary max %2, %least : f32
    %4 = pipe.cast value %3 : f32 -> i64
    pipe.yield %4 : i64
  }
  // expected-error @below {{which hold those of 2147483 whose magnitude is up to 1000}}
  %1 = pipe.reduce sum %0 over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 2147484>} : !pipe.tensor<i64[w=64]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}

// -----

// Either arm, what a border adds, and what wraps around.
pipe.kernel @joined "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>, %k: i64):
  %border = pipe.constant 300 : i64 -> i64
  %four = pipe.constant 4 : i64 -> i64
  %0 = pipe.cast value %x : !pipe.tensor<u8[w=64]> -> !pipe.tensor<i64[w=64]>
  %padded = pipe.pad constant %0 over ["w"] low(%four) fill(%border : i64) : !pipe.tensor<i64[w=64]> -> !pipe.tensor<i64[w=72]>
  // expected-error @below {{which hold those of 7158278 whose magnitude is up to 300}}
  %1 = pipe.reduce sum %padded over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 7158279>} : !pipe.tensor<i64[w=72]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}

// -----

pipe.kernel @any_number "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<i32[w=64]>):
  %0 = pipe.map(%x) : (!pipe.tensor<i32[w=64]>) -> !pipe.tensor<i64[w=64]> {
  ^bb0(%v: i32, %i: i64):
    %one = pipe.constant 1 : i32 -> i32
    %2 = pipe.binary shr %v, %one : i32
    %3 = pipe.binary add %2, %one : i32
    %4 = pipe.cast value %3 : i32 -> i64
    pipe.yield %4 : i64
  }
  // expected-error @below {{is scheduled with sums of 1 elements in 32 bits, which hold those of 0 whose magnitude is up to 2147483648}}
  %1 = pipe.reduce sum %0 over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 1>} : !pipe.tensor<i64[w=64]> -> !pipe.tensor<i64[]>
  pipe.return %1 : !pipe.tensor<i64[]>
}
