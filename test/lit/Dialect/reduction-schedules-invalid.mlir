// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Ways to reduce that no code can be made for.

// C1 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C1: 24 lanes, 1 beside, a run of 1; known are powers of two up to 128 and 16, and 1 or more}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 24>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C2 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C2: `along` stands with the way "rows"; it does with "across"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = rows, along = "h">} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C2 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C2: `along` does not stand with the way "across"; it does with "across"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = across>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C4 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=40, w=64]>):
  // expected-error @below {{C4: 3 rows 5 apart beside 2 with the way "lanes"; rows share a table in lanes, 2, 4, 8 or 16 at once}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, beside = 2, period = 5, sharing = 3>} : !pipe.tensor<f32[h=40, w=64]> -> !pipe.tensor<f32[h=40]>
  pipe.return %0 : !pipe.tensor<f32[h=40]>
}

// -----

// C4 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=40, w=64]>):
  // expected-error @below {{C4: 2 rows 5 apart beside 1 with the way "single"; rows share a table in lanes, 2, 4, 8 or 16 at once}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = single, period = 5, sharing = 2>} : !pipe.tensor<f32[h=40, w=64]> -> !pipe.tensor<f32[h=40]>
  pipe.return %0 : !pipe.tensor<f32[h=40]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=19, w=64]>):
  // expected-error @below {{(C13); there are fewer results side by side}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, beside = 2, period = 5, sharing = 4>} : !pipe.tensor<f32[h=19, w=64]> -> !pipe.tensor<f32[h=19]>
  pipe.return %0 : !pipe.tensor<f32[h=19]>
}

// -----

// C3 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C3: `unroll` with the way "rows"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = rows, unroll = "h">} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C3 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C3: `beside` with the way "single"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = single, beside = 2>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C3 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C3: `run` with the way "across"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = across, along = "h", run = 2>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C3 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C3: `lanes` with the way "single"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = single, lanes = 2>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C3 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C3: `unrolled` with the way "rows"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = rows, unrolled = true>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C3 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C3: `pieces` with the way "lanes"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, pieces = true>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C10.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{has `reduction = "lanes"` (C10); it is a `#schedule.reduction`, of a pipe.reduce}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = "lanes"} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C10.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C10); `along` names an axis of the result}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = across, along = "w">} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C10.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C10); `unroll` names another axis of the result, of at most 16 elements, known when compiling}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = across, along = "h", unroll = "h">} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C11.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=400]>):
  // expected-error @below {{(C11); what is unrolled has 1 to 256 elements, known when compiling}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = single, unrolled = true>} : !pipe.tensor<f32[h=4, w=400]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C11.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=20]>):
  // expected-error @below {{(C11); what is computed where it is read is "single" and unrolled}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = single>, schedule = "inline"} : !pipe.tensor<f32[h=4, w=20]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C12.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<bool[h=40, w=64]>):
  // expected-error @below {{(C12); rows are for sums, counts, minima and maxima and their places, of numbers}}
  %0 = pipe.reduce any %x over ["h"] {reduction = #schedule.reduction<way = rows>} : !pipe.tensor<bool[h=40, w=64]> -> !pipe.tensor<bool[w=64]>
  pipe.return %0 : !pipe.tensor<bool[w=64]>
}

// -----

// kernel, C12.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=31, w=64]>):
  // expected-error @below {{(C12); rows are of as many elements as are known when compiling, 32 or more for a sum of floats}}
  %0 = pipe.reduce sum %x over ["h"] {reduction = #schedule.reduction<way = rows>} : !pipe.tensor<f32[h=31, w=64]> -> !pipe.tensor<f32[w=64]>
  pipe.return %0 : !pipe.tensor<f32[w=64]>
}

// -----

// kernel, C12.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=40, w=64]>):
  // expected-error @below {{(C12); so many axes are no part of the result}}
  %0 = pipe.reduce sum %x over ["h"] {reduction = #schedule.reduction<way = rows, run = 2>} : !pipe.tensor<f32[h=40, w=64]> -> !pipe.tensor<f32[w=64]>
  pipe.return %0 : !pipe.tensor<f32[w=64]>
}

