// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Ways to count that no code can be made for.

// C1 of #schedule.histogram.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  // expected-error @below {{C1: 9 tables; there are 1 to 8}}
  %0 = pipe.histogram %x over ["w"] {histogram = #schedule.histogram<tables = 9>} : !pipe.tensor<u8[w=64]> -> !pipe.tensor<i32[bin=4]>
  pipe.return %0 : !pipe.tensor<i32[bin=4]>
}

// -----

// kernel, C17.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  // expected-error @below {{has `histogram = 4 : i64` (C17); it is a `#schedule.histogram`, of a pipe.histogram}}
  %0 = pipe.histogram %x over ["w"] {histogram = 4 : i64} : !pipe.tensor<u8[w=64]> -> !pipe.tensor<i32[bin=4]>
  pipe.return %0 : !pipe.tensor<i32[bin=4]>
}

// -----

// kernel, C17.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=?]>):
  // expected-error @below {{(C17); neighbours take turns where all extents are known when compiling}}
  %0 = pipe.histogram %x over ["w"] {histogram = #schedule.histogram<tables = 2>} : !pipe.tensor<u8[w=?]> -> !pipe.tensor<i32[bin=4]>
  pipe.return %0 : !pipe.tensor<i32[bin=4]>
}
