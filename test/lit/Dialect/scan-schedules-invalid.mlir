// RUN: penstock-opt %s --split-input-file --verify-diagnostics
// REQUIRES: penstock-opt

// Ways to scan that no code can be made for.

// C1 of #schedule.scan.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{C1: 12 lanes, 1 beside; known are powers of two up to 64 and 16}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = transposed, lanes = 12>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// C2 of #schedule.scan.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{C2: `along` does not stand with the way "across"; it does with "across"}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = across>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// C3 of #schedule.scan.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{C3: `unrolled` with the way "transposed"}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = transposed, lanes = 4, unrolled = true>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// C3 of #schedule.scan.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{C3: `beside` with the way "transposed"}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = transposed, lanes = 4, beside = 2>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// C3 of #schedule.scan.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{C3: `lanes` with the way "single"}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = single, lanes = 4>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// kernel, C15.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{has `scan = 4 : i64` (C15); it is a `#schedule.scan`, of a pipe.scan or a pipe.filter}}
  %0 = pipe.scan sum %x along "w" {scan = 4 : i64} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// kernel, C15.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{(C15); `along` names an axis that the scan does not go along}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = across, along = "w">} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// kernel, C15.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{(C15); what is unrolled has 1 to 4 elements, known when compiling}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = across, along = "h", unrolled = true>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// kernel, C15.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{(C15); there are fewer rows side by side, or nobody knows how many}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = single, beside = 8>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// kernel, C16.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{(C16); squares have elements of 4 or 8 bytes, and rows of 16, 32 or 64 bytes}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = transposed, lanes = 32>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// kernel, C16.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{(C16); squares lie in the last two axes, of which the scan goes along the last one, and which have as many elements as there are lanes}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = transposed, lanes = 8>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// C4 of #schedule.scan.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{C4: a band of 12 with the way "across"; it is a multiple of 8 lanes with "across" that is not unrolled}}
  %0 = pipe.scan sum %x along "h" {scan = #schedule.scan<way = across, along = "w", lanes = 8, band = 12>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// kernel, C15, of bands.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=6, w=40]>):
  // expected-error @below {{(C15); bands have as many rows as there are lanes, a number known when compiling}}
  %0 = pipe.scan sum %x along "w" {scan = #schedule.scan<way = across, along = "h", lanes = 8, band = 8>} : !pipe.tensor<f32[h=6, w=40]> -> !pipe.tensor<f32[h=6, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=6, w=40]>
}

// -----

// kernel, C15, of filters.
pipe.kernel @k "pixels" schedule {level = 3 : i64} {
^bb0(%x: !pipe.tensor<f32[h=3, w=40]>, %b: !pipe.tensor<f64[j=3]>):
  // expected-error @below {{(C15); a filter is not unrolled}}
  %0 = pipe.filter %x along "h" by %b over %b {scan = #schedule.scan<way = across, along = "w", lanes = 8, unrolled = true>} : !pipe.tensor<f32[h=3, w=40]>, !pipe.tensor<f64[j=3]>, !pipe.tensor<f64[j=3]> -> !pipe.tensor<f32[h=3, w=40]>
  pipe.return %0 : !pipe.tensor<f32[h=3, w=40]>
}