// -----

// kernel, C12.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=40, w=60]>):
  // expected-error @below {{(C12); a row has fewer results than there are lanes}}
  %0 = pipe.reduce sum %x over ["h"] {reduction = #schedule.reduction<way = rows, lanes = 64>} : !pipe.tensor<f32[h=40, w=60]> -> !pipe.tensor<f32[w=60]>
  pipe.return %0 : !pipe.tensor<f32[w=60]>
}

// -----

// kernel, C12.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=40, w=60]>):
  // expected-error @below {{(C12); rows go by two lanes or more}}
  %0 = pipe.reduce sum %x over ["h"] {reduction = #schedule.reduction<way = rows>} : !pipe.tensor<f32[h=40, w=60]> -> !pipe.tensor<f32[w=60]>
  pipe.return %0 : !pipe.tensor<f32[w=60]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C13); along a reduced axis there are 2 lanes or more}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 1>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C13); a sum of floats has 32 lanes along a reduced axis}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 16>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C13); lanes lie along the operand's last axis, or the one before 1 to 4 channels, which `unroll` names; places have no channels}}
  %0 = pipe.reduce sum %x over ["h"] {reduction = #schedule.reduction<way = lanes, lanes = 32>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[w=40]>
  pipe.return %0 : !pipe.tensor<f32[w=40]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[w=?, c=3]>):
  // expected-error @below {{(C13); 32 partial sums are not filled by rows of known length}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, unroll = "c">} : !pipe.tensor<f32[w=?, c=3]> -> !pipe.tensor<f32[c=3]>
  pipe.return %0 : !pipe.tensor<f32[c=3]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[w=64, c=3]>):
  // expected-error @below {{(C13); channels are what lies side by side}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, unroll = "c", beside = 2>} : !pipe.tensor<f32[w=64, c=3]> -> !pipe.tensor<f32[c=3]>
  pipe.return %0 : !pipe.tensor<f32[c=3]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[w=40, c=3]>):
  // expected-error @below {{(C13); a run with channels is for rows of whole vectors, or few short ones, of a sum of floats}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, unroll = "c", run = 2>} : !pipe.tensor<f32[w=40, c=3]> -> !pipe.tensor<f32[c=3]>
  pipe.return %0 : !pipe.tensor<f32[c=3]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C13); a run is of reduced axes, the operand's last ones, of known extents}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, run = 2>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C13); rows of places have fewer elements than lanes, or nobody knows how many}}
  %0 = pipe.reduce argmax %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 64>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<i64[h=4]>
  pipe.return %0 : !pipe.tensor<i64[h=4]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C13); what lies side by side are sums of floats, whose 32 partial sums are filled by rows of known length}}
  %0 = pipe.reduce max %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 8, beside = 2>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C13.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C13); there are fewer results side by side}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, beside = 8>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C14.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{has the schedule "ring"; that takes lanes along the rows of its result, and one reader that stores what it makes of them row by row, with lanes along these}}
  %0 = pipe.reduce max %x over ["h"] {schedule = "ring"} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[w=40]>
  pipe.return %0 : !pipe.tensor<f32[w=40]>
}

// -----

// C1 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<i64[h=4, w=40]>):
  // expected-error @below {{C1: 2147483648 elements in 32 bits; these hold the sums of 0 to 2147483647}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 2147483648>} : !pipe.tensor<i64[h=4, w=40]> -> !pipe.tensor<i64[h=4]>
  pipe.return %0 : !pipe.tensor<i64[h=4]>
}

// -----

// C5 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<i64[h=4, w=40]>):
  // expected-error @below {{C5: `small` with the way "single"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = single, small = 4>} : !pipe.tensor<i64[h=4, w=40]> -> !pipe.tensor<i64[h=4]>
  pipe.return %0 : !pipe.tensor<i64[h=4]>
}

// -----

