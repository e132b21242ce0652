// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Ways to count that no code can be made for.

// C1 of #schedule.turns.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  // expected-error @below {{C1: 9 tables; there are 1 to 8}}
  %0 = pipe.histogram %x over ["w"] {turns = #schedule.turns<tables = 9>} : !pipe.tensor<u8[w=64]> -> !pipe.tensor<i32[bin=4]>
  pipe.return %0 : !pipe.tensor<i32[bin=4]>
}

// -----

// kernel, C17.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  // expected-error @below {{has `turns = 4 : i64` (C17); it is a `#schedule.turns`, of a pipe.histogram or a pipe.scatter}}
  %0 = pipe.histogram %x over ["w"] {turns = 4 : i64} : !pipe.tensor<u8[w=64]> -> !pipe.tensor<i32[bin=4]>
  pipe.return %0 : !pipe.tensor<i32[bin=4]>
}

// -----

// kernel, C17.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=?]>):
  // expected-error @below {{(C17); neighbours take turns where all extents are known when compiling}}
  %0 = pipe.histogram %x over ["w"] {turns = #schedule.turns<tables = 2>} : !pipe.tensor<u8[w=?]> -> !pipe.tensor<i32[bin=4]>
  pipe.return %0 : !pipe.tensor<i32[bin=4]>
}

// -----

// kernel, C17: sums of floats depend on their order.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%none: !pipe.tensor<f32[m=9]>, %votes: !pipe.tensor<f32[k=999]>, %at: !pipe.tensor<i64[k=999]>):
  // expected-error @below {{(C17); neighbours take turns, or are skipped, where they are added up as integers}}
  %0 = pipe.scatter sum %none by %votes along "k" over ["m"] at (%at) {turns = #schedule.turns<tables = 2>} : !pipe.tensor<f32[m=9]>, !pipe.tensor<f32[k=999]>, !pipe.tensor<i64[k=999]> -> !pipe.tensor<f32[m=9]>
  pipe.return %0 : !pipe.tensor<f32[m=9]>
}

// -----

// kernel, C17: the greatest of several is no sum.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%none: !pipe.tensor<i32[m=9]>, %votes: !pipe.tensor<i32[k=999]>, %at: !pipe.tensor<i64[k=999]>):
  // expected-error @below {{(C17); neighbours take turns, or are skipped, where they are added up as integers}}
  %0 = pipe.scatter max %none by %votes along "k" over ["m"] at (%at) {turns = #schedule.turns<tables = 2>} : !pipe.tensor<i32[m=9]>, !pipe.tensor<i32[k=999]>, !pipe.tensor<i64[k=999]> -> !pipe.tensor<i32[m=9]>
  pipe.return %0 : !pipe.tensor<i32[m=9]>
}

// -----

// kernel, C17.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%none: !pipe.tensor<i32[m=9]>, %votes: !pipe.tensor<i32[k=?]>, %at: !pipe.tensor<i64[k=?]>):
  // expected-error @below {{(C17); neighbours take turns where all extents are known when compiling}}
  %0 = pipe.scatter sum %none by %votes along "k" over ["m"] at (%at) {turns = #schedule.turns<tables = 2>} : !pipe.tensor<i32[m=9]>, !pipe.tensor<i32[k=?]>, !pipe.tensor<i64[k=?]> -> !pipe.tensor<i32[m=9]>
  pipe.return %0 : !pipe.tensor<i32[m=9]>
}

// -----

// C2 of #schedule.turns.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%none: !pipe.tensor<i32[m=9]>, %votes: !pipe.tensor<i32[k=999]>, %at: !pipe.tensor<i64[k=999]>):
  // expected-error @below {{C2: 12 are skipped; it is a power of two up to 64}}
  %0 = pipe.scatter sum %none by %votes along "k" over ["m"] at (%at) {turns = #schedule.turns<tables = 1, skip = 12>} : !pipe.tensor<i32[m=9]>, !pipe.tensor<i32[k=999]>, !pipe.tensor<i64[k=999]> -> !pipe.tensor<i32[m=9]>
  pipe.return %0 : !pipe.tensor<i32[m=9]>
}

// -----

// kernel, C17: a zero of floats may have a sign.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%none: !pipe.tensor<f32[m=9]>, %votes: !pipe.tensor<f32[k=999]>, %at: !pipe.tensor<i64[k=999]>):
  // expected-error @below {{(C17); neighbours take turns, or are skipped, where they are added up as integers}}
  %0 = pipe.scatter sum %none by %votes along "k" over ["m"] at (%at) {turns = #schedule.turns<tables = 1, skip = 8>} : !pipe.tensor<f32[m=9]>, !pipe.tensor<f32[k=999]>, !pipe.tensor<i64[k=999]> -> !pipe.tensor<f32[m=9]>
  pipe.return %0 : !pipe.tensor<f32[m=9]>
}

// -----

// kernel, C17.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%none: !pipe.tensor<i32[m=9, c=3]>, %votes: !pipe.tensor<i32[k=999, c=3]>, %at: !pipe.tensor<i64[k=999]>):
  // expected-error @below {{(C17); values that have other axes are not skipped}}
  %0 = pipe.scatter sum %none by %votes along "k" over ["m"] at (%at) {turns = #schedule.turns<tables = 1, skip = 8>} : !pipe.tensor<i32[m=9, c=3]>, !pipe.tensor<i32[k=999, c=3]>, !pipe.tensor<i64[k=999]> -> !pipe.tensor<i32[m=9, c=3]>
  pipe.return %0 : !pipe.tensor<i32[m=9, c=3]>
}

// -----

// kernel, C17.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[w=64]>):
  // expected-error @below {{(C17); elements of a histogram are keys, and none is skipped}}
  %0 = pipe.histogram %x over ["w"] {turns = #schedule.turns<tables = 1, skip = 8>} : !pipe.tensor<u8[w=64]> -> !pipe.tensor<i32[bin=4]>
  pipe.return %0 : !pipe.tensor<i32[bin=4]>
}