// C5 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C5: `sums` with the way "rows"}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = rows, sums = memory>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// C5 of #schedule.reduction.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{C5: `sums` with the way "across", unrolled}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = across, along = "h", unrolled = true, sums = memory>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C24.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=?]>):
  // expected-error @below {{(C24); partial sums in registers are of few short rows, or of 32 elements or more, of which it is known when compiling where each one goes}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32>} : !pipe.tensor<f32[h=4, w=?]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C24.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=31]>):
  // expected-error @below {{(C24); partial sums in registers are of few short rows, or of 32 elements or more, of which it is known when compiling where each one goes}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = across, along = "h", lanes = 4>} : !pipe.tensor<f32[h=4, w=31]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C24.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C24); partial sums in memory are of a sum of floats, of one result at a time}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, beside = 2, sums = memory>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C24.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C24); partial sums in memory are of a sum of floats, of one result at a time}}
  %0 = pipe.reduce max %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, sums = memory>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C25.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=4, w=40]>):
  // expected-error @below {{(C25); `small` stands with sums of i64, and counts}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 4>} : !pipe.tensor<f32[h=4, w=40]> -> !pipe.tensor<f32[h=4]>
  pipe.return %0 : !pipe.tensor<f32[h=4]>
}

// -----

// kernel, C25.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<i32[h=4, w=40]>):
  // expected-error @below {{(C25); `small` stands with sums of i64, and counts}}
  %0 = pipe.reduce sum %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, small = 4>} : !pipe.tensor<i32[h=4, w=40]> -> !pipe.tensor<i32[h=4]>
  pipe.return %0 : !pipe.tensor<i32[h=4]>
}

// -----

// kernel, C29.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=40]>):
  // expected-error @below {{(C29); what is joined stands behind a reduction of the same elements, for the same results, which goes alike}}
  %0 = pipe.reduce max %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, joined = true>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[h=4]>
  pipe.return %0 : !pipe.tensor<u8[h=4]>
}

// -----

// kernel, C29.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=40]>):
  %0 = pipe.reduce max %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[h=4]>
  // expected-error @below {{(C29);}}
  %1 = pipe.reduce min %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 16, joined = true>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[h=4]>
  pipe.return %0, %1 : !pipe.tensor<u8[h=4]>, !pipe.tensor<u8[h=4]>
}

// -----

// kernel, C29.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=40]>):
  %0 = pipe.reduce max %x over ["w"] {reduction = #schedule.reduction<way = single>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[h=4]>
  // expected-error @below {{(C29);}}
  %1 = pipe.reduce min %x over ["h"] {reduction = #schedule.reduction<way = single, joined = true>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[w=40]>
  pipe.return %0, %1 : !pipe.tensor<u8[h=4]>, !pipe.tensor<u8[w=40]>
}

// -----

// kernel, C29: it takes something of the one before.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=40]>):
  %0 = pipe.reduce max %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[h=4]>
  %1 = pipe.map(%x, %0) : (!pipe.tensor<u8[h=4, w=40]>, !pipe.tensor<u8[h=4]>) -> !pipe.tensor<u8[h=4, w=40]> {
  ^bb0(%p: ui8, %q: ui8, %i: i64, %j: i64):
    %3 = pipe.binary sub %q, %p : ui8
    pipe.yield %3 : ui8
  }
  // expected-error @below {{(C29);}}
  %2 = pipe.reduce max %1 over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, joined = true>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[h=4]>
  pipe.return %0, %2 : !pipe.tensor<u8[h=4]>, !pipe.tensor<u8[h=4]>
}

// -----

// kernel, C29: something is stored between.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<u8[h=4, w=40]>):
  %0 = pipe.reduce max %x over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[h=4]>
  %1 = pipe.map(%x) {schedule = "scratch"} : (!pipe.tensor<u8[h=4, w=40]>) -> !pipe.tensor<u8[h=4, w=40]> {
  ^bb0(%p: ui8, %i: i64, %j: i64):
    pipe.yield %p : ui8
  }
  // expected-error @below {{(C29);}}
  %2 = pipe.reduce max %1 over ["w"] {reduction = #schedule.reduction<way = lanes, lanes = 32, joined = true>} : !pipe.tensor<u8[h=4, w=40]> -> !pipe.tensor<u8[h=4]>
  pipe.return %0, %2 : !pipe.tensor<u8[h=4]>, !pipe.tensor<u8[h=4]>
}
